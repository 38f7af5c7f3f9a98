"""MCP over a program's standard streams: a light relay in each client's process, and one house behind them all."""
