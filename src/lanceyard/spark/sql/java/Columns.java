package io.lanceyard.spark;

import java.lang.reflect.Constructor;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.execution.datasources.v2.python.PythonCustomMetric;
import org.apache.spark.sql.execution.datasources.v2.python.PythonInputPartition;
import org.apache.spark.sql.execution.datasources.v2.python.PythonPartitionReaderFactory;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSource;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.python.ArrowPythonRunner;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.util.TaskCompletionListener;
import scala.Option;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.immutable.Map;
import scala.collection.immutable.Map$;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Gives Spark the batches that the Python data source reads as they are.
 *
 * <p>Spark's own reader turns them into rows one by one, which takes longer than to read them. How
 * it gets at them is its own affair: in a version of Spark that does it otherwise, rows are read.
 */
final class Columns implements PartitionReaderFactory {
  /** So many bytes are read sooner than a Python worker starts. */
  static final int FEW = 4 << 20;
  private static final Constructor<?> RUNNER = runner();

  private final PythonPartitionReaderFactory rows;
  private final UserDefinedPythonDataSource source;
  private final byte[] function;
  private final StructType schema;
  private final Option<String> artifacts;
  private final Option<String> session;
  private final boolean areFew;

  @SuppressWarnings("unchecked")
  private Columns(PythonPartitionReaderFactory rows, boolean areFew)
      throws ReflectiveOperationException {
    this.rows = rows;
    this.areFew = areFew;
    source = (UserDefinedPythonDataSource) held(rows, "source");
    function = (byte[]) held(rows, "pickledReadFunc");
    schema = (StructType) held(rows, "outputSchema");
    artifacts = (Option<String>) held(rows, "jobArtifactUUID");
    session = (Option<String>) held(rows, "sessionUUID");
  }

  /** The same batch, by columns where that is possible; of a few bytes none is left unread. */
  static Batch of(Batch python, boolean areFew) {
    return new Batch() {
      @Override
      public InputPartition[] planInputPartitions() {
        return python.planInputPartitions();
      }

      @Override
      public PartitionReaderFactory createReaderFactory() {
        return of(python.createReaderFactory(), areFew);
      }
    };
  }

  private static PartitionReaderFactory of(PartitionReaderFactory python, boolean areFew) {
    try {
      return RUNNER == null ? python : new Columns((PythonPartitionReaderFactory) python, areFew);
    } catch (ReflectiveOperationException | ClassCastException otherwise) {
      return python;
    }
  }

  @Override
  public boolean supportColumnarReads(InputPartition partition) {
    return true;
  }

  @Override
  public PartitionReader<InternalRow> createReader(InputPartition partition) {
    return rows.createReader(partition);
  }

  @Override
  public PartitionReader<ColumnarBatch> createColumnarReader(InputPartition partition) {
    Map<String, SQLMetric> metrics = PythonCustomMetric.pythonMetrics();
    Iterator<ColumnarBatch> batches =
        batches(((PythonInputPartition) partition).pickedPartition(), metrics);
    if (areFew) {
      TaskContext.get().addTaskCompletionListener(
          (TaskCompletionListener) task -> finish(task, batches));
    }
    return new PartitionReader<>() {
      @Override
      public boolean next() {
        return batches.hasNext();
      }

      @Override
      public ColumnarBatch get() {
        return flat(batches.next());
      }

      @Override
      public CustomTaskMetric[] currentMetricsValues() {
        Map<String, Object> values = Map$.MODULE$.empty();
        for (Tuple2<String, SQLMetric> each : CollectionConverters.asJava(metrics.toSeq())) {
          values = values.updated(each._1(), each._2().value());
        }
        return source.createPythonTaskMetrics(values);
      }

      @Override
      public void close() {} // the end of the task does it
    };
  }

  /** Reads what is left: a worker that has more to say is ended, and another takes long to start. */
  private static void finish(TaskContext task, Iterator<ColumnarBatch> batches) {
    while (!task.isFailed() && !task.isInterrupted() && batches.hasNext()) {
      batches.next();
    }
  }

  private Iterator<ColumnarBatch> batches(byte[] task, Map<String, SQLMetric> metrics) {
    Object evaluator = source.createMapInBatchEvaluatorFactory(
        function, "read_from_data_source", UserDefinedPythonDataSource.readInputSchema(), schema,
        metrics, artifacts, session).createEvaluator();
    InternalRow asked = row(row(task));
    try {
      ArrowPythonRunner runner =
          (ArrowPythonRunner) RUNNER.newInstance(evaluator, new int[][] {{0}});
      return runner.compute(
          Iterator.single(Iterator.single(asked)), TaskContext.getPartitionId(), TaskContext.get());
    } catch (ReflectiveOperationException unlike) {
      throw new IllegalStateException("this version of Spark reads Python otherwise", unlike);
    }
  }

  /** Columns that came as those of a struct. */
  private ColumnarBatch flat(ColumnarBatch batch) {
    ArrowColumnVector struct = (ArrowColumnVector) batch.column(0);
    ColumnVector[] columns = new ColumnVector[schema.length()];
    for (int i = 0; i < columns.length; i++) {
      columns[i] = new Lent(struct.getChild(i));
    }
    return new ColumnarBatch(columns, batch.numRows());
  }

  /** A column that the next batch uses again: once Spark has closed it, structs have no fields. */
  private static final class Lent extends ArrowColumnVector {
    Lent(ArrowColumnVector column) {
      super(column.getValueVector());
    }

    @Override
    public void close() {}
  }

  private static InternalRow row(Object value) {
    return new GenericInternalRow(new Object[] {value});
  }

  private static Object held(PythonPartitionReaderFactory rows, String name)
      throws ReflectiveOperationException {
    String owner = PythonPartitionReaderFactory.class.getName().replace('.', '$');
    return PythonPartitionReaderFactory.class.getField(owner + "$$" + name).get(rows);
  }

  /** What makes the one who talks to Python for an evaluator, or null if there is no such thing. */
  private static Constructor<?> runner() {
    String evaluator =
        "org.apache.spark.sql.execution.python.MapInBatchEvaluatorFactory$MapInBatchEvaluator";
    try {
      return Class.forName(evaluator + "$$anon$1")
          .getConstructor(Class.forName(evaluator), int[][].class);
    } catch (ReflectiveOperationException otherwise) {
      return null;
    }
  }
}
