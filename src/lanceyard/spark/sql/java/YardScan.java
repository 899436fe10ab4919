package io.lanceyard.spark;

import java.util.HashMap;
import java.util.Map;
import java.util.OptionalLong;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.execution.datasources.v2.python.PythonScan;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A scan, which the Python data source carries out. */
class YardScan implements SupportsReportStatistics {
  final YardTable table;
  private final StructType schema;
  private final Map<String, String> options;

  YardScan(YardTable table, StructType schema, Map<String, String> options) {
    this.table = table;
    this.schema = schema;
    this.options = options;
  }

  @Override
  public StructType readSchema() {
    return schema;
  }

  @Override
  public String description() {
    Map<String, String> shown = new java.util.TreeMap<>(options);
    shown.remove("filter_columns");
    return table.name() + " " + shown;
  }

  @Override
  public Batch toBatch() {
    return Columns.of(inPython(Map.of()).toBatch());
  }

  @Override
  public MicroBatchStream toMicroBatchStream(String checkpoint) {
    options.remove("version"); // streams have a beginning instead
    return inPython(Map.of()).toMicroBatchStream(checkpoint);
  }

  @Override
  public Statistics estimateStatistics() {
    long width = Math.max(1, table.schema().defaultSize());
    double share = Math.min(1.0, (double) schema.defaultSize() / width);
    long rows = rows();
    long bytes = table.rows == 0 ? 0 : (long) (table.bytes * share * rows / table.rows);
    return new Statistics() {
      @Override
      public OptionalLong sizeInBytes() {
        return OptionalLong.of(Math.max(1, bytes));
      }

      @Override
      public OptionalLong numRows() {
        return OptionalLong.of(rows);
      }
    };
  }

  final PythonScan inPython(Map<String, String> more) {
    Map<String, String> all = table.options(options);
    all.putAll(more);
    return new PythonScan(
        table.catalog.python(), YardCatalog.FORMAT, schema, new CaseInsensitiveStringMap(all),
        new Filter[0]);
  }

  private long rows() {
    String first = new CaseInsensitiveStringMap(new HashMap<>(options)).get("first");
    return first == null ? table.rows : Math.min(table.rows, Long.parseLong(first));
  }
}
