"""Shared parts of the file commands: the family, parameter types, and the description of an entry."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from doorward.backends.file.shapes import EntryFacts
from doorward.beneath import Entry
from doorward.clock import iso
from doorward.command import Family

family = Family("file", category="files")

FilePath = Annotated[
    str, Meta(description="File path in the workspace, such as notes/today.md", min_length=1, max_length=4096)
]
FolderPath = Annotated[
    str, Meta(description="Folder path in the workspace; '.' is the workspace itself", max_length=4096)
]
Digest = Annotated[
    Annotated[str, Meta(pattern="^([0-9a-f]{64})?$")] | None,
    Meta(description="SHA-256 of the file when you last read it, empty for no file; the call is refused if it differs"),
]
Hidden = Annotated[bool, Meta(description="Include names that start with a dot")]

_UNUSABLE_NAME = "this name is not valid text, so you cannot pass it to a command"


def printable(path: str) -> str:
    """A path as text, with bytes that are not text shown as `\\x..`."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def described(entry: Entry) -> EntryFacts:
    """Describe an entry for results."""
    shown = printable(entry.path)
    facts: EntryFacts = {"path": shown, "type": entry.kind, "modified": iso(entry.status.st_mtime)}
    if entry.kind == "file":
        facts["size"] = entry.status.st_size
    if shown != entry.path:
        facts["note"] = _UNUSABLE_NAME
    return facts
