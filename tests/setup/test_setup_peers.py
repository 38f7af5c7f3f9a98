"""Setting up the gateways that the bench measures beside Doorward, with a uv that does what each test says."""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from pathlib import Path

from waiting import PATIENCE

MAKE = 'venv*) mkdir -p "$6" ;;'
"""An environment, as the script asks for one."""
ROOT = Path(__file__).parents[2]
SH = shutil.which("sh") or "/bin/sh"


def set_up(folder: Path, uv: str) -> tuple[Path, str]:
    """What the script leaves, and says, with this body of uv. It must not fail: what is measured without goes on."""
    bin = folder / "bin"
    bin.mkdir()
    (bin / "uv").write_text(f"#!{SH}\n{uv}\n")
    (bin / "uv").chmod(0o755)
    words = [SH, ROOT / "setup" / "peers.sh", bin, folder / "peers", "one", "other"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout) == (0, ""), done
    return folder / "peers", done.stderr


def test_an_installation_that_works_leaves_its_stamp(tmp_path: Path) -> None:
    left, _ = set_up(tmp_path, f'case "$*" in {MAKE} esac')
    assert (left / "ready").exists()
    assert (left / "other").is_dir()


def test_only_what_is_locked_with_a_hash_is_installed(tmp_path: Path) -> None:
    left, _ = set_up(tmp_path, 'case "$*" in venv*|*--require-hashes*lock/peer-*.txt) exit 0;; *) exit 9;; esac')
    assert (left / "ready").exists()


def test_one_that_cannot_be_installed_is_named_with_the_reason_and_the_other_is_there(tmp_path: Path) -> None:
    left, said = set_up(tmp_path, f'case "$*" in {MAKE} *peer-one*) echo no network >&2; exit 2;; esac')
    assert "one is not installed, and so its numbers will be missing" in said
    assert "uv said: no network" in said
    assert "other is not" not in said
    assert [one.name for one in left.iterdir()] == ["other"]


def test_every_peer_has_a_lock_with_one_version_and_a_hash_and_no_address() -> None:
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    peers = [name for name in groups if name.startswith("peer-")]
    assert sorted(f"{name}.txt" for name in peers) == sorted(one.name for one in (ROOT / "lock").glob("peer-*.txt"))
    for name in peers:
        locked = (ROOT / "lock" / f"{name}.txt").read_text()
        assert f"\n{name.removeprefix('peer-')}==" in locked
        assert locked.count("--hash=sha256:") >= locked.count("==") >= 1
        assert "://" not in locked
