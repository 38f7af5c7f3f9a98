"""The family of the vfs/* commands: shared parameters and result types."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict

from msgspec import Meta

from doorward.core.command import Family, NoUndo

family = Family("vfs", category="files")

UNDO_BY_INNER_CALLS = NoUndo("each change is an inner call; undo takes the execution of that call")
"""The reason why a command that acts only by inner calls has no undo of its own."""

_PATH_EXAMPLES = "such as /workspace/notes/today.md, ~/todo.md, /data/rooms/general or /system/status"

VirtualPath = Annotated[
    str,
    Meta(
        description=f"A file or folder, {_PATH_EXAMPLES}; a relative path starts at /workspace",
        min_length=1,
        max_length=4096,
    ),
]
VirtualPaths = Annotated[
    list[Annotated[str, Meta(min_length=1, max_length=4096)]],
    Meta(description=f"Files or folders, {_PATH_EXAMPLES}", min_length=1, max_length=1_000),
]
IncludeHidden = Annotated[bool, Meta(description="Whether to include names that start with a dot")]


FileKind = Literal["file", "folder", "symlink", "other"]


class VirtualFile(TypedDict):
    """One virtual file or folder. Unknown fields are omitted."""

    path: Annotated[str, Meta(description="The absolute path")]
    name: str
    kind: FileKind
    size: NotRequired[Annotated[int, Meta(description="In bytes; folders have none")]]
    modified: NotRequired[Annotated[str, Meta(description="Time of the last change")]]
    note: NotRequired[Annotated[str, Meta(description="A remark")]]
    mode: NotRequired[Annotated[str, Meta(description="The permissions in octal")]]
    leadsTo: NotRequired[Annotated[str, Meta(description="The kind of a symlink's target")]]
    digest: NotRequired[Annotated[str, Meta(description="SHA-256 of the whole file")]]


class VirtualListing(TypedDict):
    items: list[VirtualFile]
    path: str
    cut: Annotated[bool, Meta(description="Whether there is more than is shown")]
    note: Annotated[str, Meta(description="What is missing and why; empty when nothing is")]


class FindResult(TypedDict):
    items: list[VirtualFile]
    matched: Annotated[int, Meta(description="Number of matches, shown or not")]
    bytes: Annotated[int, Meta(description="Total size of the matches")]
    looked: Annotated[int, Meta(description="Number of checked entries")]
    cut: Annotated[bool, Meta(description="Whether matches or entries were left out")]
    note: str


class TreeDrawing(TypedDict):
    path: str
    text: Annotated[str, Meta(description="The drawn tree")]
    folders: int
    files: int
    cut: bool


class VirtualContent(TypedDict):
    path: str
    content: str
    encoding: Literal["utf-8", "base64"]
    size: Annotated[int, Meta(description="Size of the whole, in bytes")]
    lines: NotRequired[Annotated[int, Meta(description="Number of lines of the whole")]]
    firstLine: NotRequired[int]
    lastLine: NotRequired[int]
    cut: Annotated[bool, Meta(description="Whether there are more lines after these")]
    nextOffset: NotRequired[Annotated[int, Meta(description="The offset of the next line")]]
    digest: NotRequired[Annotated[str, Meta(description="SHA-256 of the whole, for expectedDigest")]]


class VirtualChange(TypedDict):
    """One change and the call that made it."""

    path: str
    did: Annotated[Literal["created", "changed", "unchanged", "made", "removed", "copied", "moved"], Meta()]
    command: Annotated[str, Meta(description="The command that made the change")]
    execution: Annotated[str, Meta(description="The execution, for undo")]
    target: NotRequired[Annotated[str, Meta(description="The target of a copy or move")]]
    bytes: NotRequired[Annotated[int, Meta(description="The new size")]]


class VirtualChanges(TypedDict):
    items: list[VirtualChange]
