"""What all file commands share: the family they belong to and the way they name files and times."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from doorward.backends.file.shapes import EntryFacts
from doorward.beneath import Entry
from doorward.clock import iso
from doorward.command import Family

family = Family("file", category="files")

FilePath = Annotated[
    str, Meta(description="The file, relative to the workspace, such as notes/today.md", min_length=1, max_length=4096)
]
FolderPath = Annotated[
    str, Meta(description="The folder, relative to the workspace; '.' is the workspace itself", max_length=4096)
]
Digest = Annotated[
    Annotated[str, Meta(pattern="^([0-9a-f]{64})?$")] | None,
    Meta(description="SHA-256 of the file as you last saw it (empty: it must not exist yet); refused when it differs"),
]
Hidden = Annotated[bool, Meta(description="Whether to include names that start with a dot")]

_UNUSABLE_NAME = "this name is not valid text, so no command can be given it"


def printable(path: str) -> str:
    """A path as text; bytes in it that are no text are shown as `\\x..`."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def described(entry: Entry) -> EntryFacts:
    """An entry as results show it."""
    shown = printable(entry.path)
    facts: EntryFacts = {"path": shown, "type": entry.kind, "modified": iso(entry.status.st_mtime)}
    if entry.kind == "file":
        facts["size"] = entry.status.st_size
    if shown != entry.path:
        facts["note"] = _UNUSABLE_NAME
    return facts
