"""Runs a program as an ordinary user of the machine, whoever runs the tests.

    ordinary.py PROGRAM ...

Root's interpreter or checkout often lies where nobody else may look. They are laid open to the ordinary user in a mount
namespace of this process alone: nothing else of those folders is there, and nothing of it stays behind.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterable
from pathlib import Path

USER = 12_345
"""An account that need not exist; it owns nothing."""

_NEW_MOUNTS = 0x0002_0000
_BIND, _RECURSIVE, _PRIVATE = 0x1000, 0x4000, 0x0004_0000
_OTHERS_MAY_PASS = 0o001

_libc = ctypes.CDLL(None, use_errno=True)


def command(*words: str) -> list[str]:
    """The command line that runs these words as an ordinary user; as they are when that is who we are."""
    return [sys.executable, __file__, *words] if os.geteuid() == 0 else list(words)


def _mount(source: str, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    texts = [text.encode() if text is not None else None for text in (source, target, kind, options)]
    if _libc.mount(*texts[:3], ctypes.c_ulong(flags), texts[3]) < 0:
        raise OSError(ctypes.get_errno(), f"cannot mount {source} on {target}")


def _closed_door(path: Path) -> Path | None:
    """The first folder on the way to a path that others may not pass."""
    for folder in (*reversed(path.parents), path):
        if not folder.stat().st_mode & _OTHERS_MAY_PASS:
            return folder
    return None


def _lay_open(paths: Iterable[str]) -> None:
    """Make these folders, and nothing beside them, reachable for everybody in this mount namespace."""
    if _libc.unshare(_NEW_MOUNTS) < 0:
        raise OSError(ctypes.get_errno(), "cannot make a mount namespace")
    _mount("none", "/", None, _RECURSIVE | _PRIVATE)
    behind: dict[Path, list[tuple[int, Path]]] = {}
    for path in sorted({Path(path).resolve() for path in paths}):
        if (door := _closed_door(path)) is not None:
            behind.setdefault(door, []).append((os.open(path, os.O_PATH), path))
    for door, folders in behind.items():
        _mount("tmpfs", str(door), "tmpfs", 0, "mode=0755")
        for descriptor, path in folders:
            path.mkdir(parents=True, exist_ok=True)
            _mount(f"/proc/self/fd/{descriptor}", str(path), None, _BIND)
            os.close(descriptor)


def main() -> None:
    checkout = Path(__file__).resolve().parents[2]
    _lay_open((sys.base_prefix, sys.prefix, str(checkout)))
    os.setgroups([])
    os.setresgid(USER, USER, USER)
    os.setresuid(USER, USER, USER)
    os.chdir("/")
    os.execvp(sys.argv[1], sys.argv[1:])  # noqa: S606 - to become the program is the purpose


if __name__ == "__main__":
    main()
