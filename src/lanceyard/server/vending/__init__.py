"""Credentials for storage, given out with the descriptions of tables."""
