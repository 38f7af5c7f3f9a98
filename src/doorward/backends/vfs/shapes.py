"""What commands of virtual files give back."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict

from msgspec import Meta

Kind = Literal["file", "folder", "symlink", "other"]


class Item(TypedDict):
    """One virtual file or folder. What is not known of it is left out."""

    path: Annotated[str, Meta(description="Where it is, from the top of the tree")]
    name: str
    kind: Kind
    size: NotRequired[Annotated[int, Meta(description="In bytes; folders have none")]]
    modified: NotRequired[Annotated[str, Meta(description="When it last changed")]]
    note: NotRequired[Annotated[str, Meta(description="What else should be known of it")]]
    mode: NotRequired[Annotated[str, Meta(description="The permissions, in octal digits")]]
    leadsTo: NotRequired[Annotated[str, Meta(description="What a symlink ends at")]]
    digest: NotRequired[Annotated[str, Meta(description="SHA-256 of the whole file")]]


class Listed(TypedDict):
    items: list[Item]
    path: str
    cut: Annotated[bool, Meta(description="Whether there is more than is shown")]
    note: Annotated[str, Meta(description="What was left out and why; empty when nothing was")]


class Found(TypedDict):
    items: list[Item]
    matched: Annotated[int, Meta(description="How many fit, shown or not")]
    bytes: Annotated[int, Meta(description="How large those that fit are together")]
    looked: Annotated[int, Meta(description="How many were looked at")]
    cut: Annotated[bool, Meta(description="Whether there is more than is shown, or not all was looked at")]
    note: str


class Tree(TypedDict):
    path: str
    text: Annotated[str, Meta(description="The tree as people draw it")]
    folders: int
    files: int
    cut: bool


class Content(TypedDict):
    path: str
    content: str
    encoding: Literal["utf-8", "base64"]
    size: Annotated[int, Meta(description="Of the whole, in bytes")]
    lines: NotRequired[Annotated[int, Meta(description="How many lines the whole has")]]
    firstLine: NotRequired[int]
    lastLine: NotRequired[int]
    cut: Annotated[bool, Meta(description="Whether there is more behind it")]
    nextOffset: NotRequired[Annotated[int, Meta(description="The offset to read on at")]]
    digest: NotRequired[Annotated[str, Meta(description="SHA-256 of the whole, for expectedDigest")]]


class VirtualChange(TypedDict):
    """One thing that was done, by which call."""

    path: str
    did: Annotated[Literal["created", "changed", "unchanged", "made", "removed", "copied", "moved"], Meta()]
    command: Annotated[str, Meta(description="The command that did it")]
    execution: Annotated[str, Meta(description="What to give to undo to take it back")]
    target: NotRequired[Annotated[str, Meta(description="Where it was copied or moved to")]]
    bytes: NotRequired[Annotated[int, Meta(description="How large it is now")]]


class Changes(TypedDict):
    items: list[VirtualChange]
