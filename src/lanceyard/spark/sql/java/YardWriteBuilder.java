package io.lanceyard.spark;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DeltaBatchWrite;
import org.apache.spark.sql.connector.write.DeltaWrite;
import org.apache.spark.sql.connector.write.DeltaWriteBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.SupportsTruncate;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.connector.write.streaming.StreamingWrite;
import org.apache.spark.sql.execution.datasources.v2.python.PythonBatchWrite;
import org.apache.spark.sql.execution.datasources.v2.python.PythonWrite;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A write, which the Python data source carries out. */
class YardWriteBuilder implements SupportsTruncate, DeltaWriteBuilder {
  private final YardCatalog catalog;
  private final StructType schema;
  private final Map<String, String> options;
  private final LogicalWriteInfo asked;
  private boolean truncates;

  /** Rows of a batch have the columns of the schema, by order; those of a stream their own. */
  YardWriteBuilder(
      YardCatalog catalog, StructType schema, Map<String, String> options, LogicalWriteInfo asked) {
    this.catalog = catalog;
    this.schema = schema;
    this.options = options;
    this.asked = asked;
  }

  /** What is done once the rows are committed. */
  void landed() {}

  @Override
  public WriteBuilder truncate() {
    truncates = true;
    return this;
  }

  @Override
  public DeltaWrite build() {
    return new DeltaWrite() {
      @Override
      public String description() {
        return "lanceyard";
      }

      @Override
      public DeltaBatchWrite toBatch() {
        return new Bridge(YardWriteBuilder.this);
      }

      @Override
      public StreamingWrite toStreaming() {
        return new PythonWrite(
            catalog.python(), YardCatalog.FORMAT, info(asked.schema()), truncates).toStreaming();
      }
    };
  }

  StructType schema() {
    return schema;
  }

  int rowsPerSpill() {
    return catalog.rowsPerSpill();
  }

  BatchWrite inPython() {
    return new PythonBatchWrite(
        catalog.python(), YardCatalog.FORMAT, info(schema), truncates);
  }

  private LogicalWriteInfo info(StructType rows) {
    Map<String, String> all = new HashMap<>(options);
    all.putAll(asked.options().asCaseSensitiveMap());
    CaseInsensitiveStringMap merged = new CaseInsensitiveStringMap(all);
    return new LogicalWriteInfo() {
      @Override
      public CaseInsensitiveStringMap options() {
        return merged;
      }

      @Override
      public String queryId() {
        return asked.queryId();
      }

      @Override
      public StructType schema() {
        return rows;
      }
    };
  }
}
