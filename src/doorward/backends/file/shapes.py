"""What file commands give back."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict

from msgspec import Meta

from doorward.beneath.status import Kind

Digest = Annotated[str, Meta(description="SHA-256 of the whole file; empty when there is none")]
Execution = Annotated[str, Meta(description="What to give to file/undo to take it back")]


class EntryFacts(TypedDict):
    """One entry of a folder."""

    path: str
    type: Kind
    modified: Annotated[str, Meta(description="When it last changed")]
    size: NotRequired[Annotated[int, Meta(description="In bytes; only files have one")]]
    note: NotRequired[str]


class PathFacts(EntryFacts):
    mode: Annotated[str, Meta(description="The permissions, in octal digits")]
    leadsTo: NotRequired[Annotated[str, Meta(description="What a symlink ends at")]]
    digest: NotRequired[Digest]


class DetailedFacts(EntryFacts):
    """One entry of a folder, with everything that is known of it."""

    mode: Annotated[str, Meta(description="As ls writes it, such as -rw-r--r--")]
    permissions: Annotated[str, Meta(description="The same in octal digits")]
    owner: int
    group: int
    links: int


class _Folder(TypedDict):
    path: str
    cut: Annotated[bool, Meta(description="Whether entries were left out because of the limit")]
    hiddenLeftOut: Annotated[int, Meta(description="How many hidden entries are not shown")]
    unreadable: Annotated[int, Meta(description="How many folders could not be read")]


class Folder(_Folder):
    items: list[EntryFacts]


class DetailedFolder(_Folder):
    items: list[DetailedFacts]


class Content(TypedDict):
    path: str
    encoding: Literal["utf-8", "base64"]
    size: Annotated[int, Meta(description="Of the whole file, in bytes")]
    digest: Digest
    content: str
    lines: NotRequired[Annotated[int, Meta(description="How many lines the file has")]]
    firstLine: NotRequired[int]
    lastLine: NotRequired[int]
    cut: NotRequired[Annotated[bool, Meta(description="True when there are more lines")]]
    nextOffset: NotRequired[Annotated[int, Meta(description="The offset to read on at")]]


class Match(TypedDict):
    """One matching line."""

    path: str
    line: Annotated[int, Meta(description="Its number, from 1")]
    text: str
    before: NotRequired[list[str]]
    after: NotRequired[list[str]]


class Matches(TypedDict):
    items: list[Match]
    filesSearched: int
    skipped: Annotated[dict[str, int], Meta(description="How many files were left out, by reason")]
    cut: Annotated[bool, Meta(description="Whether the search ended early")]
    endedBecause: NotRequired[str]


class Sizes(TypedDict):
    """What happened to one file."""

    path: str
    created: bool
    changed: Annotated[bool, Meta(description="False when it was so already")]
    bytesBefore: int | None
    bytesAfter: int | None


class Written(Sizes):
    digest: Digest
    execution: Execution


class Edited(Written):
    replaced: Annotated[int, Meta(description="In how many places")]
    diff: Annotated[str, Meta(description="The difference, as a unified diff")]


class Deleted(TypedDict):
    path: str
    deleted: bool
    bytesBefore: int
    execution: Execution


class PastChange(TypedDict):
    """One change of a file that is kept."""

    execution: Execution
    command: str
    caller: str
    at: str
    created: bool
    deleted: bool
    bytesBefore: int | None
    bytesAfter: int | None
    undone: bool
    onBehalfOf: NotRequired[str]
    undoneBy: NotRequired[Annotated[str, Meta(description="The execution that took it back")]]


class History(TypedDict):
    items: list[PastChange]
    path: str
