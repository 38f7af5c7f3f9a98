"""JSON-RPC and MCP messages, for whoever speaks them: the door, and later the client of other servers."""
