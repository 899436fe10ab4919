package io.lanceyard.spark;

import java.io.IOException;
import java.util.Iterator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.DeltaBatchWrite;
import org.apache.spark.sql.connector.write.DeltaWriter;
import org.apache.spark.sql.connector.write.DeltaWriterFactory;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.execution.ExternalAppendOnlyUnsafeRowArray;
import org.apache.spark.sql.types.StructType;

/**
 * Lets rows that come one by one reach a Python writer, which only takes all of them at once:
 * Spark's own class drops a single row without a word.
 */
final class Bridge implements DeltaBatchWrite {
  private static final int ROWS_ON_HEAP = 4096;
  private static final long BYTES_ON_HEAP = 16L << 20;

  private final YardWriteBuilder asked;
  private BatchWrite python;

  Bridge(YardWriteBuilder asked) {
    this.asked = asked;
  }

  @Override
  public DeltaWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
    python = asked.inPython();
    return new Factory(
        python.createBatchWriterFactory(info), asked.schema(), asked.rowsPerSpill());
  }

  @Override
  public boolean useCommitCoordinator() {
    return true;
  }

  @Override
  public void commit(WriterCommitMessage[] messages) {
    python.commit(messages);
    asked.landed();
  }

  @Override
  public void abort(WriterCommitMessage[] messages) {
    if (python != null) {
      python.abort(messages);
    }
  }

  private static final class Factory implements DeltaWriterFactory {
    private final DataWriterFactory python;
    private final StructType schema;
    private final int rowsPerSpill;

    Factory(DataWriterFactory python, StructType schema, int rowsPerSpill) {
      this.python = python;
      this.schema = schema;
      this.rowsPerSpill = rowsPerSpill;
    }

    @Override
    public DeltaWriter<InternalRow> createWriter(int partition, long task) {
      return new Writer(python.createWriter(partition, task), schema, rowsPerSpill);
    }
  }

  /** Rows that come one by one wait, on disk if there are many, until there are no more. */
  private static final class Writer implements DeltaWriter<InternalRow> {
    private final DataWriter<InternalRow> python;
    private final UnsafeProjection flat;
    private final ExternalAppendOnlyUnsafeRowArray waiting;
    private final GenericInternalRow where = new GenericInternalRow(2);
    private final GenericInternalRow nothing;
    private final JoinedRow change = new JoinedRow();
    private boolean isWritten;

    Writer(DataWriter<InternalRow> python, StructType schema, int rowsPerSpill) {
      this.python = python;
      flat = UnsafeProjection.create(schema);
      nothing = new GenericInternalRow(Math.max(0, schema.length() - where.numFields()));
      // Beyond that rows are where Spark's memory manager can have them spilled. Each spill is a
      // file that is read with a buffer of its own, so there should not be many.
      waiting = new ExternalAppendOnlyUnsafeRowArray(
          ROWS_ON_HEAP, BYTES_ON_HEAP, rowsPerSpill, Long.MAX_VALUE);
    }

    @Override
    public void write(InternalRow row) {
      waiting.add(flat.apply(row)); // which copies it
    }

    @Override
    public void write(InternalRow metadata, InternalRow row) {
      write(row);
    }

    @Override
    public void delete(InternalRow metadata, InternalRow id) {
      write(change(id.getLong(0), false, nothing));
    }

    @Override
    public void update(InternalRow metadata, InternalRow id, InternalRow row) {
      write(change(id.getLong(0), true, row));
    }

    @Override
    public void insert(InternalRow row) {
      write(change(null, true, row));
    }

    /** A row of {@link Delta#schema}. */
    private InternalRow change(Long address, boolean isKept, InternalRow row) {
      where.update(0, address);
      where.update(1, isKept);
      return change.apply(where, row);
    }

    @Override
    public void writeAll(Iterator<InternalRow> rows) throws IOException {
      if (!waiting.isEmpty()) {
        throw new IllegalStateException("rows came one by one, and then all at once");
      }
      python.writeAll(rows);
      isWritten = true;
    }

    @Override
    public WriterCommitMessage commit() throws IOException {
      if (!isWritten) {
        python.writeAll(all(waiting.generateIterator()));
      }
      return python.commit();
    }

    @Override
    public void abort() throws IOException {
      python.abort();
    }

    @Override
    public void close() throws IOException {
      waiting.clear();
      python.close();
    }

    private static Iterator<InternalRow> all(scala.collection.Iterator<UnsafeRow> rows) {
      return new Iterator<>() {
        @Override
        public boolean hasNext() {
          return rows.hasNext();
        }

        @Override
        public InternalRow next() {
          return rows.next();
        }
      };
    }
  }
}
