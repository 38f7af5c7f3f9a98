"""The limits of programs with the sandbox profile `build`."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from doorward.config.settings.agents import Count, Seconds

Bytes = Annotated[int, Meta(ge=1, le=1_000_000_000_000_000)]


class BuildSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table `[sandbox.build]`: limits for compilers, package managers and test runs."""

    cpu_seconds: Count = 3_600
    """Maximum processor time of each process."""
    memory_bytes: Annotated[int, Meta(ge=16_000_000)] = 4 * 1024**3
    """Maximum memory that all processes of a program really use together, with what they write to /tmp."""
    processes: Count = 1_000
    """Maximum processes and threads of one program at the same time."""
    file_bytes: Bytes = 4 * 1024**3
    """Maximum size of a file that a program writes."""
    descriptors: Annotated[int, Meta(ge=16, le=1_000_000)] = 8_192
    """Maximum open files of each process of a program."""
    wall_seconds: Seconds = 1_800.0
    """Time limit of one program."""
    output_bytes: Count = 4_000_000
    """Maximum bytes kept of each output stream of a program; the rest is only counted."""
    scratch_bytes: Bytes = 1024**3
    """Maximum bytes a program may write to its own /tmp, and to a copy-on-write view of the workspace."""
