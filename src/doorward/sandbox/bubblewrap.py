"""Command lines for bubblewrap. A path that is not mounted here does not exist inside the sandbox."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

from doorward.sandbox import view
from doorward.sandbox.grants import Grant
from doorward.sandbox.profile import Profile

PASSWD, GROUP = 4, 5
"""Descriptors from which bubblewrap reads the content of /etc/passwd and /etc/group."""

HOW_TO_INSTALL = "Install bubblewrap with your package manager, for example `apt install bubblewrap`."


def find() -> str | None:
    return shutil.which("bwrap")


def command(bwrap: str, profile: Profile, readable: Sequence[str]) -> list[str]:
    """Build the command line for a zygote, up to the program to run."""
    # The zygote needs capabilities in its own user namespace to create workers; workers drop them.
    words = [*_namespaces(bwrap, network=profile.network), "--cap-add", "ALL", "--as-pid-1"]
    words += _system(network=profile.network)
    for folder in readable:
        words += ("--ro-bind-try", folder, folder)
    words += ("--dev", "/dev", "--remount-ro", "/dev")
    # Only the zygote sees these: each worker mounts its own /proc and /tmp over them before it runs a program.
    words += ("--bind", "/proc", "/proc", "--dir", "/tmp", "--dir", view.LAYERS)
    words += ("--ro-bind", view.inside(), f"{view.INSIDE}/inside")
    # Read-only and copy-on-write workers remount the workspace for themselves.
    words += ("--bind", profile.workspace, view.WORKSPACE)
    words += ("--remount-ro", "/", "--chdir", view.WORKSPACE)
    return words


def kept_command(bwrap: str, grants: Sequence[Grant], temporary: str, *, network: bool, proc: bool) -> list[str]:
    """Build the command line for a long-running program. Bubblewrap stays as PID 1 and reaps orphans."""
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
    """Mounts for the system's programs and libraries, and for Doorward's Python."""
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
