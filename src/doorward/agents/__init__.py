"""Callers that think. They ask the gate like any other caller, and own no back way."""
