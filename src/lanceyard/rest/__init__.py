"""The REST protocol: what travels where, and the client that speaks it."""
