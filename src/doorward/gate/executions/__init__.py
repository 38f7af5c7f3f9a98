"""Executions: admitted calls that wait or run, their output, and how to watch and cancel them."""
