package io.lanceyard.spark;

import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;

/**
 * A predicate of Spark as a condition of Lance.
 *
 * <p>Only what both certainly understand alike is written; everything else is refused and stays in
 * Spark. Both have three-valued logic, so whatever is written may be negated and combined.
 */
final class Condition {
  private static final DateTimeFormatter MOMENT =
      DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm:ss.SSSSSS");
  private static final int MOST_VALUES = 10_000;
  private static final String UNSIGNED = "unsigned";

  /** Raised where Lance cannot be trusted with a part of a predicate. */
  private static final class Unsure extends Exception {
    Unsure(Object what) {
      super(String.valueOf(what), null, false, false);
    }
  }

  final String sql;
  final Set<String> columns;

  private Condition(String sql, Set<String> columns) {
    this.sql = sql;
    this.columns = columns;
  }

  /** A predicate on columns whose kinds are known, or null if it has to stay in Spark. */
  static Condition of(Predicate predicate, Map<String, String> kinds) {
    Writer writer = new Writer(kinds);
    try {
      return new Condition(writer.truth(predicate), writer.columns);
    } catch (Unsure unsure) {
      return null;
    }
  }

  private static final class Writer {
    private final Map<String, String> kinds;
    private final Set<String> columns = new LinkedHashSet<>();

    Writer(Map<String, String> kinds) {
      this.kinds = kinds;
    }

    String truth(Expression expression) throws Unsure {
      if (!(expression instanceof Predicate)) {
        return truthOfValue(expression);
      }
      Predicate predicate = (Predicate) expression;
      Expression[] parts = predicate.children();
      switch (predicate.name()) {
        case "AND":
        case "OR":
          return "(" + truth(parts[0]) + " " + predicate.name() + " " + truth(parts[1]) + ")";
        case "NOT":
          return "(NOT " + truth(parts[0]) + ")";
        case "ALWAYS_TRUE":
          return "true";
        case "ALWAYS_FALSE":
          return "false";
        case "IS_NULL":
          return "(" + column(parts[0]) + " IS NULL)";
        case "IS_NOT_NULL":
          return "(" + column(parts[0]) + " IS NOT NULL)";
        case "=":
        case "<>":
        case "<":
        case "<=":
        case ">":
        case ">=":
          return comparison(parts[0], predicate.name(), parts[1]);
        case "<=>":
          return comparison(parts[0], "IS NOT DISTINCT FROM", parts[1]);
        case "IN":
          return in(parts);
        case "STARTS_WITH":
          return match("starts_with", parts);
        case "ENDS_WITH":
          return match("ends_with", parts);
        case "CONTAINS":
          return match("contains", parts);
        default:
          throw new Unsure(predicate.name());
      }
    }

    private String truthOfValue(Expression expression) throws Unsure {
      if (expression instanceof NamedReference && "boolean".equals(kind(expression))) {
        return column(expression);
      }
      if (expression instanceof Literal && ((Literal<?>) expression).value() instanceof Boolean) {
        return ((Literal<?>) expression).value().toString();
      }
      throw new Unsure(expression);
    }

    private String comparison(Expression left, String operator, Expression right) throws Unsure {
      String kind = kind(left instanceof NamedReference ? left : right);
      return "(" + operand(left, kind) + " " + operator + " " + operand(right, kind) + ")";
    }

    private String in(Expression[] parts) throws Unsure {
      if (parts.length < 2 || parts.length > MOST_VALUES) {
        throw new Unsure("IN of " + parts.length);
      }
      String kind = kind(parts[0]);
      StringBuilder values = new StringBuilder();
      for (int i = 1; i < parts.length; i++) {
        values.append(i == 1 ? "" : ", ").append(operand(parts[i], kind));
      }
      return "(" + column(parts[0]) + " IN (" + values + "))";
    }

    private String match(String function, Expression[] parts) throws Unsure {
      if (!"string".equals(kind(parts[0])) || !(parts[1] instanceof Literal)) {
        throw new Unsure(function);
      }
      return function + "(" + column(parts[0]) + ", " + operand(parts[1], "string") + ")";
    }

