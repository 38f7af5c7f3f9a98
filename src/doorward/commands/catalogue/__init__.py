"""The catalogue of programs that callers may run, each with the exact options and arguments it accepts."""
