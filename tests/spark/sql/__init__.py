"""Catalogs of Lance tables in Spark SQL."""
