package io.lanceyard.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.connector.catalog.SupportsDeleteV2;
import org.apache.spark.sql.connector.catalog.SupportsMetadataColumns;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsRowLevelOperations;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.RowLevelOperationBuilder;
import org.apache.spark.sql.connector.write.RowLevelOperationInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** One version of a table; what is written goes on top of the newest. */
class YardTable
    implements SupportsRead, SupportsWrite, SupportsDeleteV2, SupportsRowLevelOperations,
        SupportsMetadataColumns {
  static final String FRAGMENT = "_fragment";
  private static final StructType HIDDEN = new StructType()
      .add("_rowid", DataTypes.LongType)
      .add(Delta.ADDRESS, DataTypes.LongType, false)
      .add(FRAGMENT, DataTypes.LongType);

  final YardCatalog catalog;
  final String[] id;
  final String version;
  final long rows;
  final long bytes;
  final Map<String, String> kinds;
  private final StructType schema;
  private final Map<String, String> options;
  private final Map<String, String> properties;

  YardTable(YardCatalog catalog, String[] id, JsonNode loaded) {
    this.catalog = catalog;
    this.id = id;
    version = loaded.get("version").asText();
    rows = loaded.get("rows").asLong();
    bytes = loaded.get("bytes").asLong();
    kinds = Server.texts(loaded.get("kinds"));
    schema = Rows.schema(loaded.get("schema"));
    options = Server.texts(loaded.get("options"));
    properties = Server.texts(loaded.get("properties"));
  }

  @Override
  public String name() {
    return catalog.name() + "." + String.join(".", id);
  }

  @Override
  public String version() {
    return version;
  }

  @Override
  public StructType schema() {
    return schema;
  }

  @Override
  public Map<String, String> properties() {
    return properties;
  }

  @Override
  public Set<TableCapability> capabilities() {
    return EnumSet.of(
        TableCapability.BATCH_READ, TableCapability.BATCH_WRITE, TableCapability.TRUNCATE,
        TableCapability.MICRO_BATCH_READ, TableCapability.STREAMING_WRITE);
  }

  @Override
  public MetadataColumn[] metadataColumns() {
    List<MetadataColumn> columns = new ArrayList<>();
    for (StructField field : HIDDEN.fields()) {
      columns.add(new Hidden(field));
    }
    return columns.toArray(new MetadataColumn[0]);
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap asked) {
    return new YardScanBuilder(this, asked.asCaseSensitiveMap());
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    return new YardWriteBuilder(catalog, schema, options(Map.of("if_missing", "fail")), info);
  }

  @Override
  public RowLevelOperationBuilder newRowLevelOperationBuilder(RowLevelOperationInfo info) {
    return () -> new Delta(this, info.command());
  }

  @Override
  public boolean canDeleteWhere(Predicate[] predicates) {
    return where(predicates) != null;
  }

  @Override
  public void deleteWhere(Predicate[] predicates) {
    ObjectNode request = Server.object();
    request.put("predicate", where(predicates));
    catalog.server().operate("table", id, "delete", request);
  }

  /** The options that the Python data source needs to find this table, and some more. */
  Map<String, String> options(Map<String, String> more) {
    Map<String, String> all = new HashMap<>(options);
    all.putAll(more);
    return all;
  }

  /** A column by its name, also one that is hidden. */
  StructField column(String name) {
    StructType known = schema.getFieldIndex(name).isDefined() ? schema : HIDDEN;
    return known.apply(name);
  }

  /** How many rows of this version meet a condition of Lance. */
  long count(String condition) {
    ObjectNode request = Server.object();
    request.put("version", Long.parseLong(version));
    request.put("predicate", condition);
    return catalog.server().operate("table", id, "count_rows", request).asLong();
  }

  private String where(Predicate[] predicates) {
    List<String> conditions = new ArrayList<>();
    for (Predicate predicate : predicates) {
      Condition condition = Condition.of(predicate, kinds);
      if (condition == null) {
        return null;
      }
      conditions.add(condition.sql);
    }
    return conditions.isEmpty() ? "true" : String.join(" AND ", conditions);
  }

  private static final class Hidden implements MetadataColumn {
    private final StructField field;

    Hidden(StructField field) {
      this.field = field;
    }

    @Override
    public String name() {
      return field.name();
    }

    @Override
    public DataType dataType() {
      return field.dataType();
    }

    @Override
    public boolean isNullable() {
      return field.nullable();
    }
  }
}
