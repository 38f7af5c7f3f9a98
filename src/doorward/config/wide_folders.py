"""Folders that hold far more than one project: the root, the system's folders and whole home folders."""

from __future__ import annotations

import contextlib
import os
import pwd
from pathlib import Path

_TREES = ("/bin", "/boot", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/sbin", "/sys", "/System")
"""System folders that are wide with everything in them."""
_SYSTEM_FOLDERS = (
    *("/Applications", "/Library", "/Volumes", "/private", "/private/etc", "/private/tmp", "/private/var"),
    *("/dev", "/dev/shm", "/media", "/mnt", "/nix", "/opt", "/run", "/snap", "/srv", "/tmp", "/usr", "/var"),  # noqa: S108 - names only
)
_SHARED_FOLDERS = ("/usr", "/usr/local", "/var", "/run")
"""System folders whose direct subfolders are system folders too."""
_HOME_PARENTS = ("/home", "/Users")


def describe_wide(folder: Path) -> str:
    """Why a folder is too wide to be a workspace without being asked for, as a clause; empty if it is not."""
    path = Path(os.path.realpath(folder))
    if path == Path("/"):
        return "is the whole file system"
    if any(home.is_relative_to(path) for home in _own_homes()):
        return "is or contains a whole home folder"
    if str(path) in (*_HOME_PARENTS, "/root") or str(path.parent) in _HOME_PARENTS:
        return "is or contains a whole home folder"
    is_system = (
        str(path) in _SYSTEM_FOLDERS
        or str(path.parent) in _SHARED_FOLDERS
        or any(path.is_relative_to(tree) for tree in _TREES)
    )
    return "is a system folder" if is_system else ""


def _own_homes() -> list[Path]:
    """The home folder of this account, by the environment and by the system."""
    found = [os.path.expanduser("~")]
    with contextlib.suppress(KeyError):  # an account without an entry, as in some containers
        found.append(pwd.getpwuid(os.getuid()).pw_dir)
    return [Path(os.path.realpath(one)) for one in found if one and one != "/"]
