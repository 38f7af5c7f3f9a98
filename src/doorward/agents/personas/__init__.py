"""Personas at work: dispatch, turns, tool calls and approvals. Their files are in `rooms/personas`."""
