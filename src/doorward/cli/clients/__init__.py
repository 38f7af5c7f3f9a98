"""The MCP clients that `doorward connect` supports, and how their configuration files are edited."""
