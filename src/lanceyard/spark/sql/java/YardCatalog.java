package io.lanceyard.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.connector.catalog.CatalogV2Util;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.ProcedureCatalog;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.StagingTableCatalog;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * A catalog of Lance tables in Spark SQL.
 *
 * <p>Names and everything else that is known about tables come from a server; rows are read and
 * written by the Python data source.
 */
public final class YardCatalog extends Namespaces
    implements StagingTableCatalog, ProcedureCatalog {
  static final String FORMAT = "lanceyard";
  private static final String PROCEDURES = "system";

  private String name;
  private Server server;
  private int rowsPerSpill;

  @Override
  public void initialize(String name, CaseInsensitiveStringMap options) {
    this.name = name;
    String uri = options.get("uri");
    if (uri == null) {
      throw new IllegalArgumentException(
          "spark.sql.catalog." + name + ".uri is not set: start Spark by lanceyard.spark.session, "
              + "or with what python -m lanceyard.spark.sql prints");
    }
    server = new Server(uri, options.get("token"));
    rowsPerSpill = options.getInt("rows-per-spill", Integer.MAX_VALUE);
    Known.add();
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  Server server() {
    return server;
  }

  int rowsPerSpill() {
    return rowsPerSpill;
  }

  /** The data source; each scan and write needs one of its own, which remembers their options. */
  PythonDataSourceV2 python() {
    PythonDataSourceV2 source = new PythonDataSourceV2();
    source.setShortName(FORMAT);
    return source;
  }

  // Tables

  @Override
  public Identifier[] listTables(String[] namespace) throws NoSuchNamespaceException {
    try {
      return server.list(namespace, "table/list", "tables").stream()
          .map(table -> Identifier.of(namespace, table))
          .toArray(Identifier[]::new);
    } catch (Refusal refusal) {
      throw refusal.unless(refusal.isNotFound(), () -> new NoSuchNamespaceException(namespace));
    }
  }

  @Override
  public boolean tableExists(Identifier table) {
    try {
      JsonNode found =
          server.operate("table", id(table), "describe?check_declared=true", Server.object());
      return !found.path("is_only_declared").asBoolean();
    } catch (Refusal refusal) {
      if (refusal.isNotFound()) {
        return isMetadata(table);
      }
      throw refusal;
    }
  }

  @Override
  public Table loadTable(Identifier table) throws NoSuchTableException {
    return load(table, Server.object());
  }

  @Override
  public Table loadTable(Identifier table, String version) throws NoSuchTableException {
    return load(table, Server.object().put("version", version));
  }

  @Override
  public Table loadTable(Identifier table, long microseconds) throws NoSuchTableException {
    return load(table, Server.object().put("timestamp", microseconds));
  }

  private Table load(Identifier table, ObjectNode request) throws NoSuchTableException {
    request.set("id", Server.array(id(table)));
    try {
      return new YardTable(this, id(table), server.ask("load", request));
    } catch (Refusal refusal) {
      if (!refusal.isNotFound()) {
        throw refusal;
      }
      if (isMetadata(table)) {
        return new MetadataTable(this, table.namespace(), lower(table.name()));
      }
      throw new NoSuchTableException(table);
    }
  }

  /** Whether a name is that of what is known about a table: {@code t.history}. */
  private boolean isMetadata(Identifier name) {
    if (!MetadataTable.NAMES.contains(lower(name.name())) || name.namespace().length == 0) {
      return false;
    }
    String[] parent = name.namespace();
    String[] above = Arrays.copyOf(parent, parent.length - 1);
    Identifier table = Identifier.of(above, parent[parent.length - 1]);
    return !isMetadata(table) && tableExists(table);
  }

  @Override
  public Table createTable(
      Identifier table, Column[] columns, Transform[] partitions, Map<String, String> properties)
      throws TableAlreadyExistsException, NoSuchNamespaceException {
    ObjectNode request = creation("create", table, columns, partitions, properties);
    try {
      server.ask("create", request);
      return loadTable(table);
    } catch (Refusal refusal) {
      throw uncreated(table, refusal);
    } catch (NoSuchTableException gone) {
      throw new IllegalStateException("table " + table + " was dropped as it was created", gone);
    }
  }

  @Override
  public StagedTable stageCreate(
      Identifier table, Column[] columns, Transform[] partitions, Map<String, String> properties)
      throws TableAlreadyExistsException, NoSuchNamespaceException {
    try {
      return stage("create", table, columns, partitions, properties);
    } catch (Refusal refusal) {
      throw uncreated(table, refusal);
    }
  }

  @Override
  public StagedTable stageReplace(
      Identifier table, Column[] columns, Transform[] partitions, Map<String, String> properties)
      throws NoSuchTableException {
    try {
      return stage("replace", table, columns, partitions, properties);
    } catch (Refusal refusal) {
      throw refusal.unless(refusal.isNotFound(), () -> new NoSuchTableException(table));
    }
  }

  @Override
  public StagedTable stageCreateOrReplace(
      Identifier table, Column[] columns, Transform[] partitions, Map<String, String> properties)
      throws NoSuchNamespaceException {
    try {
      return stage("create_or_replace", table, columns, partitions, properties);
    } catch (Refusal refusal) {
      throw refusal.unless(
          refusal.code == Refusal.NAMESPACE_NOT_FOUND,
          () -> new NoSuchNamespaceException(table.namespace()));
    }
  }

  private Staged stage(
      String mode, Identifier table, Column[] columns, Transform[] partitions,
      Map<String, String> properties) {
    ObjectNode request = creation(mode, table, columns, partitions, properties);
    return new Staged(this, request, CatalogV2Util.v2ColumnsToStructType(columns), properties);
  }

  private ObjectNode creation(
      String mode, Identifier table, Column[] columns, Transform[] partitions,
      Map<String, String> properties) {
    if (partitions.length > 0) {
      throw new UnsupportedOperationException(
          "Lance tables have no partitions: leave PARTITIONED BY and CLUSTER BY out, and create "
              + "indexes on the columns you search by");
    }
    StructType schema = CatalogV2Util.v2ColumnsToStructType(columns);
    ObjectNode request = Server.object();
    request.put("mode", mode);
    request.set("id", Server.array(id(table)));
    request.put("schema", schema.json());
    request.set("properties", Server.JSON.valueToTree(properties));
    return request;
  }

  /** What Spark wants to hear of a table that could not be created. */
  private static RuntimeException uncreated(Identifier table, Refusal refusal)
      throws TableAlreadyExistsException, NoSuchNamespaceException {
    if (refusal.code == Refusal.TABLE_EXISTS) {
      throw new TableAlreadyExistsException(table);
    }
    if (refusal.code == Refusal.NAMESPACE_NOT_FOUND) {
      throw new NoSuchNamespaceException(table.namespace());
    }
    return refusal;
  }

  @Override
  public Table alterTable(Identifier table, TableChange... changes) throws NoSuchTableException {
    ObjectNode request = Server.object();
    request.set("id", Server.array(id(table)));
    ArrayNode told = request.putArray("changes");
    for (TableChange change : changes) {
      told.add(Changes.tell(change));
    }
    try {
      server.ask("alter", request);
      return loadTable(table);
    } catch (Refusal refusal) {
      throw refusal.unless(refusal.isNotFound(), () -> new NoSuchTableException(table));
    }
  }

  @Override
  public boolean dropTable(Identifier table) {
    try {
      server.operate("table", id(table), "drop", null);
      return true;
    } catch (Refusal refusal) {
      if (refusal.isNotFound()) {
        return false;
      }
      throw refusal;
    }
  }

  @Override
  public boolean purgeTable(Identifier table) {
    return dropTable(table); // which deletes the files, too
  }

  @Override
  public void renameTable(Identifier table, Identifier to)
      throws NoSuchTableException, TableAlreadyExistsException {
    String[] target = to.namespace();
    if (target.length > 0 && target[0].equals(name) && !namespaceExists(target)) {
      target = Arrays.copyOfRange(target, 1, target.length); // it was named with its catalog
    }
    ObjectNode request = Server.object();
    request.put("new_table_name", to.name());
    request.set("new_namespace_id", Server.array(target));
    try {
      server.operate("table", id(table), "rename", request);
    } catch (Refusal refusal) {
      if (refusal.code == Refusal.TABLE_EXISTS) {
        throw new TableAlreadyExistsException(to);
      }
      throw refusal.unless(
          refusal.code == Refusal.TABLE_NOT_FOUND, () -> new NoSuchTableException(table));
    }
  }

  // Procedures

  @Override
  public Identifier[] listProcedures(String[] namespace) {
    boolean isTheirs = namespace.length == 1 && lower(namespace[0]).equals(PROCEDURES);
    if (!isTheirs) {
      return new Identifier[0];
    }
    List<Identifier> found = new ArrayList<>();
    for (JsonNode each : server.ask("procedures", Server.object()).get("procedures")) {
      found.add(Identifier.of(namespace, each.get("name").asText()));
    }
    return found.toArray(new Identifier[0]);
  }

  @Override
  public UnboundProcedure loadProcedure(Identifier procedure) {
    for (JsonNode each : server.ask("procedures", Server.object()).get("procedures")) {
      boolean isNamed = each.get("name").asText().equals(lower(procedure.name()));
      if (isNamed && listProcedures(procedure.namespace()).length > 0) {
        return new YardProcedure(server, each);
      }
    }
    throw new IllegalArgumentException(
        "there is no procedure " + procedure + ": SHOW PROCEDURES IN " + name + "." + PROCEDURES
            + " lists those of this catalog");
  }

  private static String[] id(Identifier table) {
    return with(table.namespace(), table.name());
  }

  private static String lower(String text) {
    return text.toLowerCase(Locale.ROOT);
  }
}
