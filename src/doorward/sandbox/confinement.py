"""The confinement available on this machine, and the setup it gives to helpers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from doorward.config.settings import SandboxSettings as Settings
from doorward.sandbox import bubblewrap, view
from doorward.sandbox.network_namespace import NetworkNamespace
from doorward.sandbox.program import SandboxProfile
from doorward.sandbox.seccomp import filter_files
from doorward.sandbox.toolchains import Toolchains
from doorward.sandbox.zygote import Zygote

ConfinementWord = Literal["full", "degraded", "off"]


class ConfinementLevel(msgspec.Struct, frozen=True):
    word: ConfinementWord
    missing: tuple[str, ...] = ()
    """The protections that are missing, each as a short clause."""
    hint: str = ""
    """How to fix it."""

    def __str__(self) -> str:
        return f"{self.word}: {'; '.join(self.missing)}" if self.missing else self.word


class Confinement(msgspec.Struct, frozen=True):
    level: ConfinementLevel
    bwrap: str
    """Path of bubblewrap; empty when programs run without namespaces."""
    copies: bool = False
    """Whether programs can run on a copy-on-write view."""

    @property
    def namespaces(self) -> bool:
        return bool(self.bwrap)

    def workspace_path(self, profile: SandboxProfile) -> str:
        """Path of the workspace as programs see it."""
        return view.WORKSPACE if self.namespaces else profile.workspace

    async def start_zygote(
        self,
        profile: SandboxProfile,
        settings: Settings,
        scratch: Path,
        toolchains: Toolchains | None = None,
        network: NetworkNamespace | None = None,
    ) -> Zygote:
        """Start a zygote for this profile and for profiles that differ from it only in `files`.

        `scratch` holds temporary files of programs that have no /tmp of their own. `toolchains` are given for build
        programs, which also find the workspace under its own path. `network` is that of a room.
        """
        readable = [*settings.readable, *(toolchains.folders if toolchains else ())]
        aliases = view.list_workspace_aliases(profile.workspace, readable) if toolchains and self.namespaces else []
        setup = self._setup(profile, readable, "/tmp" if self.namespaces else str(scratch))
        if toolchains is not None:
            setup["environment"] |= {"PATH": toolchains.path, **toolchains.environment}
        if toolchains is not None and profile.draft:
            setup["caches"] = toolchains.caches
            setup["registry"] = toolchains.environment.get("CARGO_HOME", "")
            setup["environment"] |= view.DRAFT_CACHES
            setup["write"] += [view.CACHE, *toolchains.caches]
        if not self.namespaces:
            return await Zygote.start([], str(Path(view.helper_code_folder()).parent), setup)
        around = bubblewrap.build_zygote_command(self.bwrap, profile, readable, aliases)
        if network is not None:
            around = network.enter(around)
        setup["aliases"] = aliases
        return await Zygote.start(around, view.HELPER_CODE, setup, network.descriptors if network else {})

    def _setup(self, profile: SandboxProfile, readable: Sequence[str], scratch: str) -> dict[str, Any]:
        workspace = self.workspace_path(profile)
        root = os.geteuid() == 0
        return {
            "namespaces": self.namespaces,
            "network": profile.network,
            "room": profile.room_network is not None,
            "workspace": workspace,
            "layers": view.LAYERS,
            "draft": bool(profile.draft),
            "environment": view.make_environment(scratch),
            "read": ["/"] if self.namespaces else [*_readable_paths(profile, readable), workspace],
            "write": [scratch, "/dev/shm" if self.namespaces else scratch, *view.DEVICES],
            "count": (root or profile.name == "build") and self.namespaces,
            "filter": self.seccomp_filter(network=profile.network),
            **self.describe_limits(profile),
        }

    def describe_limits(self, profile: SandboxProfile) -> dict[str, Any]:
        """The part of the setup that has the resource limits."""
        limits, build = profile.limits, profile.name == "build"
        return {
            "scratch": limits.scratch_bytes,
            "limits": {
                "cpu": limits.cpu_seconds,
                "together" if build else "memory": limits.memory_bytes,
                "file": limits.file_bytes,
                "descriptors": limits.descriptors,
                "processes": limits.processes,
            },
            # Where a watch stops a build that has too many, the kernel's limit is higher: it would only refuse more.
            "counted": self.counted_processes() + (limits.processes if build and self.namespaces else 0),
        }

    def counted_processes(self) -> int:
        """Processes outside the program that count towards RLIMIT_NPROC, which applies per user and user namespace."""
        return 1 if self.namespaces else _count_user_tasks()

    def seccomp_filter(self, *, network: bool) -> str:
        """The seccomp filter in hex; empty when there is none for this machine."""
        alone = "alone-network" if network else "alone"
        return (filter_files.load_filter("full" if self.namespaces else alone) or b"").hex()


def _readable_paths(profile: SandboxProfile, readable: Sequence[str]) -> list[str]:
    _, prefix = view.find_python()
    etc = view.list_etc_files(network=profile.network)
    code = str(Path(view.helper_code_folder()).parent)
    return [*view.list_system_folders(), *etc, prefix, code, *readable]


def _count_user_tasks() -> int:
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
