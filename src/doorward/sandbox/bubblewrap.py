"""The command line of bubblewrap that makes the surroundings of one profile: what is not in it does not exist there."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

from doorward.sandbox import view
from doorward.sandbox.grants import Grant
from doorward.sandbox.profile import Profile

PASSWD, GROUP = 4, 5
"""The descriptors on which bubblewrap reads the two files it makes."""

HOW_TO_INSTALL = "Install it with `apt install bubblewrap`, or with dnf, pacman, apk or zypper where those are."


def find() -> str | None:
    return shutil.which("bwrap")


def command(bwrap: str, profile: Profile, readable: Sequence[str]) -> list[str]:
    """Everything up to the program to run."""
    # The zygote needs powers inside its own user namespace to make workers; workers give them up.
    words = [*_namespaces(bwrap, network=profile.network), "--cap-add", "ALL", "--as-pid-1"]
    words += _system(network=profile.network)
    for folder in readable:
        words += ("--ro-bind-try", folder, folder)
    words += ("--dev", "/dev", "--remount-ro", "/dev")
    # Seen only by the zygote: each worker puts its own /proc and /tmp over these before it runs anything.
    words += ("--bind", "/proc", "/proc", "--dir", "/tmp", "--dir", view.LAYERS)
    words += ("--ro-bind", view.inside(), f"{view.INSIDE}/inside")
    # Workers whose programs only read it, or have a view of their own, make it read-only for themselves.
    words += ("--bind", profile.workspace, view.WORKSPACE)
    words += ("--remount-ro", "/", "--chdir", view.WORKSPACE)
    return words


def kept_command(bwrap: str, grants: Sequence[Grant], temporary: str, *, network: bool, proc: bool) -> list[str]:
    """The same for a program that stays. Bubblewrap itself is the first process, and buries what the program leaves."""
    words = [*_namespaces(bwrap, network=network), "--cap-drop", "ALL"]
    words += _system(network=network)
    words += ("--dev", "/dev", *(("--proc", "/proc", "--remount-ro", "/proc") if proc else ("--dir", "/proc")))
    words += ("--bind", temporary, "/tmp", "--bind", temporary, "/dev/shm", "--remount-ro", "/dev")
    words += ("--ro-bind", view.inside(), f"{view.INSIDE}/inside")
    for grant in grants:
        words += ("--bind" if grant.writable else "--ro-bind", grant.source, grant.at)
    words += ("--remount-ro", "/", "--chdir", "/")
    return words


def _namespaces(bwrap: str, *, network: bool) -> list[str]:
    return [
        bwrap,
        *("--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try"),
        *(() if network else ("--unshare-net",)),
        *("--uid", str(view.USER), "--gid", str(view.USER), "--hostname", "sandbox"),
        *("--die-with-parent", "--clearenv"),
    ]


def _system(*, network: bool) -> list[str]:
    """The system's programs and libraries, and our own Python."""
    words = []
    for folder in view.system_folders():
        words += ["--ro-bind", folder, folder]
    for link, target in view.system_links():
        words += ["--symlink", target, link]
    for file in view.etc_files(network=network):
        words += ["--ro-bind", file, file]
    words += ["--ro-bind-data", str(PASSWD), "/etc/passwd", "--ro-bind-data", str(GROUP), "/etc/group"]
    _, prefix = view.python()
    words += ["--ro-bind-try", prefix, prefix]
    return words
