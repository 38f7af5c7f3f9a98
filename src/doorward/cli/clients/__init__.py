"""The MCP clients that `doorward connect` knows: where each keeps its configuration, and how it is changed."""
