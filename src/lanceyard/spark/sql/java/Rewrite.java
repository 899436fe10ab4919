package io.lanceyard.spark;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.SupportsRuntimeV2Filtering;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.RowLevelOperation;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * UPDATE, MERGE or DELETE by copy-on-write: fragments that hold a match are read as a whole, and
 * replaced by what becomes of their rows.
 *
 * <p>Spark finds these fragments first, by a query of its own, and tells the scan before it reads.
 */
final class Rewrite implements RowLevelOperation {
  private final YardTable table;
  private final Command command;
  private Group group;

  Rewrite(YardTable table, Command command) {
    this.table = table;
    this.command = command;
  }

  @Override
  public Command command() {
    return command;
  }

  @Override
  public NamedReference[] requiredMetadataAttributes() {
    return new NamedReference[] {Expressions.column(YardTable.FRAGMENT)};
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap asked) {
    return new Builder();
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    Map<String, String> options = table.options(Map.of("version", table.version));
    return new YardWriteBuilder(table.catalog, table.schema(), options, info) {
      private String replaced;

      @Override
      Map<String, String> latest() {
        // Tasks are only started once Spark knows what to read, and so do we.
        replaced = group == null ? "*" : group.chosen();
        return Map.of("replace_fragments", replaced);
      }

      @Override
      void check() {
        if (group != null && !Set.of(replaced).containsAll(group.planned)) {
          throw new IllegalStateException("fragments " + group.planned + " were read, but "
              + replaced + " would be replaced; nothing was written");
        }
      }
    };
  }

  private final class Builder implements SupportsPushDownRequiredColumns {
    private StructType wanted = table.schema().add(table.column(YardTable.FRAGMENT));

    @Override
    public void pruneColumns(StructType required) {
      StructType found = new StructType();
      for (StructField field : required.fields()) {
        found = found.add(table.column(field.name()));
      }
      wanted = found;
    }

    @Override
    public Scan build() {
      Map<String, String> options = new HashMap<>(Map.of("version", table.version));
      group = new Group(wanted, options);
      return group;
    }
  }

  /** All rows of the fragments that Spark chooses while the statement runs. */
  private final class Group extends YardScan implements SupportsRuntimeV2Filtering {
    private final Set<String> planned = new TreeSet<>();
    private Set<Long> fragments;

    Group(StructType schema, Map<String, String> options) {
      super(Rewrite.this.table, schema, options);
    }

    @Override
    public ColumnarSupportMode columnarSupportMode() {
      return ColumnarSupportMode.UNSUPPORTED; // or Spark would plan the scan to find out
    }

    @Override
    public NamedReference[] filterAttributes() {
      return requiredMetadataAttributes();
    }

    @Override
    public void filter(Predicate[] predicates) {
      for (Predicate predicate : predicates) {
        Set<Long> held = held(predicate);
        if (held != null) {
          if (fragments == null) {
            fragments = held;
          } else {
            fragments.retainAll(held);
          }
        }
      }
    }

    @Override
    public Batch toBatch() {
      return new Batch() {
        private final Batch python = inPython(only()).toBatch();

        @Override
        public InputPartition[] planInputPartitions() {
          planned.add(chosen());
          return chosen().isEmpty() ? new InputPartition[0] : python.planInputPartitions();
        }

        @Override
        public PartitionReaderFactory createReaderFactory() {
          return python.createReaderFactory();
        }
      };
    }

    private Map<String, String> only() {
      return fragments == null ? Map.of() : Map.of("fragments", chosen());
    }

    String chosen() {
      return fragments == null
          ? "*"
          : fragments.stream().map(String::valueOf).collect(Collectors.joining(","));
    }

    private Set<Long> held(Predicate predicate) {
      Expression[] parts = predicate.children();
      boolean isOurs = parts.length > 0 && parts[0] instanceof NamedReference
          && ((NamedReference) parts[0]).fieldNames()[0].equals(YardTable.FRAGMENT);
      if (!isOurs || !(predicate.name().equals("IN") || predicate.name().equals("="))) {
        return null;
      }
      Set<Long> found = new TreeSet<>();
      for (int i = 1; i < parts.length; i++) {
        Object value = ((Literal<?>) parts[i]).value();
        if (value != null) {
          found.add((Long) value);
        }
      }
      return found;
    }
  }
}
