"""Files of the workspace: what is no plain file is refused, and a write is whole or leaves nothing."""

from __future__ import annotations

import os
import resource
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from safefs_workspace import LARGEST, everything, make_workspace, put, without_privileges

from doorward.core.errors import BadParams, CommandFailed, Conflict, DoorwardError, NotFound
from doorward.sandbox.safefs import SafeRoot


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return make_workspace(tmp_path)


@pytest.fixture
def root(workspace: Path) -> Iterator[SafeRoot]:
    with SafeRoot(workspace) as opened:
        yield opened


def test_a_pipe_a_socket_and_a_folder_are_refused_at_once(root: SafeRoot, workspace: Path) -> None:
    os.mkfifo(workspace / "pipe")
    (workspace / "folder").mkdir()
    here = Path.cwd()
    with socket.socket(socket.AF_UNIX) as door:
        os.chdir(workspace)
        try:
            door.bind("socket")
        finally:
            os.chdir(here)
        for path in ("pipe", "socket"):
            with pytest.raises(BadParams, match="only regular files"):
                root.read(path, LARGEST)
            with pytest.raises(BadParams, match="only regular files"):
                put(root, path, b"x")
    with pytest.raises(BadParams, match="folder"):
        put(root, "folder", b"x")
    assert everything(workspace) == ["folder", "pipe", "socket"]


def test_a_device_is_refused() -> None:
    with SafeRoot(Path("/dev")) as devices, pytest.raises(BadParams, match="only regular files"):
        devices.read("zero", LARGEST)


def test_a_file_in_the_place_of_a_folder_is_refused(root: SafeRoot, workspace: Path) -> None:
    (workspace / "file").write_text("x")
    for act in (lambda: root.read("file/x", 9), lambda: put(root, "file/x", b""), lambda: root.stat("file/x")):
        with pytest.raises(BadParams, match="not a folder"):
            act()


def test_a_name_too_long_for_the_disk_is_refused(root: SafeRoot) -> None:
    with pytest.raises(BadParams, match="too long"):
        put(root, "n" * 256, b"x")


def test_a_replaced_file_keeps_its_mode_but_never_its_privileges(root: SafeRoot, workspace: Path) -> None:
    (workspace / "script").write_text("old")
    (workspace / "script").chmod(0o6751)
    put(root, "script", b"new")
    assert (workspace / "script").read_bytes() == b"new"
    assert stat.S_IMODE((workspace / "script").stat().st_mode) == 0o751


def test_a_replaced_hard_link_leaves_the_other_name_alone(root: SafeRoot, workspace: Path) -> None:
    os.link(workspace.parent / "outside" / "secret", workspace / "twin")
    put(root, "twin", b"changed")
    assert (workspace.parent / "outside" / "secret").read_text() == "outside"


def test_what_is_not_committed_leaves_nothing_behind(root: SafeRoot, workspace: Path) -> None:
    with root.stage("a/b/c", b"never", present=None, parents=True):
        assert everything(workspace) == ["a", "a/b"]
    assert everything(workspace) == []


def test_without_parents_a_missing_folder_is_refused(root: SafeRoot, workspace: Path) -> None:
    with pytest.raises(NotFound):
        put(root, "a/b", b"x", parents=False)
    assert everything(workspace) == []


def test_a_file_that_changes_before_the_commit_is_not_overwritten(root: SafeRoot, workspace: Path) -> None:
    (workspace / "file").write_text("one")
    seen = root.read("file", LARGEST)
    with root.stage("file", b"mine", present=seen.mark, parents=False) as staged:
        (workspace / "file").write_text("somebody else's")
        with pytest.raises(Conflict):
            staged.commit()
    with root.stage("new", b"mine", present=None, parents=False) as staged:
        (workspace / "new").write_text("somebody else's")
        with pytest.raises(Conflict):
            staged.commit()
    assert (workspace / "file").read_text() == (workspace / "new").read_text() == "somebody else's"
    assert everything(workspace) == ["file", "new"]


def test_a_removed_file_is_gone_and_can_be_made_again(root: SafeRoot, workspace: Path) -> None:
    put(root, "file", b"x")
    put(root, "file", None)
    assert root.read_existing("file", LARGEST) is None
    put(root, "file", b"y")
    assert (workspace / "file").read_bytes() == b"y"


