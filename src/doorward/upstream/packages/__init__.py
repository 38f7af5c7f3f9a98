"""Packages of MCP servers: where they are found, how they are pinned and installed, and where they are kept."""
