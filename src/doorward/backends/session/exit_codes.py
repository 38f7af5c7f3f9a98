"""The exit codes of the session shell, as in other shells.

An exit code never tells that a call waits for approval, because any program may end with any code; the ticket does.
"""

from __future__ import annotations

WRONG_USE, WAITS, TOO_LONG, REFUSED, UNKNOWN, STOPPED = 2, 75, 124, 126, 127, 130
NEVER_RAN = frozenset((REFUSED, UNKNOWN, STOPPED))
"""The exit codes of commands that did not run, or not to the end."""
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
    """The exit code for an error code."""
    return _BY_CODE.get(code, REFUSED if refused else 1)
