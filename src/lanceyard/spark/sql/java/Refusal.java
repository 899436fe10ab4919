package io.lanceyard.spark;

import java.util.function.Supplier;

/** What the server refuses to do, with the code that says why; PySpark shows just the text. */
final class Refusal extends IllegalArgumentException {
  static final int NAMESPACE_NOT_FOUND = 1;
  static final int NAMESPACE_EXISTS = 2;
  static final int NAMESPACE_NOT_EMPTY = 3;
  static final int TABLE_NOT_FOUND = 4;
  static final int TABLE_EXISTS = 5;

  final int code;

  Refusal(int code, String text) {
    super(text);
    this.code = code;
  }

  /** Whether there is no such object, or nothing that could hold it. */
  boolean isNotFound() {
    return code == NAMESPACE_NOT_FOUND || code == TABLE_NOT_FOUND;
  }

  /** This refusal; or Spark's own exception is thrown, where that says the same. */
  <E extends Exception> Refusal unless(boolean isKnown, Supplier<E> known) throws E {
    if (isKnown) {
      throw known.get();
    }
    return this;
  }
}
