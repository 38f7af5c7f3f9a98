"""The one way to anything: every request passes `gate.py`, whatever door it came in by."""
