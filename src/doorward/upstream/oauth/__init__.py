"""OAuth as MCP uses it: how Doorward is let in by servers that ask who it is."""
