package io.lanceyard.spark;

import java.util.Map;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.DeltaWriteBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.SupportsDelta;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * UPDATE, MERGE or DELETE: rows that match are marked as deleted where they are, and what becomes
 * of them is added. No other row is read as a whole, or written.
 */
final class Delta implements SupportsDelta {
  static final String ADDRESS = "_rowaddr";
  private final YardTable table;
  private final Command command;

  Delta(YardTable table, Command command) {
    this.table = table;
    this.command = command;
  }

  /**
   * Rows on their way: which one goes, if any does, whether something comes, and what. Python knows
   * the first two by their place: their names are whatever the table has no column of.
   */
  static StructType schema(StructType table) {
    StructType found = new StructType()
        .add(other("address", table), DataTypes.LongType)
        .add(other("kept", table), DataTypes.BooleanType, false);
    for (StructField field : table.fields()) {
      found = found.add(field.name(), field.dataType(), true, field.metadata());
    }
    return found;
  }

  private static String other(String name, StructType table) {
    return table.getFieldIndex(name).isDefined() ? other("_" + name, table) : name;
  }

  @Override
  public Command command() {
    return command;
  }

  @Override
  public NamedReference[] rowId() {
    return new NamedReference[] {Expressions.column(ADDRESS)};
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap asked) {
    return new YardScanBuilder(table, asked.asCaseSensitiveMap());
  }

  @Override
  public DeltaWriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    Map<String, String> options = table.options(Map.of("version", table.version, "delta", "true"));
    return new YardWriteBuilder(table.catalog, schema(table.schema()), options, info);
  }
}
