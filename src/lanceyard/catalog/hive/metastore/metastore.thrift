// The part of the Hive Metastore's protocol that the catalog speaks: Hive 2.3, 3.1 and 4.0.
// `make thrift` turns it into the package `generated`.
//
// Every field is optional here, whatever the server thinks: what is None is not sent. Of a table all
// fields are declared that a server keeps, so that one that is read, altered and written loses none.

namespace py lanceyard.catalog.hive.metastore.generated

exception AlreadyExistsException { 1: optional string message }
exception ConfigValSecurityException { 1: optional string message }
exception InvalidObjectException { 1: optional string message }
exception InvalidOperationException { 1: optional string message }
exception MetaException { 1: optional string message }
exception NoSuchLockException { 1: optional string message }
exception NoSuchObjectException { 1: optional string message }
exception NoSuchTxnException { 1: optional string message }
exception TxnAbortedException { 1: optional string message }
exception TxnOpenException { 1: optional string message }
exception UnknownDBException { 1: optional string message }

struct Catalog {
  1: optional string name
  2: optional string description
  3: optional string locationUri
  4: optional i32 createTime
}

struct CreateCatalogRequest { 1: optional Catalog catalog }
struct AlterCatalogRequest { 1: optional string name, 2: optional Catalog newCat }
struct GetCatalogRequest { 1: optional string name }
struct GetCatalogResponse { 1: optional Catalog catalog }
struct GetCatalogsResponse { 1: optional list<string> names }
struct DropCatalogRequest { 1: optional string name }

struct PrivilegeGrantInfo {
  1: optional string privilege
  2: optional i32 createTime
  3: optional string grantor
  4: optional i32 grantorType
  5: optional bool grantOption
}

struct PrincipalPrivilegeSet {
  1: optional map<string, list<PrivilegeGrantInfo>> userPrivileges
  2: optional map<string, list<PrivilegeGrantInfo>> groupPrivileges
  3: optional map<string, list<PrivilegeGrantInfo>> rolePrivileges
}

struct Database {
  1: optional string name
  2: optional string description
  3: optional string locationUri
  4: optional map<string, string> parameters
  5: optional PrincipalPrivilegeSet privileges
  6: optional string ownerName
  7: optional i32 ownerType
  8: optional string catalogName
  9: optional i32 createTime
  10: optional string managedLocationUri
  11: optional i32 type
  12: optional string connector_name
  13: optional string remote_dbname
}

struct GetDatabaseRequest { 1: optional string name, 2: optional string catalogName }

struct DropDatabaseRequest {
  1: optional string name
  2: optional string catalogName
  3: optional bool ignoreUnknownDb
  4: optional bool deleteData
  5: optional bool cascade
}

struct FieldSchema {
  1: optional string name
  2: optional string type
  3: optional string comment
}

struct SerDeInfo {
  1: optional string name
  2: optional string serializationLib
  3: optional map<string, string> parameters
  4: optional string description
  5: optional string serializerClass
  6: optional string deserializerClass
  7: optional i32 serdeType
}

struct Order { 1: optional string col, 2: optional i32 order }

struct SkewedInfo {
  1: optional list<string> skewedColNames
  2: optional list<list<string>> skewedColValues
  3: optional map<list<string>, string> skewedColValueLocationMaps
}

struct StorageDescriptor {
  1: optional list<FieldSchema> cols
  2: optional string location
  3: optional string inputFormat
  4: optional string outputFormat
  5: optional bool compressed
  6: optional i32 numBuckets
  7: optional SerDeInfo serdeInfo
  8: optional list<string> bucketCols
  9: optional list<Order> sortCols
  10: optional map<string, string> parameters
  11: optional SkewedInfo skewedInfo
  12: optional bool storedAsSubDirectories
}

struct CreationMetadata {
  1: optional string catName
  2: optional string dbName
  3: optional string tblName
  4: optional set<string> tablesUsed
  5: optional string validTxnList
  6: optional i64 materializationTime
}

struct Table {
  1: optional string tableName
  2: optional string dbName
  3: optional string owner
  4: optional i32 createTime
  5: optional i32 lastAccessTime
  6: optional i32 retention
  7: optional StorageDescriptor sd
  8: optional list<FieldSchema> partitionKeys
  9: optional map<string, string> parameters
  10: optional string viewOriginalText
  11: optional string viewExpandedText
  12: optional string tableType
  13: optional PrincipalPrivilegeSet privileges
  14: optional bool temporary
  15: optional bool rewriteEnabled
  16: optional CreationMetadata creationMetadata
  17: optional string catName
  18: optional i32 ownerType
  19: optional i64 writeId
  22: optional i8 accessType
  23: optional list<string> requiredReadCapabilities
  24: optional list<string> requiredWriteCapabilities
  25: optional i64 id
}

struct EnvironmentContext { 1: optional map<string, string> properties }

struct ClientCapabilities { 1: optional list<i32> values }

struct GetTableRequest {
  1: optional string dbName
  2: optional string tblName
  3: optional ClientCapabilities capabilities
  4: optional string catName
}

struct GetTableResult { 1: optional Table table }

struct GetTablesRequest {
  1: optional string dbName
  2: optional list<string> tblNames
  3: optional ClientCapabilities capabilities
  4: optional string catName
}

struct GetTablesResult { 1: optional list<Table> tables }

