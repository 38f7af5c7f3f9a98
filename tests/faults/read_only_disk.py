"""What the real command says on a disk that cannot be written; run by test_broken_home.py where it may mount one."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import own_mounts
from test_broken_home import LIST, UP, VERIFY, complains, digest, doorward


def main(disk: Path, template: Path) -> None:
    own_mounts.mount(disk, "size=20m,mode=755")
    home = Path(shutil.copytree(template, disk / "home"))
    own_mounts.remount(disk, "ro")
    before = digest(home / "doorward.db")
    for arguments in (LIST, UP, ("init",)):
        complains(doorward(home, *arguments), 5, "Read-only file system", "writable")
        complains(doorward(disk / "another", *arguments), 5, "Read-only file system", "DOORWARD_HOME")
    verified = doorward(home, *VERIFY)
    assert verified.returncode == 0, verified.stderr
    assert digest(home / "doorward.db") == before
    own_mounts.remount(disk, "rw")
    assert doorward(home, *LIST).returncode == 0


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
