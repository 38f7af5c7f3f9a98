"""What a program changes on a copy-on-write view is read whole, and the workspace stays as it was."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from doorward.config.settings import Settings
from doorward.sandbox import overlay_changes as changes_
from doorward.sandbox import view
from doorward.sandbox.overlay_changes import OverlayChanges, TooManyChanges, UnreadableChanges
from doorward.sandbox.program import Program, SandboxProfile
from doorward.sandbox.sandbox import Sandbox

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def sandbox(anyio_backend: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Sandbox]:
    """One for all tests, each of which has a workspace of its own."""
    sandbox = Sandbox(tmp_path_factory.mktemp("home"), Settings())
    yield sandbox
    await sandbox.close()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    (folder / "docs" / "old").mkdir(parents=True)
    (folder / "notes.txt").write_text("one\n")
    (folder / "docs" / "a.md").write_text("a\n")
    (folder / "docs" / "old" / "b.md").write_text("b\n")
    (folder / "run.sh").write_text("true\n")
    (folder / "link").symlink_to("notes.txt")
    os.mkfifo(folder / "pipe")
    return folder


async def changed(sandbox: Sandbox, workspace: Path, script: str) -> OverlayChanges:
    before = sorted(_listing(workspace))
    ended, changes = await sandbox.run_on_copy(
        SandboxProfile(str(workspace), "write"), Program(argv=("bash", "-c", script))
    )
    assert (ended.exit_code, ended.stderr) == (0, b"")
    assert sorted(_listing(workspace)) == before
    return changes


def _listing(folder: Path) -> list[tuple[str, int, bytes]]:
    return [
        (str(path), path.lstat().st_mode, path.read_bytes() if path.is_file() and not path.is_symlink() else b"")
        for path in folder.rglob("*")
    ]


def words(changes: OverlayChanges) -> list[str]:
    """One word for each change: + come, - gone, ~ changed."""
    return [f"{'+' if one.before is None else '-' if one.after is None else '~'}{one.path}" for one in changes.items]


CASES: list[tuple[str, list[str]]] = [
    ("cat notes.txt > /dev/null", []),
    ("touch notes.txt", ["~notes.txt"]),
    ("touch -r notes.txt notes.txt", []),
    ("echo new > new.txt", ["+new.txt"]),
    ("echo two >> notes.txt", ["~notes.txt"]),
    ("rm notes.txt", ["-notes.txt"]),
    ("echo x > temporary; rm temporary", []),
    ("cp -p notes.txt n; rm notes.txt; cp -p n notes.txt; rm n", []),
    ("mkdir -p x/y; echo z > x/y/z", ["+x", "+x/y", "+x/y/z"]),
    ("rm -r docs", ["-docs/a.md", "-docs/old/b.md", "-docs/old", "-docs"]),
    ("rm -r docs; mkdir docs", ["-docs/a.md", "-docs/old/b.md", "-docs/old"]),
    ("rm -r docs; mkdir docs; echo c > docs/c", ["-docs/a.md", "-docs/old/b.md", "-docs/old", "+docs/c"]),
    ("rm -r docs; echo file > docs", ["-docs/a.md", "-docs/old/b.md", "-docs/old", "~docs"]),
    ("rm notes.txt; mkdir notes.txt; echo in > notes.txt/in", ["~notes.txt", "+notes.txt/in"]),
    (
        "mv docs papers",
        [
            "-docs/a.md",
            "-docs/old/b.md",
            "-docs/old",
            "-docs",
            "+papers",
            "+papers/a.md",
            "+papers/old",
            "+papers/old/b.md",
        ],
    ),
    ("mv notes.txt other.txt", ["-notes.txt", "+other.txt"]),
    ("chmod 755 run.sh", ["~run.sh"]),
    ("chmod 700 docs", ["~docs"]),
    ("ln -s docs/a.md short", ["+short"]),
    ("ln -sfn docs link", ["~link"]),
    ("rm link; echo file > link", ["~link"]),
    ("ln notes.txt hard; echo more >> hard", ["+hard", "~notes.txt"]),
    ("rm pipe", ["-pipe"]),
    ("printf 'a\\0b' > 'odd name\n.bin'", ["+odd name\n.bin"]),
]


@pytest.mark.parametrize(("script", "expected"), CASES, ids=[script for script, _ in CASES])
async def test_every_kind_of_change_is_read(
    sandbox: Sandbox, workspace: Path, script: str, expected: list[str]
) -> None:
    assert words(await changed(sandbox, workspace, script)) == expected


async def test_a_change_holds_what_was_there_and_what_comes(sandbox: Sandbox, workspace: Path) -> None:
    (one,) = (await changed(sandbox, workspace, "echo two >> notes.txt; chmod 600 notes.txt")).items
    assert one.before is not None
    assert one.after is not None
    assert (one.before.kind, one.before.content) == ("file", b"one\n")
    assert (one.after.kind, one.after.mode, one.after.content) == ("file", 0o600, b"one\ntwo\n")


async def test_pipes_and_sockets_that_are_made_are_named_and_left_out(sandbox: Sandbox, workspace: Path) -> None:
    changes = await changed(sandbox, workspace, "mkfifo made")
    assert (changes.items, changes.left_out) == ([], ["made"])


async def test_what_is_replaced_beyond_what_is_kept_is_only_recognised(sandbox: Sandbox, workspace: Path) -> None:
    (workspace / "large").write_bytes(b"x" * (Settings().sandbox.scratch_bytes + 1))
    (one,) = (await changed(sandbox, workspace, "rm large")).items
    assert one.before is not None
    assert (one.before.content, one.before.size) == (None, Settings().sandbox.scratch_bytes + 1)


async def test_more_changes_than_can_be_followed_are_refused(
    sandbox: Sandbox, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes_, "MOST_PATHS", 3)
    with pytest.raises(UnreadableChanges) as refused:
        await changed(sandbox, workspace, "touch 1 2 3 4")
    assert isinstance(refused.value.why, TooManyChanges)
    assert refused.value.ended.exit_code == 0


async def test_a_program_cannot_write_more_than_its_view_holds(sandbox: Sandbox, workspace: Path) -> None:
    script = "for n in $(seq 20); do head -c 9000000 /dev/zero > big$n || exit 7; done"
    ended, _ = await sandbox.run_on_copy(SandboxProfile(str(workspace), "write"), Program(argv=("bash", "-c", script)))
    assert ended.exit_code == 7
    assert b"No space left" in ended.stderr


async def test_each_program_sees_only_its_own_changes(sandbox: Sandbox, workspace: Path) -> None:
    await changed(sandbox, workspace, "echo first > mine")
    assert words(await changed(sandbox, workspace, "ls mine 2>/dev/null || echo second > yours")) == ["+yours"]


async def test_reading_changes_leaves_no_descriptor_behind(sandbox: Sandbox, workspace: Path) -> None:
    await changed(sandbox, workspace, "true")
    open_before = set(os.listdir("/proc/self/fd"))
    for _ in range(3):
        await changed(sandbox, workspace, "rm -r docs; echo x > docs")
    assert len(os.listdir("/proc/self/fd")) <= len(open_before)


@pytest.mark.parametrize("files", ["read", "write", "copy"])
async def test_nothing_tells_a_program_where_the_workspace_is_outside(
    sandbox: Sandbox, workspace: Path, files: str
) -> None:
    script = "cat /proc/[0-9]*/mount* /proc/mounts; readlink -f /proc/self/cwd /proc/self/root; ls; df ."
    program = Program(argv=("bash", "-c", script))
    if files == "copy":
        ended, _ = await sandbox.run_on_copy(SandboxProfile(str(workspace), "write"), program)
    else:
        ended = await sandbox.run(SandboxProfile(str(workspace), "read" if files == "read" else "write"), program)
    said = ended.stdout + ended.stderr
    assert b"/workspace\n/\n" in said
    assert b"notes.txt" in said
    assert os.fsencode(workspace.parent.name) not in said
    assert os.fsencode(view.helper_code_folder()) not in said
