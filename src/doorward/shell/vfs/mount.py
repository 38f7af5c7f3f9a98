"""The base class of mounts, the top-level folders of the virtual tree, and helpers for their results."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Literal

import msgspec

from doorward.commands.context import Context
from doorward.core.command import shorten
from doorward.core.errors import BadParams, NotFound
from doorward.shell.vfs.paths import name_of
from doorward.shell.vfs.schema import FileKind, VirtualChange, VirtualContent, VirtualFile, VirtualListing

DEFAULT_LINES = 2_000
READ_ONLY_NOTE = "system"
"""The beginning of the note of an entry that only the server changes."""
_MOST_NAMED = 20

AppendMode = bool | Literal["line"]
"""Whether to append; "line" starts a new line if necessary."""
PathParts = tuple[str, ...]
"""The names of a path below the root of a mount; empty for the root itself."""


class ListOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a listing."""

    recursive: bool = False
    limit: int = 500
    hidden: bool = False


class ReadSpan(msgspec.Struct, frozen=True, kw_only=True):
    """The lines of a text to read: from `offset` on, or the last `tail` lines."""

    offset: int = 1
    limit: int | None = None
    tail: int | None = None
    encoded: bool = False
    """Whether to read the whole content as base64."""


class Mount:
    """One top-level folder of the tree; each access is an inner call."""

    def __init__(self, ctx: Context, root: str) -> None:
        self.ctx = ctx
        self.root = root

    def path(self, parts: PathParts) -> str:
        return "/".join((self.root, *parts)) if parts else self.root

    async def item(self, parts: PathParts) -> VirtualFile:
        raise NotImplementedError

    async def items(self, parts: PathParts, look: ListOptions) -> VirtualListing:
        raise NotImplementedError

    async def read(self, parts: PathParts, span: ReadSpan) -> VirtualContent:
        raise NotImplementedError

    async def write(
        self, parts: PathParts, content: str, *, encoding: str, append: AppendMode, parents: bool, digest: str | None
    ) -> VirtualChange:
        raise self.read_only_error(parts, "written")

    async def make(self, parts: PathParts, *, parents: bool) -> VirtualChange:
        raise self.read_only_error(parts, "made")

    async def remove(self, many: Sequence[PathParts], *, recursive: bool) -> list[VirtualChange]:
        raise self.read_only_error(many[0], "removed")

    def read_only_error(self, parts: PathParts, done: str) -> BadParams:
        return BadParams(
            f"{self.path(parts)} cannot be {done}: {self.root} is read-only; write files below /workspace, your home"
            " and /tmp, and records below /data."
        )


def folder_item(path: str, note: str = "") -> VirtualFile:
    found: VirtualFile = {"path": path, "name": name_of(path), "kind": "folder"}
    if note:
        found["note"] = note
    return found


def file_item(path: str, *, size: int | None = None, modified: str = "", note: str = "") -> VirtualFile:
    found: VirtualFile = {"path": path, "name": name_of(path), "kind": "file"}
    if size is not None:
        found["size"] = size
    if modified:
        found["modified"] = modified
    if note:
        found["note"] = note
    return found


def make_listing(path: str, items: list[VirtualFile], *, cut: bool = False, note: str = "") -> VirtualListing:
    return {"items": items, "path": path, "cut": cut, "note": note}


def file_kind(kind: str) -> FileKind:
    return kind if kind in ("file", "folder", "symlink") else "other"  # type: ignore[return-value]


def missing_error(path: str, known: Sequence[str] = ()) -> NotFound:
    """The error for a missing file, with the names that exist."""
    shown = ", ".join(known[:_MOST_NAMED]) + (", …" if len(known) > _MOST_NAMED else "")
    parent = path.rpartition("/")[0] or "/"
    return NotFound(f"There is no {shorten(path)}.{f' {parent} contains: {shown}.' if known else ''}")


def is_folder_error(path: str) -> BadParams:
    return BadParams(f"{path} is a folder; vfs/list shows its contents.")


def slice_text(path: str, text: str, span: ReadSpan) -> VirtualContent:
    """Read a generated text like a file, whole or by lines."""
    raw = text.encode()
    if span.encoded:
        whole = base64.b64encode(raw).decode()
        return {"path": path, "content": whole, "encoding": "base64", "size": len(raw), "cut": False}
    lines = text.splitlines(keepends=True)
    first = max(1, len(lines) - span.tail + 1) if span.tail is not None else span.offset
    if first > max(1, len(lines)):
        raise BadParams(f"offset is {first}, but {path} has {len(lines)} lines; the maximum is {max(1, len(lines))}.")
    limit = span.tail if span.tail is not None else DEFAULT_LINES if span.limit is None else span.limit
    shown = lines[first - 1 : first - 1 + limit]
    last = first - 1 + len(shown)
    found: VirtualContent = {
        "path": path,
        "content": "".join(shown),
        "encoding": "utf-8",
        "size": len(raw),
        "lines": len(lines),
        "firstLine": first,
        "lastLine": last,
        "cut": last < len(lines),
    }
    if last < len(lines):
        found["nextOffset"] = last + 1
    return found
