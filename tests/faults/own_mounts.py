"""Runs a script that may mount file systems, where nobody else sees them and none stays behind."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

_WAYS = (
    ["unshare", "--mount", "--propagation", "private"],
    ["unshare", "--user", "--map-root-user", "--mount", "--propagation", "private"],
)
"""As root, else in a user namespace of one's own."""


def run(script: Path, *arguments: object) -> None:
    """Run it to its end; what it asserts is asserted here too."""
    done = subprocess.run(
        [*_way(), sys.executable, script, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        check=False,
    )
    assert done.returncode == 0, f"{script.name} {arguments}:\n{done.stdout}\n{done.stderr}"


def mount(folder: Path, options: str) -> None:
    """Inside such a script: a small disk of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True)


def remount(folder: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", folder], check=True)


def _way() -> list[str]:
    assert shutil.which("unshare"), "this test needs `unshare` (util-linux) to mount a small disk of its own"
    tried = []
    for way in _WAYS if os.geteuid() == 0 else _WAYS[1:]:
        trial = [*way, "sh", "-c", "mount -t tmpfs -o size=64k tmpfs /mnt"]
        done = subprocess.run(trial, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return way
        tried.append(f"{' '.join(trial)}: {done.stderr.strip()}")
    raise AssertionError(f"this machine lets nobody mount a small disk, which this test needs: {'; '.join(tried)}")
