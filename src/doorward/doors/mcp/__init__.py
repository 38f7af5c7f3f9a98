"""The MCP door: serves MCP clients over HTTP and stdio, in both eras of the protocol.

The client for other MCP servers is not here but in `doorward.upstream`.
"""
