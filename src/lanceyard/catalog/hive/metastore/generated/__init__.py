"""Generated from metastore.thrift by `make thrift`."""
__all__ = ['ttypes', 'constants', 'ThriftHiveMetastore']
