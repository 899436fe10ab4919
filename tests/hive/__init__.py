"""The catalog in a Hive Metastore."""
