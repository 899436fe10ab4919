package io.lanceyard.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalLong;
import org.apache.spark.package$;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceReadInfo;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.PythonScan;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A scan, which the Python data source carries out. */
class YardScan implements SupportsReportStatistics {
  final YardTable table;
  private final StructType schema;
  private final Map<String, String> options;
  private Batch batch;

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
  public synchronized Batch toBatch() {
    if (batch == null) { // Spark asks more than once
      batch = Columns.of(inPython(planned()).toBatch(), bytes() <= Columns.FEW);
    }
    return batch;
  }

  @Override
  public MicroBatchStream toMicroBatchStream(String checkpoint) {
    options.remove("version"); // streams have a beginning instead
    return inPython(table.catalog.python()).toMicroBatchStream(checkpoint);
  }

  @Override
  public Statistics estimateStatistics() {
    long rows = rows();
    long bytes = bytes();
    return new Statistics() {
      @Override
      public OptionalLong sizeInBytes() {
        return OptionalLong.of(bytes);
      }

      @Override
      public OptionalLong numRows() {
        return OptionalLong.of(rows);
      }
    };
  }

  private PythonScan inPython(PythonDataSourceV2 source) {
    return new PythonScan(
        source, YardCatalog.FORMAT, schema, new CaseInsensitiveStringMap(table.options(options)),
        new Filter[0]);
  }

  /** The data source with a plan, if the server of the catalog makes one: Spark's takes longer. */
  private PythonDataSourceV2 planned() {
    PythonDataSourceV2 source = table.catalog.python();
    ObjectNode request = Server.object();
    request.put("python", source.source().dataSourceCls().pythonVer());
    request.put("spark", package$.MODULE$.SPARK_VERSION());
    request.put("schema", schema.json());
    request.set("options", Server.object(table.options(options)));
    JsonNode plan = table.catalog.server().ask("plan", request).get("plan");
    if (plan != null) {
      try (DataInputStream stream =
          new DataInputStream(new ByteArrayInputStream(plan.binaryValue()))) {
        source.setReadInfo(PythonDataSourceReadInfo.receive(stream));
      } catch (IOException unreadable) {
        throw new UncheckedIOException(unreadable);
      }
    }
    return source;
  }

  /** How much there is to read, about, and at least one. */
  private long bytes() {
    long width = Math.max(1, table.schema().defaultSize());
    double share = Math.min(1.0, (double) schema.defaultSize() / width);
    return Math.max(1, (long) (table.bytes * share * rows() / Math.max(1, table.rows)));
  }

  private long rows() {
    String first = new CaseInsensitiveStringMap(new HashMap<>(options)).get("first");
    return first == null ? table.rows : Math.min(table.rows, Long.parseLong(first));
  }
}
