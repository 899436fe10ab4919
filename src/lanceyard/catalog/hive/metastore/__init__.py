"""The Hive Metastore's client: its calls with our types, over connections that are kept.

What the catalog uses::

    from lanceyard.catalog.hive.metastore.client import Metastore
    from lanceyard.catalog.hive.metastore.failures import AlreadyExistsError, …
    from lanceyard.catalog.hive.metastore.records import DatabaseName, HiveDatabase, HiveTable, …
    from lanceyard.catalog.hive.metastore.settings import PROPERTIES, MetastoreSettings

    store = Metastore(MetastoreSettings(uris=parse_uris("uri", "thrift://a:9083,thrift://b:9083")))
    store.has_catalogs()                      # Hive 3 and newer; asked of the server once

    where = DatabaseName("sales")             # or DatabaseName("sales", catalog="hive")
    store.database_names(catalog=None)        # all, as the server orders them
    store.find_database(where)                # a HiveDatabase; NoSuchObjectError
    store.create_database(HiveDatabase(where, location="file:/w/sales.db", parameters={…}))
    store.alter_database(replace(found, parameters={…}))
    store.drop_database(where, cascade=False) # InvalidOperationError if it is not empty

    store.table_names(where)                  # [] also for a database that is missing
    store.filtered_table_names(where, 'hive_filter_field_params__table_type = "lance"')
    store.find_table(where, "orders")         # a HiveTable; NoSuchObjectError
    store.find_tables(where, ["a", "b"])      # those that are there, in a few calls
    store.create_table(HiveTable(where, "orders", location=…, parameters={…}))
    store.alter_table(where, "orders", replace(found, parameters={…}), context={…})
    store.drop_table(where, "orders")         # the files stay: the catalog deletes its own

    store.catalog_names(), find_catalog, create_catalog, alter_catalog, drop_catalog

    lock = store.lock(where, "orders")        # exclusive; .is_held or to be asked for again by
    lock = store.check_lock(lock); store.heartbeat(lock); store.unlock(lock)

Errors: what the server refuses is a `MetastoreError` of `failures`, for the catalog to translate.
A server that cannot be reached is `ServiceUnavailableError` (17), and nothing was changed. A change
whose reply was lost is `LostReplyError` (18): the catalog looks whether it was made, and lets the
error go on where that cannot be told.
"""
