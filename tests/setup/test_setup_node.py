"""Setting up the Node programs that the tests need, with an npm that does what each test says."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import node_peers
from waiting import PATIENCE

ROOT = Path(__file__).parents[2]
SH = shutil.which("sh") or "/bin/sh"
LOCKED = ROOT / "tests" / "conformance"


def set_up(folder: Path, npm: str) -> tuple[Path, str]:
    """What the script leaves, and says, with this body of npm. It must not fail: what needs no Node goes on."""
    bin = folder / "bin"
    bin.mkdir()
    (bin / "npm").write_text(f"#!{SH}\n{npm}\n")
    (bin / "npm").chmod(0o755)
    beside = folder / "tests" / "conformance"
    shutil.copytree(LOCKED, beside, ignore=lambda _, names: [name for name in names if not name.endswith(".json")])
    words = [SH, ROOT / "setup" / "node.sh", bin, folder / "node", "tests/conformance", "Peers", "--omit=optional"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout) == (0, ""), done
    return folder / "node", done.stderr


def test_an_installation_that_works_leaves_its_stamp_and_no_problem(tmp_path: Path) -> None:
    left, _ = set_up(tmp_path, 'case "$1" in ci) exit 0;; *) exit 9;; esac')
    assert (left / "ready").exists()
    assert not (left / "problem").exists()
    assert (left / "package-lock.json").read_bytes() == (LOCKED / "package-lock.json").read_bytes()


def test_packages_run_nothing_of_their_own(tmp_path: Path) -> None:
    left, _ = set_up(tmp_path, 'case "$*" in *--ignore-scripts*--omit=optional*) exit 0;; *) exit 9;; esac')
    assert (left / "ready").exists()


def test_without_a_registry_it_says_so_and_leaves_no_stamp(tmp_path: Path) -> None:
    left, said = set_up(tmp_path, "echo Exit handler never called >&2; exit 1")
    assert "npm cannot reach its registry" in said
    assert "npm cannot reach its registry" in (left / "problem").read_text()
    assert not (left / "ready").exists()


def test_another_failure_is_told_in_npms_own_words(tmp_path: Path) -> None:
    left, said = set_up(tmp_path, 'case "$1" in ping) exit 0;; *) echo "npm error code EINTEGRITY" >&2; exit 1;; esac')
    assert "npm ci ended with 1: npm error code EINTEGRITY" in said
    assert not (left / "ready").exists()


def test_a_test_that_needs_what_is_not_installed_fails_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_peers, "FOLDER", tmp_path)
    with pytest.raises(AssertionError, match="is not installed"):
        node_peers.package(node_peers.INSPECTOR)
    (tmp_path / "problem").write_text("npm cannot reach its registry.\n")
    with pytest.raises(AssertionError, match="npm cannot reach its registry"):
        node_peers.package(node_peers.INSPECTOR)


@pytest.mark.parametrize("folder", ["conformance", "clients"])
def test_every_locked_package_has_one_version_and_a_hash_and_no_address(folder: str) -> None:
    beside = LOCKED.with_name(folder)
    wanted = json.loads((beside / "package.json").read_text())["dependencies"]
    locked = json.loads((beside / "package-lock.json").read_text())["packages"]
    assert locked.pop("")["dependencies"] == wanted
    assert all(version[0].isdigit() for version in wanted.values())
    for name, package in locked.items():
        assert package["version"], name
        assert package["integrity"].startswith("sha512-"), name
        assert "resolved" not in package, name
