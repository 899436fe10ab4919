package io.lanceyard.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.StructType;

/** A table that is made, or gets other content, once all its rows are there. */
final class Staged implements StagedTable, SupportsWrite {
  private final YardCatalog catalog;
  private final StructType schema;
  private final ObjectNode request;
  private final Map<String, String> options;
  private final Map<String, String> properties;
  private final boolean isDeclared;
  private boolean hasLanded;

  Staged(
      YardCatalog catalog, ObjectNode request, StructType schema, Map<String, String> properties) {
    this.catalog = catalog;
    this.schema = schema;
    this.request = request;
    this.properties = properties;
    JsonNode staged = catalog.server().ask("stage", request);
    options = Server.texts(staged.get("options"));
    isDeclared = staged.get("declared").asBoolean();
  }

  @Override
  public String name() {
    return catalog.name() + " " + request.get("id");
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
    return EnumSet.of(TableCapability.BATCH_WRITE, TableCapability.TRUNCATE);
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    return new YardWriteBuilder(catalog, schema, options, info) {
      @Override
      void landed() {
        hasLanded = true;
      }
    };
  }

  @Override
  public void commitStagedChanges() {
    catalog.server().ask(hasLanded ? "settle" : "create", request);
  }

  @Override
  public void abortStagedChanges() {
    if (isDeclared && !hasLanded) {
      catalog.server().ask("unstage", request);
    }
  }
}
