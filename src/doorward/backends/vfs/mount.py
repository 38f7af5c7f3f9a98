"""The base class of mounts, the top-level folders of the virtual tree, and helpers for their results."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Literal

import msgspec

from doorward.backends.context import Context
from doorward.backends.vfs.paths import name_of
from doorward.backends.vfs.shapes import Content, Item, Kind, Listed, VirtualChange
from doorward.command import shortened
from doorward.errors import BadParams, NotFound

LINES = 2_000
FIXED = "system"
"""The beginning of the note of an entry that only the server changes."""
_MOST_NAMED = 20

Appends = bool | Literal["line"]
"""Whether to append; "line" starts a new line if necessary."""
Parts = tuple[str, ...]
"""The names of a path below the root of a mount; empty for the root itself."""


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a listing."""

    recursive: bool = False
    limit: int = 500
    hidden: bool = False


class Span(msgspec.Struct, frozen=True, kw_only=True):
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

    def path(self, parts: Parts) -> str:
        return "/".join((self.root, *parts)) if parts else self.root

    async def item(self, parts: Parts) -> Item:
        raise NotImplementedError

    async def items(self, parts: Parts, look: Look) -> Listed:
        raise NotImplementedError

    async def read(self, parts: Parts, span: Span) -> Content:
        raise NotImplementedError

    async def write(
        self, parts: Parts, content: str, *, encoding: str, append: Appends, parents: bool, digest: str | None
    ) -> VirtualChange:
        raise self.fixed(parts, "written")

    async def make(self, parts: Parts, *, parents: bool) -> VirtualChange:
        raise self.fixed(parts, "made")

    async def remove(self, many: Sequence[Parts], *, recursive: bool) -> list[VirtualChange]:
        raise self.fixed(many[0], "removed")

    def fixed(self, parts: Parts, done: str) -> BadParams:
        return BadParams(
            f"{self.path(parts)} cannot be {done}: {self.root} is read-only; write files below /workspace, your home"
            " and /tmp, and records below /data."
        )


def folder(path: str, note: str = "") -> Item:
    found: Item = {"path": path, "name": name_of(path), "kind": "folder"}
    if note:
        found["note"] = note
    return found


def file(path: str, *, size: int | None = None, modified: str = "", note: str = "") -> Item:
    found: Item = {"path": path, "name": name_of(path), "kind": "file"}
    if size is not None:
        found["size"] = size
    if modified:
        found["modified"] = modified
    if note:
        found["note"] = note
    return found


def listed(path: str, items: list[Item], *, cut: bool = False, note: str = "") -> Listed:
    return {"items": items, "path": path, "cut": cut, "note": note}


def of_kind(kind: str) -> Kind:
    return kind if kind in ("file", "folder", "symlink") else "other"  # type: ignore[return-value]


def missing(path: str, known: Sequence[str] = ()) -> NotFound:
    """The error for a missing file, with the names that exist."""
    shown = ", ".join(known[:_MOST_NAMED]) + (", …" if len(known) > _MOST_NAMED else "")
    parent = path.rpartition("/")[0] or "/"
    return NotFound(f"There is no {shortened(path)}.{f' {parent} contains: {shown}.' if known else ''}")


def is_folder(path: str) -> BadParams:
    return BadParams(f"{path} is a folder; vfs/list shows its contents.")


def sliced(path: str, text: str, span: Span) -> Content:
    """Read a generated text like a file, whole or by lines."""
    raw = text.encode()
    if span.encoded:
        whole = base64.b64encode(raw).decode()
        return {"path": path, "content": whole, "encoding": "base64", "size": len(raw), "cut": False}
    lines = text.splitlines(keepends=True)
    first = max(1, len(lines) - span.tail + 1) if span.tail is not None else span.offset
    if first > max(1, len(lines)):
        raise BadParams(f"offset is {first}, but {path} has {len(lines)} lines; the maximum is {max(1, len(lines))}.")
    limit = span.tail if span.tail is not None else LINES if span.limit is None else span.limit
    shown = lines[first - 1 : first - 1 + limit]
    last = first - 1 + len(shown)
    found: Content = {
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
