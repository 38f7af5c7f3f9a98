"""The family of the vfs/* commands, and the parameters that they share."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from doorward.command import Family, NoUndo

family = Family("vfs", category="files")

BY_ITS_CALLS = NoUndo("each change is an inner call; undo takes the execution of that call")
"""The reason why a command that acts only by inner calls has no undo of its own."""

_WHERE = "such as /workspace/notes/today.md, ~/todo.md, /data/rooms/general or /system/status"

VirtualPath = Annotated[
    str,
    Meta(
        description=f"A file or folder, {_WHERE}; a relative path starts at /workspace",
        min_length=1,
        max_length=4096,
    ),
]
Paths = Annotated[
    list[Annotated[str, Meta(min_length=1, max_length=4096)]],
    Meta(description=f"Files or folders, {_WHERE}", min_length=1, max_length=1_000),
]
Hidden = Annotated[bool, Meta(description="Whether to include names that start with a dot")]
