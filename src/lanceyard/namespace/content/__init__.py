"""The content of tables: rows, columns, indexes, references and figures of a Lance table."""
