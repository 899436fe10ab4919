"""Where Spark finds ``format("lanceyard")``, which no JVM source named ``lance`` can hide."""

try:
    from lanceyard.spark.source import LanceyardSource as DefaultSource
except ImportError:
    # See pyspark_lance.
    __all__: list[str] = []
else:
    __all__ = ["DefaultSource"]
