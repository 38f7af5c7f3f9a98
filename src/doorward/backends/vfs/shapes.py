"""The result types of the vfs/* commands."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict

from msgspec import Meta

Kind = Literal["file", "folder", "symlink", "other"]


class Item(TypedDict):
    """One virtual file or folder. Unknown fields are omitted."""

    path: Annotated[str, Meta(description="The absolute path")]
    name: str
    kind: Kind
    size: NotRequired[Annotated[int, Meta(description="In bytes; folders have none")]]
    modified: NotRequired[Annotated[str, Meta(description="Time of the last change")]]
    note: NotRequired[Annotated[str, Meta(description="A remark")]]
    mode: NotRequired[Annotated[str, Meta(description="The permissions in octal")]]
    leadsTo: NotRequired[Annotated[str, Meta(description="The kind of a symlink's target")]]
    digest: NotRequired[Annotated[str, Meta(description="SHA-256 of the whole file")]]


class Listed(TypedDict):
    items: list[Item]
    path: str
    cut: Annotated[bool, Meta(description="Whether there is more than is shown")]
    note: Annotated[str, Meta(description="What is missing and why; empty when nothing is")]


class Found(TypedDict):
    items: list[Item]
    matched: Annotated[int, Meta(description="Number of matches, shown or not")]
    bytes: Annotated[int, Meta(description="Total size of the matches")]
    looked: Annotated[int, Meta(description="Number of checked entries")]
    cut: Annotated[bool, Meta(description="Whether matches or entries were left out")]
    note: str


class Tree(TypedDict):
    path: str
    text: Annotated[str, Meta(description="The drawn tree")]
    folders: int
    files: int
    cut: bool


class Content(TypedDict):
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


class Changes(TypedDict):
    items: list[VirtualChange]
