"""The exit codes of the session shell for what never was a program of its own, as shells have them.

That something waits for a person is never told by its code, which any program may end with, but by its ticket.
"""

from __future__ import annotations

WRONG_USE, WAITS, TOO_LONG, REFUSED, UNKNOWN, STOPPED = 2, 75, 124, 126, 127, 130
NEVER_RAN = frozenset((REFUSED, UNKNOWN, STOPPED))
"""The exit codes of what did not run, or not to its end."""
_BY_CODE = {
    "bad_params": WRONG_USE,
    "unknown_command": UNKNOWN,
    "timed_out": TOO_LONG,
    "cancelled": STOPPED,
    "withdrawn": STOPPED,
    "not_found": 1,
    "conflict": 1,
}


def of(code: str, *, refused: bool) -> int:
    """What an error is among exit codes."""
    return _BY_CODE.get(code, REFUSED if refused else 1)