def test_a_file_over_the_limit_is_refused_with_its_size(root: SafeRoot, workspace: Path) -> None:
    with (workspace / "huge").open("wb") as file:
        file.truncate(50_000_000_000)
    with pytest.raises(BadParams, match="50000000000 bytes"):
        root.read("huge", LARGEST)
    (workspace / "fits").write_bytes(b"x" * 10)
    assert root.read("fits", 10).data == b"x" * 10
    with pytest.raises(BadParams, match="at most 9"):
        root.read("fits", 9)


def test_a_file_that_hides_its_size_is_read_no_further_than_the_limit() -> None:
    with SafeRoot(Path("/proc/self")) as proc, pytest.raises(BadParams, match="at most 5"):
        proc.read("maps", 5)


def test_a_folder_without_permission_fails_with_a_sentence(root: SafeRoot, workspace: Path) -> None:
    (workspace / "locked").mkdir()
    (workspace / "locked" / "file").write_text("x")
    (workspace / "locked" / "file").chmod(0o400)
    (workspace / "locked").chmod(0o555)
    with without_privileges():
        with pytest.raises(CommandFailed, match="permissions"):
            put(root, "locked/new", b"x")
        with pytest.raises(CommandFailed, match="permissions"):
            put(root, "locked/deep/new", b"x")
    assert everything(workspace) == ["locked", "locked/file"]


def test_a_read_only_file_is_not_replaced(root: SafeRoot, workspace: Path) -> None:
    (workspace / "kept").write_text("x")
    (workspace / "kept").chmod(0o444)
    workspace.chmod(0o777)
    with without_privileges(), pytest.raises(CommandFailed, match="permissions"):
        put(root, "kept", b"y")
    assert everything(workspace) == ["kept"]
    assert (workspace / "kept").read_text() == "x"


def test_a_disk_that_takes_no_more_leaves_the_old_file_and_no_other(root: SafeRoot, workspace: Path) -> None:
    put(root, "file", b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, hard))
    try:
        with pytest.raises(CommandFailed, match="size"):
            put(root, "file", b"x" * 5_000)
        with pytest.raises(CommandFailed, match="size"):
            put(root, "made/for/it", b"x" * 5_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert everything(workspace) == ["file"]
    assert (workspace / "file").read_bytes() == b"old"


def test_a_walk_goes_by_name_and_follows_no_symlink(root: SafeRoot, workspace: Path) -> None:
    for path in ("b/2", "b/1", "a", ".hidden/x", "c"):
        put(root, path, b"x")
    (workspace / "b" / "out").symlink_to("../../outside")
    (workspace / "b" / "up").symlink_to("..")
    walk = root.walk(".", recursive=True, hidden=False)
    found = [(entry.path, entry.kind) for entry in walk]
    assert found == [
        ("a", "file"),
        ("b", "folder"),
        ("b/1", "file"),
        ("b/2", "file"),
        ("b/out", "symlink"),
        ("b/up", "symlink"),
        ("c", "file"),
    ]
    assert walk.left_out == 1
    assert [entry.path for entry in root.walk("b", recursive=False, hidden=True)] == ["b/1", "b/2", "b/out", "b/up"]


def test_a_walk_passes_by_folders_it_may_not_enter(root: SafeRoot, workspace: Path) -> None:
    (workspace / "closed").mkdir(mode=0o700)
    (workspace / "closed").chmod(0)
    put(root, "open/file", b"x")
    workspace.chmod(0o755)
    with without_privileges():
        walk = root.walk(".", recursive=True, hidden=False)
        assert [entry.path for entry in walk] == ["closed", "open", "open/file"]
    assert walk.unreadable == 1


def test_descriptors_are_closed_again(root: SafeRoot, workspace: Path) -> None:
    def descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))

    (workspace / "out").symlink_to("../outside")
    before = descriptors()
    for number in range(20):
        put(root, f"deep/{number}/file", b"x")
        for path in ("out/secret", "missing", "deep"):
            with pytest.raises(DoorwardError):
                root.read(path, LARGEST)
        with pytest.raises(DoorwardError):
            put(root, "out/x/y", b"x")
        next(iter(root.walk(".", recursive=True, hidden=True)))
    assert descriptors() == before
