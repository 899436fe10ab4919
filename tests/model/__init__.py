"""The model-based test: random sequences of all operations, compared with the catalog in memory."""
