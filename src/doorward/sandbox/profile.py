"""What a program may access and use. Programs with the same profile share warm workers."""

from __future__ import annotations

from typing import Literal

import msgspec

Files = Literal["read", "write", "copy"]
"""Access to the workspace: read-only, read-write, or copy-on-write (writes do not reach the workspace)."""


class Limits(msgspec.Struct, frozen=True):
    """Resource limits of one program, enforced by the kernel."""

    cpu_seconds: int = 30
    memory_bytes: int = 512 * 1024 * 1024
    processes: int = 10
    file_bytes: int = 10_000_000
    descriptors: int = 50


class Profile(msgspec.Struct, frozen=True):
    workspace: str
    files: Files = "read"
    network: bool = False
    limits: Limits = Limits()
