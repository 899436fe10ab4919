package io.lanceyard.spark;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.EnumSet;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** What is known about a table, as a table: its history, versions, fragments, indexes or tags. */
final class MetadataTable implements SupportsRead {
  static final Set<String> NAMES = Set.of("history", "versions", "fragments", "indexes", "tags");

  private final String name;
  private final Rows rows;

  MetadataTable(YardCatalog catalog, String[] id, String what) {
    ObjectNode request = Server.object();
    request.set("id", Server.array(id));
    request.put("table", what);
    name = catalog.name() + "." + String.join(".", id) + "." + what;
    rows = Rows.read(catalog.server().ask("metadata", request));
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public StructType schema() {
    return rows.readSchema();
  }

  @Override
  public Set<TableCapability> capabilities() {
    return EnumSet.of(TableCapability.BATCH_READ);
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap asked) {
    return new SupportsPushDownRequiredColumns() {
      private StructType wanted = schema();

      @Override
      public void pruneColumns(StructType required) {
        wanted = required;
      }

      @Override
      public Scan build() {
        return rows.select(wanted);
      }
    };
  }
}
