"""The family of the file commands: parameter types, result types, and the description of an entry."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict

from msgspec import Meta

from doorward.core.clock import to_iso
from doorward.core.command import Family
from doorward.sandbox.safefs import FileEntry
from doorward.sandbox.safefs.file_status import EntryKind

FileDigest = Annotated[str, Meta(description="SHA-256 of the whole file; empty if there is no file")]
UndoExecution = Annotated[str, Meta(description="The execution id, for file/undo")]


class EntryFacts(TypedDict):
    """One entry of a folder."""

    path: str
    type: EntryKind
    modified: Annotated[str, Meta(description="The time of the last change")]
    size: NotRequired[Annotated[int, Meta(description="Size in bytes; only for files")]]
    note: NotRequired[str]


class PathFacts(EntryFacts):
    mode: Annotated[str, Meta(description="The permissions, in octal digits")]
    leadsTo: NotRequired[Annotated[str, Meta(description="The type of a symlink's target")]]
    digest: NotRequired[FileDigest]


class DetailedFacts(EntryFacts):
    """One entry of a folder, with all its attributes."""

    mode: Annotated[str, Meta(description="The mode as in ls, such as -rw-r--r--")]
    permissions: Annotated[str, Meta(description="The permissions, in octal digits")]
    owner: int
    group: int
    links: int


class _FolderFacts(TypedDict):
    path: str
    cut: Annotated[bool, Meta(description="Whether there are more entries than the limit")]
    hiddenLeftOut: Annotated[int, Meta(description="The number of hidden entries not shown")]
    unreadable: Annotated[int, Meta(description="The number of folders that could not be read")]


class FolderListing(_FolderFacts):
    items: list[EntryFacts]


class DetailedListing(_FolderFacts):
    items: list[DetailedFacts]


class FileContent(TypedDict):
    path: str
    encoding: Literal["utf-8", "base64"]
    size: Annotated[int, Meta(description="Size of the whole file in bytes")]
    digest: FileDigest
    content: str
    mimeType: NotRequired[Annotated[str, Meta(description="The type of a picture, whose content is base64")]]
    lines: NotRequired[Annotated[int, Meta(description="The number of lines in the file")]]
    firstLine: NotRequired[int]
    lastLine: NotRequired[int]
    cut: NotRequired[Annotated[bool, Meta(description="True if there are more lines")]]
    nextOffset: NotRequired[Annotated[int, Meta(description="The offset of the next lines")]]


class LineMatch(TypedDict):
    """One matching line."""

    path: str
    line: Annotated[int, Meta(description="Line number, starting at 1")]
    text: str
    before: NotRequired[list[str]]
    after: NotRequired[list[str]]


class SearchMatches(TypedDict):
    items: list[LineMatch]
    filesSearched: int
    skipped: Annotated[dict[str, int], Meta(description="The number of skipped files, by reason")]
    cut: Annotated[bool, Meta(description="Whether the search ended early")]
    endedBecause: NotRequired[str]


class FileChangeFacts(TypedDict):
    """The change of one file, with its sizes."""

    path: str
    created: bool
    changed: Annotated[bool, Meta(description="False if the file already had this content")]
    bytesBefore: int | None
    bytesAfter: int | None


class FileWritten(FileChangeFacts):
    digest: FileDigest
    execution: UndoExecution


class FileEdited(FileWritten):
    replaced: Annotated[int, Meta(description="The number of replacements")]
    diff: Annotated[str, Meta(description="The change as a unified diff")]


class FilePatched(FileChangeFacts):
    digest: FileDigest
    deleted: bool


class FilesPatched(TypedDict):
    files: list[FilePatched]
    diff: Annotated[str, Meta(description="The changes as a unified diff")]
    execution: UndoExecution


class FileDeleted(TypedDict):
    path: str
    deleted: bool
    bytesBefore: int
    execution: UndoExecution


class PastChange(TypedDict):
    """One recorded change of a file."""

    execution: UndoExecution
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
    note: NotRequired[str]


class FileHistory(TypedDict):
    items: list[PastChange]
    path: str


family = Family("file", category="files")

FilePath = Annotated[
    str, Meta(description="File path in the workspace, such as notes/today.md", min_length=1, max_length=4096)
]
FolderPath = Annotated[
    str, Meta(description="Folder path in the workspace; '.' is the workspace itself", max_length=4096)
]
ExpectedDigest = Annotated[
    Annotated[str, Meta(pattern="^([0-9a-f]{64})?$")] | None,
    Meta(description="SHA-256 of the file when you last read it, empty for no file; the call is refused if it differs"),
]
Hidden = Annotated[bool, Meta(description="Include names that start with a dot")]

_UNUSABLE_NAME = "this name is not valid text, so you cannot pass it to a command"


def printable(path: str) -> str:
    """A path as text, with bytes that are not text shown as `\\x..`."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def describe_entry(entry: FileEntry) -> EntryFacts:
    """Describe an entry for results."""
    shown = printable(entry.path)
    facts: EntryFacts = {"path": shown, "type": entry.kind, "modified": to_iso(entry.status.st_mtime)}
    if entry.kind == "file":
        facts["size"] = entry.status.st_size
    if shown != entry.path:
        facts["note"] = _UNUSABLE_NAME
    return facts
