"""The full set of measures, as `make bench` runs it."""
