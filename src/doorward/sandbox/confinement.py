"""The confinement available on this machine, and the setup it gives to helpers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

from doorward.sandbox import bubblewrap, view
from doorward.sandbox.level import Level
from doorward.sandbox.profile import Profile
from doorward.sandbox.seccomp import shipped
from doorward.sandbox.zygote import Zygote
from doorward.settings import Sandbox as Settings


class Confinement(msgspec.Struct, frozen=True):
    level: Level
    bwrap: str
    """Path of bubblewrap; empty when programs run without namespaces."""
    copies: bool = False
    """Whether programs can run on a copy-on-write view."""

    @property
    def namespaces(self) -> bool:
        return bool(self.bwrap)

    def workspace(self, profile: Profile) -> str:
        """Path of the workspace as programs see it."""
        return view.WORKSPACE if self.namespaces else profile.workspace

    async def zygote(self, profile: Profile, settings: Settings, scratch: Path) -> Zygote:
        """Start a zygote for this profile and for profiles that differ from it only in `files`.

        `scratch` holds temporary files of programs that have no /tmp of their own.
        """
        if self.namespaces:
            around = bubblewrap.command(self.bwrap, profile, settings.readable)
            return await Zygote.start(around, view.INSIDE, self._setup(profile, settings, "/tmp"))
        return await Zygote.start([], str(Path(view.inside()).parent), self._setup(profile, settings, str(scratch)))

    def _setup(self, profile: Profile, settings: Settings, scratch: str) -> dict[str, Any]:
        limits = profile.limits
        workspace = self.workspace(profile)
        root = os.geteuid() == 0
        return {
            "namespaces": self.namespaces,
            "network": profile.network,
            "workspace": workspace,
            "layers": view.LAYERS,
            "scratch": settings.scratch_bytes,
            "environment": view.environment(scratch),
            "read": ["/"] if self.namespaces else [*_readable(profile, settings), workspace],
            "write": [scratch, "/dev/shm" if self.namespaces else scratch, *view.DEVICES],
            "limits": {
                "cpu": limits.cpu_seconds,
                "memory": limits.memory_bytes,
                "file": limits.file_bytes,
                "descriptors": limits.descriptors,
                "processes": limits.processes,
            },
            "counted": self.counted(),
            "count": root and self.namespaces,
            "filter": self.filter(network=profile.network),
        }

    def counted(self) -> int:
        """Processes outside the program that count towards RLIMIT_NPROC, which applies per user and user namespace."""
        return 1 if self.namespaces else _processes_of_this_user()

    def filter(self, *, network: bool) -> str:
        """The seccomp filter in hex; empty when there is none for this machine."""
        alone = "alone-network" if network else "alone"
        return (shipped.load("full" if self.namespaces else alone) or b"").hex()


def _readable(profile: Profile, settings: Settings) -> list[str]:
    _, prefix = view.python()
    etc = view.etc_files(network=profile.network)
    code = str(Path(view.inside()).parent)
    return [*view.system_folders(), *etc, prefix, code, *settings.readable]


def _processes_of_this_user() -> int:
    """Count this user's tasks. Without a user namespace the kernel's limit includes them."""
    mine, count = os.getuid(), 0
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            if os.stat(f"/proc/{name}").st_uid == mine:
                count += len(os.listdir(f"/proc/{name}/task"))
        except OSError:
            continue
    return count
