"""The command line of bubblewrap that makes the surroundings of one profile: what is not in it does not exist there."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

from doorward.sandbox import view
from doorward.sandbox.profile import Profile

PASSWD, GROUP = 4, 5
"""The descriptors on which bubblewrap reads the two files it makes."""

HOW_TO_INSTALL = "Install it with `apt install bubblewrap`, or with dnf, pacman, apk or zypper where those are."


def find() -> str | None:
    return shutil.which("bwrap")


def command(bwrap: str, profile: Profile, readable: Sequence[str]) -> list[str]:
    """Everything up to the program to run."""
    words = [
        bwrap,
        *("--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try"),
        *(() if profile.network else ("--unshare-net",)),
        *("--uid", str(view.USER), "--gid", str(view.USER), "--hostname", "sandbox"),
        # The zygote needs powers inside its own user namespace to make workers; workers give them up.
        *("--cap-add", "ALL"),
        *("--die-with-parent", "--as-pid-1", "--clearenv"),
    ]
    for folder in view.system_folders():
        words += ("--ro-bind", folder, folder)
    for link, target in view.system_links():
        words += ("--symlink", target, link)
    for file in view.etc_files(network=profile.network):
        words += ("--ro-bind", file, file)
    words += ("--ro-bind-data", str(PASSWD), "/etc/passwd", "--ro-bind-data", str(GROUP), "/etc/group")
    _, prefix = view.python()
    for folder in (prefix, *readable):
        words += ("--ro-bind-try", folder, folder)
    words += ("--dev", "/dev", "--remount-ro", "/dev")
    # Seen only by the zygote: each worker puts its own /proc and /tmp over these before it runs anything.
    words += ("--bind", "/proc", "/proc", "--dir", "/tmp", "--dir", view.LAYERS)
    words += ("--ro-bind", view.inside(), f"{view.INSIDE}/inside")
    # Workers whose programs only read it, or have a view of their own, make it read-only for themselves.
    words += ("--bind", profile.workspace, view.WORKSPACE)
    words += ("--remount-ro", "/", "--chdir", view.WORKSPACE)
    return words
