"""What the conformance kit does not say of the catalog on a Hive Metastore."""
