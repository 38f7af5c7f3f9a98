"""Waits for one of a few turns, and becomes the program behind it.

The suite starts a client for every scenario at the same moment. Forty of them at once would measure how slow this
machine is, and not whether a client behaves.
"""

from __future__ import annotations

import fcntl
import os
import sys

TURNS = 3


def main(folder: str, *command: str) -> None:
    """The lock is inherited, so the turn is over when the program ends, however that comes about."""
    turn = os.open(f"{folder}/{os.getpid() % TURNS}", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(turn, fcntl.LOCK_EX)
    os.set_inheritable(turn, True)
    os.execv(command[0], command)  # noqa: S606 - no shell is wanted here


if __name__ == "__main__":
    main(*sys.argv[1:])
