"""Catalogs on object stores: a real one, and a proxy that counts, delays and fails."""
