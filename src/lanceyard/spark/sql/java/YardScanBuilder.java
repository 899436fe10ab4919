package io.lanceyard.spark;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.expressions.aggregate.AggregateFunc;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.expressions.aggregate.CountStar;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.SupportsPushDownAggregates;
import org.apache.spark.sql.connector.read.SupportsPushDownLimit;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.SupportsPushDownV2Filters;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** What a query needs of a table, as far as Lance can provide it. */
final class YardScanBuilder
    implements SupportsPushDownV2Filters, SupportsPushDownRequiredColumns, SupportsPushDownLimit,
        SupportsPushDownAggregates {
  private static final Set<String> OTHER_VERSIONS =
      Set.of("version", "tag", "branch", "timestamp");
  private static final Set<String> CHANGES_ROWS =
      Set.of("nearest", "full_text_query", "limit", "filter", "first", "columns");

  private final YardTable table;
  private final Map<String, String> asked;
  private final List<Predicate> pushed = new ArrayList<>();
  private final List<String> conditions = new ArrayList<>();
  private final Set<String> filtered = new LinkedHashSet<>();
  private StructType wanted;
  private int counts;

  YardScanBuilder(YardTable table, Map<String, String> given) {
    this.table = table;
    asked = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
    asked.putAll(given);
    wanted = table.schema();
  }

  @Override
  public Predicate[] pushPredicates(Predicate[] predicates) {
    List<Predicate> rest = new ArrayList<>();
    for (Predicate predicate : predicates) {
      Condition condition = isPlain() ? Condition.of(predicate, table.kinds) : null;
      if (condition == null) {
        rest.add(predicate);
      } else {
        pushed.add(predicate);
        conditions.add(condition.sql);
        filtered.addAll(condition.columns);
      }
    }
    return rest.toArray(new Predicate[0]);
  }

  @Override
  public Predicate[] pushedPredicates() {
    return pushed.toArray(new Predicate[0]);
  }

  @Override
  public void pruneColumns(StructType required) {
    StructType found = new StructType();
    for (StructField field : required.fields()) {
      found = found.add(table.column(field.name())); // whole, even where a part of it would do
    }
    wanted = found.isEmpty() ? cheapest(table.schema()) : found;
  }

  @Override
  public boolean pushLimit(int limit) {
    if (!isPlain() || limit < 1) {
      return false;
    }
    asked.put("first", Integer.toString(limit));
    return true;
  }

  @Override
  public boolean isPartiallyPushed() {
    return true; // each task stops there
  }

  @Override
  public boolean supportCompletePushDown(Aggregation aggregation) {
    return true;
  }

  @Override
  public boolean pushAggregation(Aggregation aggregation) {
    if (!isPlain() || isElsewhere() || aggregation.groupByExpressions().length > 0) {
      return false;
    }
    for (AggregateFunc function : aggregation.aggregateExpressions()) {
      if (!(function instanceof CountStar)) {
        return false;
      }
    }
    counts = aggregation.aggregateExpressions().length;
    return true;
  }

  @Override
  public Scan build() {
    String condition = String.join(" AND ", conditions);
    if (counts > 0) {
      return counted(condition.isEmpty() ? table.rows : table.count(condition));
    }
    Map<String, String> options = new HashMap<>();
    if (!isElsewhere()) {
      options.put("version", table.version);
    }
    if (!condition.isEmpty()) {
      options.put("filter", condition);
      options.put("filter_columns", String.join(",", filtered));
    }
    options.putAll(asked);
    return new YardScan(table, wanted, options);
  }

  /** Whether the reader was asked for another version than the one that was loaded. */
  private boolean isElsewhere() {
    return OTHER_VERSIONS.stream().anyMatch(asked::containsKey);
  }

  /** Whether nothing was asked for that decides itself which rows there are. */
  private boolean isPlain() {
    return CHANGES_ROWS.stream().noneMatch(asked::containsKey);
  }

  private Scan counted(long rows) {
    StructType schema = new StructType();
    Object[] values = new Object[counts];
    for (int i = 0; i < counts; i++) {
      schema = schema.add("count" + i, DataTypes.LongType, false);
      values[i] = rows;
    }
    return new Rows(schema, new InternalRow[] {new GenericInternalRow(values)});
  }

  /** A column to count rows by: they do not travel without any. */
  private static StructType cheapest(StructType schema) {
    StructField smallest = null;
    for (StructField field : schema.fields()) {
      if (smallest == null || field.dataType().defaultSize() < smallest.dataType().defaultSize()) {
        smallest = field;
      }
    }
    return smallest == null ? schema : new StructType().add(smallest);
  }
}
