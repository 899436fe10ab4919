"""Maintenance of tables on executors."""
