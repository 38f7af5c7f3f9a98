"""What sandboxed programs see: the system's programs and libraries and the workspace, but no personal files."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

WORKSPACE = "/workspace"
PATH = "/usr/local/bin:/usr/bin:/bin"
"""The PATH of programs."""
USER = 1000
"""User and group id inside the sandbox, whichever account runs Doorward."""
HELPER_CODE = "/run/doorward"
"""Folder of the helpers' code inside the sandbox."""
LAYERS = "/run/layers"
"""Folder of a worker's copy-on-write layers."""
CACHE = "/run/cache"
"""Folder of a draft in which its programs keep caches between runs."""
DRAFT_CACHES = {
    "XDG_CACHE_HOME": CACHE,
    "npm_config_cache": f"{CACHE}/npm",
    "PNPM_HOME": f"{CACHE}/pnpm",
    "YARN_GLOBAL_FOLDER": f"{CACHE}/yarn",
    "CARGO_HOME": f"{CACHE}/cargo",
    "GOPATH": f"{CACHE}/go",
}
"""Variables with which tools keep their caches there."""


def strip_workspace(path: str) -> str:
    """The path relative to the workspace, for one that begins with /workspace as programs see it. Others stay."""
    if path == WORKSPACE or path.startswith(f"{WORKSPACE}/"):
        return path[len(WORKSPACE) :].lstrip("/") or "."
    return path


def make_passwd(home: str) -> bytes:
    """The content of /etc/passwd. A home folder whose name does not fit the format becomes /tmp."""
    home = "/tmp" if ":" in home or "\n" in home else home
    return f"root:x:0:0:root:/:/usr/sbin/nologin\nagent:x:{USER}:{USER}:agent:{home}:/bin/bash\n".encode()


PASSWD = make_passwd("/tmp")
GROUP = f"root:x:0:\nagent:x:{USER}:\n".encode()
HOSTS = b"127.0.0.1 localhost\n::1 localhost\n"

_TOP = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_ETC = (
    "/etc/alternatives",
    "/etc/ca-certificates/extracted",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/magic",
    "/etc/mime.types",
    "/etc/os-release",
    "/etc/pki/ca-trust/extracted",
    "/etc/pki/tls/cert.pem",
    "/etc/pki/tls/certs",
    "/etc/ssl/cert.pem",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/timezone",
)
_ETC_OF_NETWORK = ("/etc/hosts", "/etc/nsswitch.conf", "/etc/resolv.conf", "/etc/services")
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


def make_environment(temporary: str) -> dict[str, str]:
    """The complete environment of a program. Nothing of Doorward's own environment is passed on."""
    return {
        "PATH": PATH,
        "HOME": temporary,
        "TMPDIR": temporary,
        "USER": "agent",
        "LOGNAME": "agent",
        "SHELL": "/bin/bash",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
    }


def is_in_scratch(path: str) -> bool:
    """Whether a path is in a folder that each worker mounts anew."""
    return path.startswith(("/tmp/", "/dev/shm/"))


def list_workspace_aliases(workspace: str, mounted: Sequence[str]) -> list[str]:
    """The workspace's own paths, with and without symlinks, that can be made to lead to /workspace.

    Scripts of a virtual environment name its interpreter by such a path. A path in or around something else that is
    mounted is left out.
    """
    taken = [*mounted, *list_system_folders(), find_python()[1], WORKSPACE, "/proc", "/sys", "/run", "/etc"]
    found = []
    for path in dict.fromkeys((os.path.normpath(workspace), os.path.realpath(workspace))):
        free = is_in_scratch(path) or not path.startswith("/dev/")
        if free and not any(_overlap(path, place) for place in taken):
            found.append(path)
    return found


def _overlap(one: str, other: str) -> bool:
    return one == other or one.startswith(f"{other.rstrip('/')}/") or other.startswith(f"{one.rstrip('/')}/")


def list_system_links() -> list[tuple[str, str]]:
    """Top-level symlinks into /usr, such as /bin, with their targets."""
    return [(f"/{name}", os.readlink(f"/{name}")) for name in _TOP if Path(f"/{name}").is_symlink()]


def list_system_folders() -> list[str]:
    """/usr, and the folders of programs and libraries outside it."""
    plain = [f"/{name}" for name in _TOP if Path(f"/{name}").is_dir() and not Path(f"/{name}").is_symlink()]
    return ["/usr", *plain]


def list_etc_files(*, network: bool) -> list[str]:
    return [name for name in (*_ETC, *(_ETC_OF_NETWORK if network else ())) if Path(name).exists()]


def find_python() -> tuple[str, str]:
    """The Python interpreter for the helpers, and its prefix."""
    prefix = sys.base_prefix
    return os.path.realpath(f"{prefix}/bin/python{sys.version_info.major}.{sys.version_info.minor}"), prefix


def helper_code_folder() -> str:
    """The folder of the helpers' code outside the sandbox."""
    return str(Path(__file__).parent / "inside")
