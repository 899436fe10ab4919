-- The tables that Hive 2.3 has for transactions, from the first on that it makes with types of
-- Derby's: the mutex of locks, and what is cleared when a database is dropped.
create table aux_table (
  mt_key1 varchar(128) not null, mt_key2 bigint not null, mt_comment varchar(255),
  primary key (mt_key1, mt_key2));
create table compaction_queue (
  cq_id bigint primary key, cq_database varchar(128) not null, cq_table varchar(128) not null,
  cq_partition varchar(767), cq_state char(1) not null, cq_type char(1) not null,
  cq_tblproperties varchar(2048), cq_worker_id varchar(128), cq_start bigint,
  cq_run_as varchar(128), cq_highest_txn_id bigint, cq_meta_info bytea,
  cq_hadoop_job_id varchar(32));
create table completed_compactions (
  cc_id bigint primary key, cc_database varchar(128) not null, cc_table varchar(128) not null,
  cc_partition varchar(767), cc_state char(1) not null, cc_type char(1) not null,
  cc_tblproperties varchar(2048), cc_worker_id varchar(128), cc_start bigint, cc_end bigint,
  cc_run_as varchar(128), cc_highest_txn_id bigint, cc_meta_info bytea,
  cc_hadoop_job_id varchar(32));
