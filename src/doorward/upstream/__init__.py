"""MCP servers of others: connected, kept up, and governed like everything else."""
