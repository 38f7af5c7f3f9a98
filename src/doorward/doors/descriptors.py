"""How many files this process may have open, since every connection is one."""

from __future__ import annotations

import resource

SOCKETS = 2
"""The public address and the owner's socket."""
_KEPT_BACK = 1_024
"""For everything that is no connection: the database, helpers, logs, the other doors."""


def make_room(connections: int) -> tuple[int, str]:
    """Raise the limit as far as `connections` on each socket need.

    Returns how many there can be on each, and a sentence when that is less than was wanted. Without it a flood of
    connections would take the files that the database and the sandbox need.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = SOCKETS * connections + _KEPT_BACK
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return connections, ""
    allowed = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    if allowed > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    if allowed >= needed:
        return connections, ""
    most = max(allowed // 2, allowed - _KEPT_BACK) // SOCKETS
    return most, (
        f"This account may have only {allowed} files open, so each socket takes {most} connections at once instead of "
        f"{connections}; `ulimit -Hn {needed}` before the start would be enough for all."
    )
