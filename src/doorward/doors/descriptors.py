"""The limit on open files. Every connection is one."""

from __future__ import annotations

import resource

SOCKETS = 2
"""The public address and the owner's socket."""
_KEPT_BACK = 1_024
"""Files reserved for everything else: the database, helper processes, logs, other doors."""


def make_room(connections: int) -> tuple[int, str]:
    """Raise the limit on open files for `connections` on each socket.

    Returns how many connections each socket can have, and a warning when that is fewer. Without this limit, many
    connections could use up the files that the database and the sandbox need.
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
        f"This account may open only {allowed} files, so each socket accepts {most} connections instead of "
        f"{connections}. To allow all of them, run `ulimit -Hn {needed}` before you start Doorward."
    )
