package io.lanceyard.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.unsafe.types.UTF8String;

/** A few rows that the driver knows already. */
final class Rows implements LocalScan {
  private final StructType schema;
  private final InternalRow[] rows;

  Rows(StructType schema, InternalRow... rows) {
    this.schema = schema;
    this.rows = rows;
  }

  /** The rows of an answer that has a schema in Spark's own words, and lists of values. */
  static Rows read(JsonNode answer) {
    StructType schema = schema(answer.get("schema"));
    List<InternalRow> rows = new ArrayList<>();
    for (JsonNode row : answer.get("rows")) {
      Object[] values = new Object[schema.length()];
      for (int i = 0; i < values.length; i++) {
        values[i] = value(row.get(i), schema.apply(i).dataType());
      }
      rows.add(new GenericInternalRow(values));
    }
    return new Rows(schema, rows.toArray(new InternalRow[0]));
  }

  static StructType schema(JsonNode json) {
    return (StructType) DataType.fromJson(json.toString());
  }

  /** Of all columns those that are wanted. */
  Rows select(StructType wanted) {
    InternalRow[] selected = new InternalRow[rows.length];
    for (int r = 0; r < rows.length; r++) {
      Object[] values = new Object[wanted.length()];
      for (int i = 0; i < values.length; i++) {
        StructField field = wanted.apply(i);
        values[i] = rows[r].get(schema.fieldIndex(field.name()), field.dataType());
      }
      selected[r] = new GenericInternalRow(values);
    }
    return new Rows(wanted, selected);
  }

  @Override
  public StructType readSchema() {
    return schema;
  }

  @Override
  public InternalRow[] rows() {
    return rows;
  }

  private static Object value(JsonNode json, DataType type) {
    if (json == null || json.isNull()) {
      return null;
    }
    if (type instanceof StringType) {
      return UTF8String.fromString(json.asText());
    }
    if (type instanceof BooleanType) {
      return json.asBoolean();
    }
    if (type instanceof IntegerType) {
      return json.asInt();
    }
    if (type instanceof DoubleType) {
      return json.asDouble();
    }
    if (type instanceof ArrayType) {
      List<Object> items = new ArrayList<>();
      json.forEach(item -> items.add(value(item, ((ArrayType) type).elementType())));
      return new GenericArrayData(items.toArray());
    }
    return json.asLong(); // numbers, and moments as microseconds
  }
}
