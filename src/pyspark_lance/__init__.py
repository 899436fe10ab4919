"""Where Spark finds ``format("lance")``: it imports every package named ``pyspark_*``."""

try:
    from lanceyard.spark.source import LanceSource as DefaultSource
except ImportError:
    # Spark imports this package whenever it looks for any Python data source: one that raises
    # here would break all of them.
    __all__: list[str] = []
else:
    __all__ = ["DefaultSource"]
