"""JSON-RPC and MCP messages, shared by the MCP door and the client for other MCP servers. No transports."""
