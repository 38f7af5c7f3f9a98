"""A program to run, and how it ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import msgspec

Stream = Literal["stdout", "stderr"]

OnOutput = Callable[[Stream, bytes], None]
"""Told each piece of output as it is made, up to the cap."""

Stopped = Literal["", "time", "processes", "disk"]


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """An argv; no shell parses it. Its first word is looked up on the sandbox's own PATH."""

    argv: tuple[str, ...]
    folder: str = "."
    """Where it starts, relative to the workspace."""
    environment: Mapping[str, str] = {}
    """Added to the sandbox's own clean environment."""
    stdin: bytes = b""
    seconds: float = 30.0
    """The most wall-clock time it may take."""
    output_bytes: int = 1_000_000
    """How much of each stream is kept and told; the rest is counted."""


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    exit_code: int | None
    """None when a signal or Doorward ended it."""
    signal: int = 0
    stopped: Stopped = ""
    """Which limit made Doorward stop it, if one did."""
    stdout: bytes = b""
    stderr: bytes = b""
    stdout_bytes: int = 0
    """All that it wrote, kept or not."""
    stderr_bytes: int = 0
    seconds: float = 0.0
    began: int = 0
    """When, by the wall clock, in nanoseconds. Files are stamped by it too, never early and at most a tick late."""
    sandbox: str = "full"
    """How well it was confined: full, or what was missing."""
