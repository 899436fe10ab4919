"""Queries: from the request to the rows that answer it."""
