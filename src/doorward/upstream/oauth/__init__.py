"""OAuth for upstream servers, as MCP specifies it: discovery, registration, login and tokens."""
