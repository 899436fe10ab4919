"""The server and the client, with real clients and servers on the other side."""
