"""Vending: the storage options that clients are given."""
