"""Command lines for bubblewrap. A path that is not mounted here does not exist inside the sandbox."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

from doorward.sandbox import view
from doorward.sandbox.draft_size import CACHE
from doorward.sandbox.grants import Grant
from doorward.sandbox.program import SandboxProfile

PASSWD_FD, GROUP_FD, HOSTS_FD = 4, 5, 6
"""Descriptors from which bubblewrap reads the content of /etc/passwd, /etc/group and /etc/hosts."""

INSTALL_HINT = "Install bubblewrap with your package manager, for example `apt install bubblewrap`."


def find_bwrap() -> str | None:
    return shutil.which("bwrap")


def build_zygote_command(
    bwrap: str, profile: SandboxProfile, readable: Sequence[str], aliases: Sequence[str] = ()
) -> list[str]:
    """Build the command line for a zygote, up to the program to run. `aliases` are further paths of the workspace."""
    # The zygote needs capabilities in its own user namespace to create workers; workers drop them.
    inherits_network = profile.network or profile.room_network is not None
    words = [*_namespace_options(bwrap, network=inherits_network), "--cap-add", "ALL", "--as-pid-1"]
    words += _system_mounts(network=profile.network)
    if profile.room_network is not None:
        words += ("--ro-bind-data", str(HOSTS_FD), "/etc/hosts")
    for folder in readable:
        words += ("--ro-bind-try", folder, folder)
    words += ("--dev", "/dev", "--remount-ro", "/dev")
    # Only the zygote sees these: each worker mounts its own /proc and /tmp over them before it runs a program.
    words += ("--bind", "/proc", "/proc", "--dir", "/tmp", "--dir", view.LAYERS)
    words += ("--ro-bind", view.helper_code_folder(), f"{view.HELPER_CODE}/inside")
    if profile.draft:
        words += ("--bind", profile.draft, view.LAYERS, "--bind", f"{profile.draft}/{CACHE}", view.CACHE)
    # Read-only and copy-on-write workers remount the workspace for themselves.
    words += ("--bind", profile.workspace, view.WORKSPACE)
    for path in aliases:
        if not view.is_in_scratch(path):  # each worker has its own scratch space, and links it there itself
            words += ("--symlink", view.WORKSPACE, path)
    words += ("--remount-ro", "/", "--chdir", view.WORKSPACE)
    return words


def build_network_command(bwrap: str) -> list[str]:
    """Build the command line that creates the network namespace of a room, up to the program to run."""
    words = [*_namespace_options(bwrap, network=False), *_system_mounts(network=False)]
    words += ("--bind", "/proc", "/proc", "--ro-bind", view.helper_code_folder(), f"{view.HELPER_CODE}/inside")
    return [*words, "--remount-ro", "/", "--chdir", "/"]


def build_program_command(
    bwrap: str, grants: Sequence[Grant], temporary: str, *, network: bool, proc: bool
) -> list[str]:
    """Build the command line for a long-running program. Bubblewrap stays as PID 1 and reaps orphans."""
    words = [*_namespace_options(bwrap, network=network), "--cap-drop", "ALL"]
    words += _system_mounts(network=network)
    words += ("--dev", "/dev", *(("--proc", "/proc", "--remount-ro", "/proc") if proc else ("--dir", "/proc")))
    words += ("--bind", temporary, "/tmp", "--bind", temporary, "/dev/shm", "--remount-ro", "/dev")
    words += ("--ro-bind", view.helper_code_folder(), f"{view.HELPER_CODE}/inside")
    for grant in grants:
        words += ("--bind" if grant.writable else "--ro-bind", grant.source, grant.at)
    words += ("--remount-ro", "/", "--chdir", "/")
    return words


def _namespace_options(bwrap: str, *, network: bool) -> list[str]:
    return [
        bwrap,
        *("--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try"),
        *(() if network else ("--unshare-net",)),
        *("--uid", str(view.USER), "--gid", str(view.USER), "--hostname", "sandbox"),
        *("--die-with-parent", "--clearenv"),
    ]


def _system_mounts(*, network: bool) -> list[str]:
    """Mounts for the system's programs and libraries, and for Doorward's Python."""
    words = []
    for folder in view.list_system_folders():
        words += ["--ro-bind", folder, folder]
    for link, target in view.list_system_links():
        words += ["--symlink", target, link]
    for file in view.list_etc_files(network=network):
        words += ["--ro-bind", file, file]
    words += ["--ro-bind-data", str(PASSWD_FD), "/etc/passwd", "--ro-bind-data", str(GROUP_FD), "/etc/group"]
    _, prefix = view.find_python()
    words += ["--ro-bind-try", prefix, prefix]
    return words
