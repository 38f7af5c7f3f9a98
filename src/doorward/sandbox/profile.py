"""What a program may reach and use. Programs with one profile share warm helpers."""

from __future__ import annotations

from typing import Literal

import msgspec

Files = Literal["read", "write", "copy"]
"""The workspace read-only, read-write, or copy-on-write: the program sees its writes, the workspace does not."""


class Limits(msgspec.Struct, frozen=True):
    """What one program may use; set by the kernel before it starts."""

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
