"""Parsers for the calls in a model's answer, in every spelling that models use. docs/CALLS.md lists them."""
