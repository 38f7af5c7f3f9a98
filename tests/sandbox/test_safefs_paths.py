"""Paths and symlinks: whatever they say, nothing outside the workspace is opened."""

from __future__ import annotations

import errno
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from safefs_workspace import LARGEST, everything, make_workspace, put

from doorward.core.errors import BadParams, DoorwardError, Unusable
from doorward.sandbox.safefs import SafeRoot, normalize_path
from doorward.sandbox.safefs.root import MAX_PATH_BYTES
from waiting import PATIENCE


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return make_workspace(tmp_path)


@pytest.fixture
def root(workspace: Path) -> Iterator[SafeRoot]:
    with SafeRoot(workspace) as opened:
        yield opened


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
