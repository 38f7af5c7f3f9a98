"""Whatever a path says and whatever lies in the workspace, nothing outside is opened."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import resource
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorward.core.errors import BadParams, CommandFailed, Conflict, DoorwardError, NotFound, Unusable
from doorward.sandbox.safefs import SafeRoot, normalize_path
from doorward.sandbox.safefs.root import MAX_PATH_BYTES
from waiting import PATIENCE

LARGEST = 1_000_000


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("outside")
    evil = tmp_path / "workspace-evil"
    evil.mkdir()
    (evil / "secret").write_text("evil")
    return folder


@pytest.fixture
def root(workspace: Path) -> Iterator[SafeRoot]:
    with SafeRoot(workspace) as opened:
        yield opened


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


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/etc/passwd",
        "//etc",
        "..",
        "../x",
        "a/../../x",
        "./../x",
        "a/b/../../../x",
        "../workspace-evil/secret",
        "a\x00b",
        "a\nb",
        "a\x1bb",
        "a\x7fb",
        "a\x85b",
        "a\udcffb",
        "a/" * 3_000,
        "é" * 2_100,
    ],
)
def test_a_path_that_cannot_be_inside_is_refused(path: str) -> None:
    with pytest.raises(BadParams) as refusal:
        normalize_path(path)
    assert str(refusal.value).isprintable()
    assert str(refusal.value).endswith(".")
    str(refusal.value).encode()


@pytest.mark.parametrize(
    ("path", "one_spelling"),
    [
        (".", "."),
        ("./", "."),
        ("a/..", "."),
        ("a//b/./c", "a/b/c"),
        ("a/", "a"),
        ("a/../b", "b"),
        ("...", "..."),
        ("naïve/日本語.txt", "naïve/日本語.txt"),
        ("-rf", "-rf"),
        ("a\\b", "a\\b"),
    ],
)
def test_a_path_has_one_spelling(path: str, one_spelling: str) -> None:
    assert normalize_path(path) == one_spelling


@pytest.mark.parametrize("path", [".", "a/", "a/.", "a/b/..", "./", "a/.."])
def test_a_folder_is_refused_where_a_file_is_needed(path: str) -> None:
    with pytest.raises(BadParams, match="folder"):
        normalize_path(path, file=True)


@given(st.text(alphabet=st.sampled_from("a/.\x00é"), max_size=40))
def test_no_accepted_path_climbs(path: str) -> None:
    try:
        accepted = normalize_path(path)
    except BadParams:
        return
    assert not accepted.startswith("/")
    assert ".." not in accepted.split("/")
    assert normalize_path(accepted) == accepted
    assert len(accepted.encode()) <= MAX_PATH_BYTES


@pytest.mark.parametrize(
    "target", ["../outside/secret", "{outside}/secret", "loop", "/proc/self/fd/0", "/etc/hostname"]
)
def test_a_symlink_that_leads_out_is_refused_for_reading(root: SafeRoot, workspace: Path, target: str) -> None:
    (workspace / "loop").symlink_to("loop")
    (workspace / "link").symlink_to(target.format(outside=workspace.parent / "outside"))
    with pytest.raises(BadParams, match="symlink"):
        root.read("link", LARGEST)


@pytest.mark.parametrize("target", ["../outside", "../workspace-evil", "inner/../../outside"])
def test_a_symlinked_folder_that_leads_out_is_refused_for_everything(
    root: SafeRoot, workspace: Path, target: str
) -> None:
    (workspace / "inner").mkdir()
    (workspace / "d").symlink_to(target)
    before = everything(workspace.parent)
    with pytest.raises(BadParams):
        root.read("d/secret", LARGEST)
    with pytest.raises(BadParams):
        put(root, "d/secret", b"changed")
    with pytest.raises(BadParams):
        put(root, "d/new/deep/file", b"made")
    with pytest.raises(BadParams):
        root.stat("d/secret")
    with pytest.raises(BadParams):
        list(root.walk("d", recursive=True, hidden=True))
    assert everything(workspace.parent) == before
    assert (workspace.parent / "outside" / "secret").read_text() == "outside"


def test_the_folders_of_other_processes_are_not_reached_through_magic_links() -> None:
    with SafeRoot(Path("/proc/self")) as proc:
        for path in ("root/etc/hostname", "cwd/pyproject.toml", "exe", "fd/0"):
            with pytest.raises(DoorwardError):
                proc.read(path, LARGEST)


def test_a_symlink_that_stays_inside_may_be_read_but_not_written(root: SafeRoot, workspace: Path) -> None:
    (workspace / "real").write_text("inside")
    (workspace / "link").symlink_to("real")
    assert root.read("link", LARGEST).data == b"inside"
    with pytest.raises(BadParams, match="is a symlink"):
        put(root, "link", b"changed")
    assert (workspace / "real").read_text() == "inside"
    assert (workspace / "link").is_symlink()


def test_a_dangling_symlink_is_never_written_through(root: SafeRoot, workspace: Path) -> None:
    (workspace / "link").symlink_to("../outside/new")
    (workspace / "folder").symlink_to("../outside/missing")
    for path in ("link", "folder/x"):
        with pytest.raises(DoorwardError):
            put(root, path, b"out")
    assert everything(workspace.parent / "outside") == ["secret"]


def test_a_symlinked_folder_that_stays_inside_can_be_written_into(root: SafeRoot, workspace: Path) -> None:
    (workspace / "a" / "b").mkdir(parents=True)
    (workspace / "c").mkdir()
    (workspace / "c" / "link").symlink_to("../a/b")
    put(root, "c/link/deep/file", b"here")
    assert (workspace / "a" / "b" / "deep" / "file").read_bytes() == b"here"


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


def test_a_workspace_that_is_missing_or_no_folder_is_unusable(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "missing", tmp_path / "file"):
        with pytest.raises(Unusable, match="workspace"):
            SafeRoot(folder)


WITHOUT_OPENAT2 = """
import ctypes, errno, pathlib, struct, sys
from doorward.sandbox.safefs.root import SafeRoot
from doorward.core.errors import Unusable

LOAD_NUMBER, IF_EQUAL, RETURN = 0x20, 0x15, 0x06
filter = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in (
    (LOAD_NUMBER, 0, 0, 0),
    (IF_EQUAL, 0, 1, 437),
    (RETURN, 0, 0, 0x00050000 | int(sys.argv[1])),
    (RETURN, 0, 0, 0x7FFF0000),
)))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 4, ctypes.addressof(filter)))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program) == 0
try:
    SafeRoot(pathlib.Path.cwd())
except Unusable as refusal:
    print(refusal)
"""


@pytest.mark.parametrize("error", [errno.ENOSYS, errno.EPERM])
def test_a_system_without_openat2_is_refused_rather_than_trusted(error: int) -> None:
    said = subprocess.run(
        [sys.executable, "-c", WITHOUT_OPENAT2, str(error)],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    assert "openat2 is not available" in said.stdout