    /** How the values of a column are compared; without a kind they are not. */
    private String kind(Expression expression) throws Unsure {
      String name = name(expression);
      if (!kinds.containsKey(name)) {
        throw new Unsure(name);
      }
      return kinds.get(name);
    }

    private String operand(Expression expression, String kind) throws Unsure {
      if (expression instanceof Literal) {
        return literal((Literal<?>) expression, kind);
      }
      if (!kind(expression).equals(kind)) {
        throw new Unsure(expression);
      }
      return column(expression);
    }

    private String column(Expression expression) throws Unsure {
      String name = name(expression);
      columns.add(name);
      return "`" + name + "`";
    }

    private static String name(Expression expression) throws Unsure {
      if (!(expression instanceof NamedReference)) {
        throw new Unsure(expression);
      }
      String[] path = ((NamedReference) expression).fieldNames();
      if (path.length != 1 || path[0].contains("`") || path[0].startsWith("_row")
          || path[0].equals(YardTable.FRAGMENT)) {
        throw new Unsure(expression);
      }
      return path[0];
    }

    private static String literal(Literal<?> literal, String kind) throws Unsure {
      Object value = literal.value();
      DataType type = literal.dataType();
      switch (kind) {
        case "boolean":
          if (value instanceof Boolean) {
            return value.toString();
          }
          break;
        case "integer":
          if (value instanceof Byte || value instanceof Short || value instanceof Integer
              || value instanceof Long) {
            return value.toString();
          }
          break;
        case "string":
          if (value != null && type.equals(DataTypes.StringType) && !hasNul(value)) {
            return "'" + value.toString().replace("'", "''") + "'";
          }
          break;
        case "date":
          if (value instanceof Integer && isOfFourDigits(LocalDate.ofEpochDay((Integer) value))) {
            return "date '" + LocalDate.ofEpochDay((Integer) value) + "'";
          }
          break;
        case "timestamp":
        case "timestamp_ntz":
          if (value instanceof Long && type.typeName().equals(kind)) {
            return moment((Long) value);
          }
          break;
        default:
          return kind.startsWith(UNSIGNED) ? unsigned(value, kind) : decimal(value, kind);
      }
      throw new Unsure(literal);
    }

    private static boolean hasNul(Object text) {
      return text.toString().indexOf('\0') >= 0;
    }

    private static String moment(long micros) throws Unsure {
      LocalDateTime moment = LocalDateTime.ofEpochSecond(
          Math.floorDiv(micros, 1_000_000L),
          (int) Math.floorMod(micros, 1_000_000L) * 1000,
          ZoneOffset.UTC);
      if (!isOfFourDigits(moment.toLocalDate())) {
        throw new Unsure(moment);
      }
      return "timestamp '" + MOMENT.format(moment) + "'";
    }

    private static boolean isOfFourDigits(LocalDate date) {
      return date.getYear() >= 1000 && date.getYear() <= 9999;
    }

    /** A number for a column of kind {@code unsigned32}: Lance fails at those out of its range. */
    private static String unsigned(Object value, String kind) throws Unsure {
      int bits = Integer.parseInt(kind.substring(UNSIGNED.length()));
      boolean isWhole =
          value instanceof Short || value instanceof Integer || value instanceof Long;
      if (!isWhole || ((Number) value).longValue() >>> bits != 0) {
        throw new Unsure(value);
      }
      return value.toString();
    }

    /** A number for a column of kind {@code decimal(precision,scale)}, to whose digits it fits. */
    private static String decimal(Object value, String kind) throws Unsure {
      if (!kind.startsWith("decimal") || !(value instanceof Decimal)) {
        throw new Unsure(value);
      }
      java.math.BigDecimal number = ((Decimal) value).toJavaBigDecimal();
      String[] digits = kind.substring(8, kind.length() - 1).split(",");
      int scale = Integer.parseInt(digits[1]);
      int whole = Integer.parseInt(digits[0]) - scale;
      if (number.scale() > scale || number.precision() - number.scale() > whole) {
        throw new Unsure(value);
      }
      return "CAST('" + number.toPlainString() + "' AS " + kind.toUpperCase(java.util.Locale.ROOT)
          + ")";
    }
  }
}
