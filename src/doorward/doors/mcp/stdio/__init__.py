"""MCP over stdio: a small relay in each client's process, and one server process behind them all."""
