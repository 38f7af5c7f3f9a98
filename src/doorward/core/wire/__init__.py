"""Messages and stream formats that doors and clients share: JSON-RPC, MCP, lines, server-sent events. No transports."""
