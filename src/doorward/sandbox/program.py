"""A program to run, its profile (what it may access and use), and its result."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Literal

import msgspec

from doorward.sandbox.draft_size import DraftSize

FileAccess = Literal["read", "write", "copy"]
"""Access to the workspace: read-only, read-write, or copy-on-write (writes do not reach the workspace)."""

RoomKey = tuple[str, str]
"""A tenant and the id of a room of it."""


ProfileName = Literal["tool", "build"]
"""`tool` is for small programs. `build` is for compilers, package managers and test runs: memory is counted as what all
processes use together, and the toolchains of the account are readable."""


class ProgramLimits(msgspec.Struct, frozen=True):
    """Resource limits of one program."""

    cpu_seconds: int = 30
    memory_bytes: int = 512 * 1024 * 1024
    """In the profile `tool` for each process, as address space; in `build` for all processes together, as used."""
    processes: int = 10
    file_bytes: int = 10_000_000
    descriptors: int = 50
    scratch_bytes: int = 64 * 1024 * 1024


class SandboxProfile(msgspec.Struct, frozen=True):
    workspace: str
    files: FileAccess = "read"
    network: bool = False
    """Whether it uses the machine's network."""
    limits: ProgramLimits = ProgramLimits()
    name: ProfileName = "tool"
    draft: str = ""
    """Folder of the draft that it works on, with the layers of its overlay; empty for the workspace itself."""
    draft_bytes: int = 0
    """Maximum size of that draft on disk."""
    room: RoomKey | None = None
    """The room of the program. Without `network`, the programs of a room share a network namespace; outside rooms, each
    has its own."""

    @property
    def room_network(self) -> RoomKey | None:
        """The room whose network namespace it shares."""
        return None if self.network else self.room


OutputStream = Literal["stdout", "stderr"]

OnOutput = Callable[[OutputStream, bytes], None]
"""Called with each piece of output as it arrives, up to the limit."""

AskToConnect = Callable[[str, int], Awaitable[None]]
"""Asks whether a program may connect to a host and port. Raises DoorwardError with the reason if it may not."""

StopReason = Literal["", "time", "processes", "memory", "disk", "draft"]


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """An argv; no shell parses it. The first word is looked up on the sandbox's PATH."""

    argv: tuple[str, ...]
    workspace_path: str = ""
    """A path at which the program is looked for first, in its folder and those above it, up to the workspace."""
    folder: str = "."
    """Working folder, relative to the workspace."""
    environment: Mapping[str, str] = {}
    """Added to the sandbox's clean environment."""
    stdin: bytes = b""
    read_only: tuple[str, ...] = ()
    """Existing paths in the workspace that it may not change although it may write there. Needs namespaces."""
    seconds: float = 30.0
    """Wall-clock time limit."""
    ask_to_connect: AskToConnect | None = None
    """Asks about hosts that the recipe of its room does not list, where that recipe says so."""
    output_bytes: int = 1_000_000
    """Bytes of each stream to keep; the rest is only counted."""
    draft_size: DraftSize | None = None
    """The size of its draft, which is measured while it runs."""
    resident: bool = False
    """Whether it runs until somebody stops it: without time limits, and its output is passed on but not kept."""


class SandboxResult(msgspec.Struct, frozen=True, kw_only=True):
    exit_code: int | None
    """None when a signal or Doorward ended it."""
    signal: int = 0
    stopped: StopReason = ""
    """The limit for which Doorward stopped it, if any."""
    stdout: bytes = b""
    stderr: bytes = b""
    stdout_bytes: int = 0
    """Bytes written, kept or not."""
    stderr_bytes: int = 0
    seconds: float = 0.0
    began: int = 0
    """Wall-clock start time in nanoseconds. It can be compared with file times, which lag by at most one tick."""
    program: str = ""
    """The path at which it was found in the workspace; empty when it was looked up on PATH."""
    sandbox: str = "full"
    """How well it was confined: full, or what was missing."""
