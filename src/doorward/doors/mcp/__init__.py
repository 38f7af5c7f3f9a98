"""The MCP door: any MCP client, over HTTP or a pipe, in both eras of the protocol."""
