"""Lance tables in Spark."""
