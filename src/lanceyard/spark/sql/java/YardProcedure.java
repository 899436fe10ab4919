package io.lanceyard.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.connector.catalog.procedures.BoundProcedure;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;

/** A procedure that the server describes and runs. */
final class YardProcedure implements UnboundProcedure, BoundProcedure {
  private final Server server;
  private final JsonNode description;

  YardProcedure(Server server, JsonNode description) {
    this.server = server;
    this.description = description;
  }

  @Override
  public String name() {
    return description.get("name").asText();
  }

  @Override
  public String description() {
    return description.get("description").asText();
  }

  @Override
  public BoundProcedure bind(StructType arguments) {
    return this;
  }

  @Override
  public boolean isDeterministic() {
    return false;
  }

  @Override
  public ProcedureParameter[] parameters() {
    List<ProcedureParameter> parameters = new ArrayList<>();
    for (JsonNode each : description.get("parameters")) {
      ProcedureParameter.Builder builder =
          ProcedureParameter.in(each.get("name").asText(), type(each));
      if (!each.get("required").asBoolean()) {
        builder.defaultValue("NULL");
      }
      parameters.add(builder.comment(each.get("description").asText()).build());
    }
    return parameters.toArray(new ProcedureParameter[0]);
  }

  @Override
  public Iterator<Scan> call(InternalRow arguments) {
    ObjectNode request = Server.object();
    request.put("name", name());
    ObjectNode given = request.putObject("arguments");
    int i = 0;
    for (JsonNode each : description.get("parameters")) {
      if (!arguments.isNullAt(i)) {
        given.set(each.get("name").asText(), json(arguments.get(i, type(each)), type(each)));
      }
      i++;
    }
    Scan rows = Rows.read(server.ask("call", request));
    return List.of(rows).iterator();
  }

  private static DataType type(JsonNode parameter) {
    return DataType.fromDDL(parameter.get("type").asText());
  }

  private static JsonNode json(Object value, DataType type) {
    if (value == null) {
      return Server.JSON.nullNode();
    }
    if (value instanceof ArrayData) {
      DataType element = ((ArrayType) type).elementType();
      ArrayNode items = Server.JSON.createArrayNode();
      for (Object item : ((ArrayData) value).toObjectArray(element)) {
        items.add(json(item, element));
      }
      return items;
    }
    if (value instanceof MapData) {
      MapType entries = (MapType) type;
      Object[] keys = ((MapData) value).keyArray().toObjectArray(entries.keyType());
      Object[] values = ((MapData) value).valueArray().toObjectArray(entries.valueType());
      ObjectNode named = Server.object();
      for (int i = 0; i < keys.length; i++) {
        named.set(keys[i].toString(), json(values[i], entries.valueType()));
      }
      return named;
    }
    boolean isPlain = value instanceof Number || value instanceof Boolean;
    return Server.JSON.valueToTree(isPlain ? value : value.toString());
  }
}
