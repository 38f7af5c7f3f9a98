"""What programs can see of the machine: the system's programs and libraries, and the workspace. Nothing of a person."""

from __future__ import annotations

import os
import sys
from pathlib import Path

WORKSPACE = "/workspace"
PATH = "/usr/local/bin:/usr/bin:/bin"
"""Where programs are found."""
USER = 1000
"""The user and group that programs are inside the sandbox, whoever runs Doorward."""
INSIDE = "/run/doorward"
LAYERS = "/run/layers"
"""Where a worker keeps the layers of its copy-on-write view."""


def passwd(home: str) -> bytes:
    """The accounts that programs see. A name that cannot stand in such a list is left out of it."""
    home = "/tmp" if ":" in home or "\n" in home else home
    return f"root:x:0:0:root:/:/usr/sbin/nologin\nagent:x:{USER}:{USER}:agent:{home}:/bin/bash\n".encode()


PASSWD = passwd("/tmp")
GROUP = f"root:x:0:\nagent:x:{USER}:\n".encode()

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


def environment(temporary: str) -> dict[str, str]:
    """The whole environment of a program; nothing of Doorward's own is passed on."""
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


def system_links() -> list[tuple[str, str]]:
    """Top-level names that are symlinks into /usr, as on most systems, with where they lead."""
    return [(f"/{name}", os.readlink(f"/{name}")) for name in _TOP if Path(f"/{name}").is_symlink()]


def system_folders() -> list[str]:
    """Folders of programs and libraries that lie outside /usr, and /usr itself."""
    plain = [f"/{name}" for name in _TOP if Path(f"/{name}").is_dir() and not Path(f"/{name}").is_symlink()]
    return ["/usr", *plain]


def etc_files(*, network: bool) -> list[str]:
    return [name for name in (*_ETC, *(_ETC_OF_NETWORK if network else ())) if Path(name).exists()]


def python() -> tuple[str, str]:
    """The interpreter that the helpers run on, and the folder that holds it and its library."""
    prefix = sys.base_prefix
    return os.path.realpath(f"{prefix}/bin/python{sys.version_info.major}.{sys.version_info.minor}"), prefix


def inside() -> str:
    """The folder of the helpers' own code."""
    return str(Path(__file__).parent / "inside")
