"""The HTTP server: listeners, connections with limits, host checks and problem details. Routes live beside it."""
