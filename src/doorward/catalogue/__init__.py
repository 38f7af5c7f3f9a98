"""The catalogue: programs that callers may run, each with an exact list of what it can be told."""
