"""Whatever a program does to files, its transaction leaves what doing it directly would, and undo what was before."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

_SECONDS = 20
_ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
_NAMES = ("a", "b", "docs", "new\nline", "-dash", "é 'quote")
_MOMENT = 10**18
"""The time of every file before the script, in nanoseconds; no script sets it."""


class Thing(NamedTuple):
    """What a path is, as far as a transaction promises to carry it over."""

    kind: int
    mode: int
    content: bytes
    modified: int
    """Of files alone, and only where a script sets it or leaves it as it was."""


def quoted(path: str) -> str:
    return "'" + path.replace("'", "'\\''") + "'"


paths = st.lists(st.sampled_from(_NAMES), min_size=1, max_size=3).map("/".join)
# The owner keeps every right: a folder or file without them is refused to users, but not to root.
file_modes = st.sampled_from(["600", "644", "755", "640"])
folder_modes = st.sampled_from(["700", "755", "750"])


@st.composite
def operations(draw: st.DrawFn) -> str:
    """One command of a shell. It may well fail, in the view just as directly."""
    one, other = quoted(draw(paths)), quoted(draw(paths))
    number = draw(st.integers(0, 9))
    return draw(
        st.sampled_from(
            [
                f"echo {number} > ./{one}",
                f"echo {number} >> ./{one}",
                f"mkdir -p -- {one}",
                f"mkdir -p -- {one} && echo {number} > ./{one}/{quoted(_NAMES[number % len(_NAMES)])}",
                f"rm -f -- {one}",
                f"rm -rf -- {one}",
                f"rm -rf -- {one}; mkdir -p -- {one}/docs",
                f"rm -rf -- {one}; echo {number} > ./{one}",
                f"rmdir -- {one}",
                f"mv -f -- {one} {other}",
                f"mv -fT -- {one} {other}",
                f"test -f ./{one} && cp -p -- {one} {other}",
                f"rm -rf copy; cp -rp -- {one} copy",  # never into itself: what that gives is up to the disk
                f"ln -s -- {other} {one}",
                f"ln -sfn -- {other} {one}",
                f"ln -f -- {one} {other}",
                f"rm -rf -- {one}; ln -s -- {other} {one}",
                f"test -f ./{one} && chmod {draw(file_modes)} ./{one}",
                f"test -d ./{one} && chmod {draw(folder_modes)} ./{one}",
                f"truncate -s {number} ./{one}",
                f"touch -hd @{number + 1} -- {one}",
            ]
        )
    )


scripts = st.lists(operations(), min_size=1, max_size=6).map("; ".join)


def furnish(folder: Path) -> None:
    """A workspace with folders in folders, symlinks, one of them to a folder, and odd names."""
    for inner in ("docs/docs/a", "a/b", "b", "-dash/docs"):
        (folder / inner).mkdir(parents=True)
    for path in ("docs/a", "docs/b", "docs/docs/b", "docs/docs/a/docs", "a/a", "a/b/a", "new\nline", "-dash/docs/b"):
        (folder / path).write_text(f"{path}\n")
    (folder / "é 'quote").symlink_to("docs")
    (folder / "a" / "docs").symlink_to("../new\nline")
    (folder / "b" / "b").symlink_to("b")
    for path in things(folder):
        os.utime(folder / path, ns=(_MOMENT, _MOMENT), follow_symlinks=False)


def things(folder: Path) -> dict[str, Thing]:
    found = {}
    for base, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(base, name)
            found[str(path.relative_to(folder))] = _thing(path)
    return found


def _thing(path: Path) -> Thing:
    status = path.lstat()
    kind, mode = stat.S_IFMT(status.st_mode), stat.S_IMODE(status.st_mode)
    if stat.S_ISLNK(kind):
        return Thing(kind, mode, os.fsencode(os.readlink(path)), 0)
    if stat.S_ISDIR(kind):
        return Thing(kind, mode, b"", 0)
    return Thing(kind, mode, path.read_bytes(), status.st_mtime_ns)


def without_recent_times(found: dict[str, Thing]) -> dict[str, Thing]:
    """Two runs of one script write at different moments; only times from before them can be the same."""
    return {path: one if one.modified <= _MOMENT else one._replace(modified=-1) for path, one in found.items()}


def run_directly(folder: Path, script: str) -> None:
    argv = ["bash", "--noprofile", "--norc", "-c", script]
    subprocess.run(argv, cwd=folder, env=_ENVIRONMENT, capture_output=True, check=False, timeout=_SECONDS, umask=0o022)


@contextlib.contextmanager
def emptied(folder: Path) -> Iterator[None]:
    """The workspace stays the very same folder, so that its sandbox stays warm."""
    try:
        yield
    finally:
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()


class Arena:
    """A house that lives as long as one test, driven from outside its loop, where hypothesis runs."""

    def __init__(self, opened: Any) -> None:
        self._runner = asyncio.Runner()
        self._opening = opened()
        self.driver: Any = None

    def __enter__(self) -> Arena:
        self.driver = self._runner.run(self._opening.__aenter__())
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.run(self._opening.__aexit__(None, None, None))
        self._runner.close()

    @property
    def workspace(self) -> Path:
        folder = Path(self.driver.house.home.path, "workspace")
        folder.mkdir(exist_ok=True)
        return folder

    def ask(self, command: str, /, **params: Any) -> Any:
        self.driver.clock.advance(1.0)  # nobody asks more often than the house answers
        return self._runner.run(self.driver.ask(command, by="", room="", params=params))


@pytest.fixture
def arena(opened: Any) -> Iterator[Arena]:
    before = os.umask(0o022)
    try:
        with Arena(opened) as arena:
            yield arena
    finally:
        os.umask(before)


@settings(
    max_examples=60,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(script=scripts)
@example(script="rm -rf docs; mkdir -p docs/docs; echo 1 > docs/docs/new")
@example(script="rm -rf docs; mkdir -p docs/docs/a; mv docs b/moved; mv b/moved docs")
@example(script="rm -rf docs; ln -s a docs")
@example(script='rm -f "é \'quote"; mkdir -p "é \'quote"/in; echo 1 > "é \'quote"/in/x')
@example(script="rm -rf a; echo file > a; rm a; mkdir a; ln -s loop a/loop")
@example(script="rm -f docs/a; mkdir docs/a; echo 1 > docs/a/a; chmod 700 docs docs/a")
def test_a_transaction_leaves_what_the_script_itself_would_and_undo_what_was_there(arena: Arena, script: str) -> None:
    workspace = arena.workspace
    with emptied(workspace), tempfile.TemporaryDirectory(dir=workspace.parent) as beside:
        furnish(workspace)
        furnish(Path(beside))
        before = things(workspace)
        run_directly(Path(beside), script)
        outcome = arena.ask("bash", command=script)
        assert outcome.code in ("ok", "command_failed"), outcome
        assert outcome.result is not None, outcome
        after = things(workspace)
        assert without_recent_times(after) == without_recent_times(things(Path(beside)))
        if outcome.result["changes"]["total"] == 0:
            assert after == before
            return
        undone = arena.ask("undo", execution=outcome.call)
        assert undone.status == "done", undone
        assert things(workspace) == before
        again = arena.ask("undo", execution=undone.call)
        assert again.status == "done", again
        assert things(workspace) == after
