"""A workspace with secrets beside it, and writes into it as the commands make them."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator
from pathlib import Path

from doorward.sandbox.safefs import SafeRoot

LARGEST = 1_000_000


def make_workspace(tmp_path: Path) -> Path:
    """A workspace, and two folders beside it that nothing may reach."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("outside")
    evil = tmp_path / "workspace-evil"
    evil.mkdir()
    (evil / "secret").write_text("evil")
    return folder


def put(root: SafeRoot, path: str, content: bytes | None, *, parents: bool = True) -> None:
    found = root.read_existing(path, LARGEST)
    with root.stage(path, content, present=found.mark if found else None, parents=parents) as staged:
        staged.commit()


def everything(folder: Path) -> list[str]:
    return sorted(str(one.relative_to(folder)) for one in folder.rglob("*"))


@contextlib.contextmanager
def without_privileges() -> Iterator[None]:
    """This thread's file accesses are an ordinary account's, also when the tests run as root."""
    libc = ctypes.CDLL(None)
    was = libc.setfsuid(65534) if os.geteuid() == 0 else None
    try:
        yield
    finally:
        if was is not None:
            libc.setfsuid(was)
