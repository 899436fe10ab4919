package io.lanceyard.spark;

import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.spark.sql.connector.catalog.TableChange;

/** Changes of tables, in the words of the server. */
final class Changes {
  private Changes() {}

  static ObjectNode tell(TableChange change) {
    ObjectNode told = Server.object();
    if (change instanceof TableChange.SetProperty) {
      TableChange.SetProperty given = (TableChange.SetProperty) change;
      return told.put("kind", "set").put("property", given.property()).put("value", given.value());
    }
    if (change instanceof TableChange.RemoveProperty) {
      return told.put("kind", "unset")
          .put("property", ((TableChange.RemoveProperty) change).property());
    }
    if (change instanceof TableChange.ColumnChange) {
      told.set("column", Server.array(((TableChange.ColumnChange) change).fieldNames()));
      return column(told, (TableChange.ColumnChange) change);
    }
    throw unsupported(change);
  }

  private static ObjectNode column(ObjectNode told, TableChange.ColumnChange change) {
    if (change instanceof TableChange.AddColumn) {
      return add(told, (TableChange.AddColumn) change);
    }
    if (change instanceof TableChange.RenameColumn) {
      return told.put("kind", "rename").put("name", ((TableChange.RenameColumn) change).newName());
    }
    if (change instanceof TableChange.DeleteColumn) {
      return told.put("kind", "drop")
          .put("if_exists", ((TableChange.DeleteColumn) change).ifExists());
    }
    if (change instanceof TableChange.UpdateColumnType) {
      return told.put("kind", "type")
          .put("type", ((TableChange.UpdateColumnType) change).newDataType().json());
    }
    if (change instanceof TableChange.UpdateColumnNullability) {
      return told.put("kind", "nullable")
          .put("nullable", ((TableChange.UpdateColumnNullability) change).nullable());
    }
    if (change instanceof TableChange.UpdateColumnComment) {
      return told.put("kind", "comment")
          .put("comment", ((TableChange.UpdateColumnComment) change).newComment());
    }
    throw unsupported(change);
  }

  private static ObjectNode add(ObjectNode told, TableChange.AddColumn change) {
    if (change.position() != null) {
      throw new UnsupportedOperationException(
          "a new column of a Lance table is the last one: leave FIRST and AFTER out");
    }
    if (change.defaultValue() != null) {
      throw new UnsupportedOperationException(
          "columns of Lance tables have no defaults: add the column, then UPDATE the table");
    }
    return told.put("kind", "add")
        .put("type", change.dataType().json())
        .put("nullable", change.isNullable())
        .put("comment", change.comment());
  }

  private static UnsupportedOperationException unsupported(TableChange change) {
    return new UnsupportedOperationException(
        "Lance tables cannot be altered so: " + change.getClass().getSimpleName());
  }
}