struct CreateTableRequest { 1: optional Table table, 2: optional EnvironmentContext envContext }

struct AlterTableRequest {
  1: optional string catName
  2: optional string dbName
  3: optional string tableName
  4: optional Table table
  5: optional EnvironmentContext environmentContext
}

struct AlterTableResponse {}

struct LockComponent {
  1: optional i32 type
  2: optional i32 level
  3: optional string dbname
  4: optional string tablename
  5: optional string partitionname
  6: optional i32 operationType
}

struct LockRequest {
  1: optional list<LockComponent> component
  2: optional i64 txnid
  3: optional string user
  4: optional string hostname
  5: optional string agentInfo
}

struct LockResponse { 1: optional i64 lockid, 2: optional i32 state }
struct CheckLockRequest { 1: optional i64 lockid }
struct UnlockRequest { 1: optional i64 lockid }
struct HeartbeatRequest { 1: optional i64 lockid }

service ThriftHiveMetastore {
  string getVersion()
  list<string> set_ugi(1: string user_name, 2: list<string> group_names)
    throws (1: MetaException o1)
  string get_config_value(1: string name, 2: string defaultValue)
    throws (1: ConfigValSecurityException o1)

  void create_catalog(1: CreateCatalogRequest catalog)
    throws (1: AlreadyExistsException o1, 2: InvalidObjectException o2, 3: MetaException o3)
  void alter_catalog(1: AlterCatalogRequest rqst)
    throws (1: NoSuchObjectException o1, 2: InvalidOperationException o2, 3: MetaException o3)
  GetCatalogResponse get_catalog(1: GetCatalogRequest catName)
    throws (1: NoSuchObjectException o1, 2: MetaException o2)
  GetCatalogsResponse get_catalogs() throws (1: MetaException o1)
  void drop_catalog(1: DropCatalogRequest catName)
    throws (1: NoSuchObjectException o1, 2: InvalidOperationException o2, 3: MetaException o3)

  void create_database(1: Database database)
    throws (1: AlreadyExistsException o1, 2: InvalidObjectException o2, 3: MetaException o3)
  Database get_database(1: string name)
    throws (1: NoSuchObjectException o1, 2: MetaException o2)
  Database get_database_req(1: GetDatabaseRequest request)
    throws (1: NoSuchObjectException o1, 2: MetaException o2)
  list<string> get_databases(1: string pattern) throws (1: MetaException o1)
  void alter_database(1: string dbname, 2: Database db)
    throws (1: MetaException o1, 2: NoSuchObjectException o2)
  void drop_database(1: string name, 2: bool deleteData, 3: bool cascade)
    throws (1: NoSuchObjectException o1, 2: InvalidOperationException o2, 3: MetaException o3)
  void drop_database_req(1: DropDatabaseRequest req)
    throws (1: NoSuchObjectException o1, 2: InvalidOperationException o2, 3: MetaException o3)

  void create_table(1: Table tbl)
    throws (1: AlreadyExistsException o1, 2: InvalidObjectException o2, 3: MetaException o3,
            4: NoSuchObjectException o4)
  void create_table_req(1: CreateTableRequest request)
    throws (1: AlreadyExistsException o1, 2: InvalidObjectException o2, 3: MetaException o3,
            4: NoSuchObjectException o4)
  Table get_table(1: string dbname, 2: string tbl_name)
    throws (1: MetaException o1, 2: NoSuchObjectException o2)
  GetTableResult get_table_req(1: GetTableRequest req)
    throws (1: MetaException o1, 2: NoSuchObjectException o2)
  list<Table> get_table_objects_by_name(1: string dbname, 2: list<string> tbl_names)
    throws (1: MetaException o1, 2: InvalidOperationException o2, 3: UnknownDBException o3)
  GetTablesResult get_table_objects_by_name_req(1: GetTablesRequest req)
    throws (1: MetaException o1, 2: InvalidOperationException o2, 3: UnknownDBException o3)
  list<string> get_all_tables(1: string db_name) throws (1: MetaException o1)
  list<string> get_table_names_by_filter(1: string dbname, 2: string filter, 3: i16 max_tables)
    throws (1: MetaException o1, 2: InvalidOperationException o2, 3: UnknownDBException o3)
  void alter_table_with_environment_context(
      1: string dbname, 2: string tbl_name, 3: Table new_tbl,
      4: EnvironmentContext environment_context)
    throws (1: InvalidOperationException o1, 2: MetaException o2)
  AlterTableResponse alter_table_req(1: AlterTableRequest req)
    throws (1: InvalidOperationException o1, 2: MetaException o2)
  void drop_table_with_environment_context(
      1: string dbname, 2: string name, 3: bool deleteData,
      4: EnvironmentContext environment_context)
    throws (1: NoSuchObjectException o1, 3: MetaException o3)

  LockResponse lock(1: LockRequest rqst)
    throws (1: NoSuchTxnException o1, 2: TxnAbortedException o2)
  LockResponse check_lock(1: CheckLockRequest rqst)
    throws (1: NoSuchTxnException o1, 2: TxnAbortedException o2, 3: NoSuchLockException o3)
  void unlock(1: UnlockRequest rqst)
    throws (1: NoSuchLockException o1, 2: TxnOpenException o2)
  void heartbeat(1: HeartbeatRequest ids)
    throws (1: NoSuchLockException o1, 2: NoSuchTxnException o2, 3: TxnAbortedException o3)
}
