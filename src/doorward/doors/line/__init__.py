"""The line door: one request in JSON a line, one answer a line, over TCP."""
