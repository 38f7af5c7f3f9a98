"""Personas at work: dispatch, turns, tool calls and approvals of the AIs in rooms. Their files are in `rooms/personas`."""
