"""The server: any namespace over HTTP."""
