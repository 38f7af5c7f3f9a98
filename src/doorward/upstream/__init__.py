"""Upstream MCP servers: connect to them, supervise them, and offer their tools through the gate."""
