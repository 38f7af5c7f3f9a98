"""Result types of the file commands."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict

from msgspec import Meta

from doorward.beneath.status import Kind

Digest = Annotated[str, Meta(description="SHA-256 of the whole file; empty if there is no file")]
Execution = Annotated[str, Meta(description="The execution id, for file/undo")]


class EntryFacts(TypedDict):
    """One entry of a folder."""

    path: str
    type: Kind
    modified: Annotated[str, Meta(description="The time of the last change")]
    size: NotRequired[Annotated[int, Meta(description="Size in bytes; only for files")]]
    note: NotRequired[str]


class PathFacts(EntryFacts):
    mode: Annotated[str, Meta(description="The permissions, in octal digits")]
    leadsTo: NotRequired[Annotated[str, Meta(description="The type of a symlink's target")]]
    digest: NotRequired[Digest]


class DetailedFacts(EntryFacts):
    """One entry of a folder, with all its attributes."""

    mode: Annotated[str, Meta(description="The mode as in ls, such as -rw-r--r--")]
    permissions: Annotated[str, Meta(description="The permissions, in octal digits")]
    owner: int
    group: int
    links: int


class _Folder(TypedDict):
    path: str
    cut: Annotated[bool, Meta(description="Whether there are more entries than the limit")]
    hiddenLeftOut: Annotated[int, Meta(description="The number of hidden entries not shown")]
    unreadable: Annotated[int, Meta(description="The number of folders that could not be read")]


class Folder(_Folder):
    items: list[EntryFacts]


class DetailedFolder(_Folder):
    items: list[DetailedFacts]


class Content(TypedDict):
    path: str
    encoding: Literal["utf-8", "base64"]
    size: Annotated[int, Meta(description="Size of the whole file in bytes")]
    digest: Digest
    content: str
    lines: NotRequired[Annotated[int, Meta(description="The number of lines in the file")]]
    firstLine: NotRequired[int]
    lastLine: NotRequired[int]
    cut: NotRequired[Annotated[bool, Meta(description="True if there are more lines")]]
    nextOffset: NotRequired[Annotated[int, Meta(description="The offset of the next lines")]]


class Match(TypedDict):
    """One matching line."""

    path: str
    line: Annotated[int, Meta(description="Line number, starting at 1")]
    text: str
    before: NotRequired[list[str]]
    after: NotRequired[list[str]]


class Matches(TypedDict):
    items: list[Match]
    filesSearched: int
    skipped: Annotated[dict[str, int], Meta(description="The number of skipped files, by reason")]
    cut: Annotated[bool, Meta(description="Whether the search ended early")]
    endedBecause: NotRequired[str]


class Sizes(TypedDict):
    """The change of one file, with its sizes."""

    path: str
    created: bool
    changed: Annotated[bool, Meta(description="False if the file already had this content")]
    bytesBefore: int | None
    bytesAfter: int | None


class Written(Sizes):
    digest: Digest
    execution: Execution


class Edited(Written):
    replaced: Annotated[int, Meta(description="The number of replacements")]
    diff: Annotated[str, Meta(description="The change as a unified diff")]


class Deleted(TypedDict):
    path: str
    deleted: bool
    bytesBefore: int
    execution: Execution


class PastChange(TypedDict):
    """One recorded change of a file."""

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
    undoneBy: NotRequired[Annotated[str, Meta(description="The execution that undid it")]]


class History(TypedDict):
    items: list[PastChange]
    path: str
