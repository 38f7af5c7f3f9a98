"""Commands vfs/list, vfs/read, vfs/stat, vfs/find and vfs/tree."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta

from doorward.commands.ai import parse_time
from doorward.commands.context import Context
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import READS_ONLY, Example, shorten
from doorward.core.errors import BadParams
from doorward.gate.recipes.globs import compile_glob
from doorward.shell.vfs.mount import DEFAULT_LINES, ListOptions, ReadSpan
from doorward.shell.vfs.schema import (
    FindResult,
    IncludeHidden,
    VirtualContent,
    VirtualFile,
    VirtualListing,
    VirtualPath,
    family,
)
from doorward.shell.vfs.schema import TreeDrawing as Drawn
from doorward.shell.vfs.traversal import draw_tree, walk_tree
from doorward.shell.vfs.tree import VirtualTree


@family.command(
    "list",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=0,
    timeout=30,
    undo=READS_ONLY,
    examples=[
        Example("what is in my home directory", {"path": "~"}),
        Example("which collections of data are there", {"path": "/data"}),
        Example("everything below src", {"path": "/workspace/src", "recursive": True}),
    ],
    related=["vfs/read", "vfs/find", "vfs/tree", "file/list"],
    nests_calls=True,
)
async def list_(
    ctx: Context,
    path: VirtualPath = "/workspace",
    recursive: Annotated[bool, Meta(description="Whether to include the folders below")] = False,
    hidden: IncludeHidden = False,
    limit: Annotated[int, Meta(description="Maximum entries", ge=1, le=10_000)] = 500,
) -> VirtualListing:
    """List a folder of the virtual tree: files, your home, collections and records, executions, server state.

    /workspace, /home/<user> and /tmp are files; /data/<collection>/<id> are records; /system is the state of the
    server and /proc are your executions. Each access is an inner call of the command that shows the same.
    """
    tree = VirtualTree(ctx)
    return await tree.items(tree.absolute(path), ListOptions(recursive=recursive, limit=limit, hidden=hidden))


@family.command(
    "read",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=0,
    timeout=30,
    undo=READS_ONLY,
    examples=[
        Example("show my note of today", {"path": "/workspace/notes/today.md"}),
        Example("show the record of the room general", {"path": "/data/rooms/general"}),
        Example("the last 20 lines of server.log", {"path": "server.log", "tail": 20}),
    ],
    related=["vfs/list", "vfs/stat", "file/read", "data/read"],
    nests_calls=True,
)
async def read(
    ctx: Context,
    path: VirtualPath,
    offset: Annotated[int, Meta(description="The first line to read, counted from 1", ge=1, le=2**53)] = 1,
    limit: Annotated[
        Annotated[int, Meta(ge=1, le=1_000_000)] | None,
        Meta(description=f"Number of lines to read; default {DEFAULT_LINES}"),
    ] = None,
    tail: Annotated[
        Annotated[int, Meta(ge=1, le=100_000)] | None,
        Meta(description="Number of lines to read from the end, instead of offset and limit"),
    ] = None,
    encoding: Annotated[
        Literal["utf-8", "base64"], Meta(description="utf-8 for text; base64 for the whole file as bytes")
    ] = "utf-8",
) -> VirtualContent:
    """Read a virtual file as text, whole or by lines: a file, a record as JSON, the output of an execution, the log."""
    encoded = encoding == "base64"
    if (encoded or tail is not None) and (offset != 1 or limit is not None):
        raise BadParams("offset and limit count lines from the start; omit them with tail and with base64.")
    if encoded and tail is not None:
        raise BadParams("tail counts lines of text; omit it with base64.")
    tree = VirtualTree(ctx)
    return await tree.read(tree.absolute(path), ReadSpan(offset=offset, limit=limit, tail=tail, encoded=encoded))


@family.command(
    "stat",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=0,
    timeout=30,
    undo=READS_ONLY,
    examples=[Example("how large is server.log, and when did it change", {"path": "/workspace/server.log"})],
    related=["vfs/list", "file/stat"],
    nests_calls=True,
)
async def stat(ctx: Context, path: VirtualPath) -> VirtualFile:
    """Show the kind, size and time of the last change of a virtual path and, for workspace files, its digest."""
    tree = VirtualTree(ctx)
    return await tree.item(tree.absolute(path))


_SIZE = re.compile(r"([0-9]{1,15})(?:\.([0-9]{1,3}))?\s*([kmgt]?)i?b?", re.IGNORECASE)
_UNITS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}

Size = Annotated[str, Meta(description="In bytes, or such as 10k, 1MB or 2.5G (units of 1024)", max_length=30)]
When = Annotated[
    str, Meta(description="A time: 2026-11-16, 2026-11-16T08:00:00Z, or an age such as 30m, 12h, 7d", max_length=40)
]


@family.command(
    "find",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=0,
    timeout=60,
    undo=READS_ONLY,
    examples=[
        Example("find all python files and show their sizes", {"name": "*.py", "kind": "file"}),
        Example("list files larger than 1 MB modified this week", {"larger": "1MB", "newer": "7d", "kind": "file"}),
        Example("files older than 30 days in tmp", {"path": "/tmp", "older": "30d", "kind": "file"}),  # noqa: S108
        Example("the five biggest files", {"kind": "file", "sort": "size", "descending": True, "limit": 5}),
    ],
    related=["vfs/list", "vfs/remove", "file/search"],
    nests_calls=True,
)
async def find(
    ctx: Context,
    path: VirtualPath = "/workspace",
    name: Annotated[
        str,
        Meta(
            description="A name pattern, such as *.py; with a slash, it matches paths below the folder", max_length=500
        ),
    ] = "",
    kind: Annotated[Literal["any", "file", "folder"], Meta(description="Only files, or only folders")] = "any",
    larger: Size = "",
    smaller: Size = "",
    newer: When = "",
    older: When = "",
    sort: Annotated[Literal["name", "size", "time"], Meta(description="The sort key")] = "name",
    descending: Annotated[bool, Meta(description="Whether the largest or newest comes first")] = False,
    ignore_case: Annotated[bool, Meta(description="Whether the name pattern ignores case")] = False,
    hidden: IncludeHidden = False,
    limit: Annotated[int, Meta(description="Maximum results", ge=1, le=10_000)] = 200,
) -> FindResult:
    """Find virtual files by name, kind, size and time, sorted, with their sizes and times.

    `larger`, `smaller`, `newer` and `older` exclude entries without a known size or time.
    """
    tree = VirtualTree(ctx)
    start = tree.absolute(path)
    now = ctx.services.clock.now()
    fits = [
        _name_filter(name, start, ignore_case),
        _kind_filter(kind),
        _size_filter(larger, smaller),
        _time_filter(newer, older, now),
    ]
    all_ = await walk_tree(tree, start, hidden=hidden)
    matching = [one for one in all_.items if all(fit(one) for fit in fits)]
    matching.sort(key=_ORDER[sort], reverse=descending)
    notes = [all_.note] if all_.cut else []
    if len(matching) > limit:
        notes.append(f"only {limit} of {len(matching)} are shown")
    return {
        "items": matching[:limit],
        "matched": len(matching),
        "bytes": sum(one.get("size", 0) for one in matching),
        "looked": len(all_.items),
        "cut": all_.cut or len(matching) > limit,
        "note": "; ".join(notes),
    }


@family.command(
    "tree",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=0,
    timeout=60,
    undo=READS_ONLY,
    examples=[Example("draw the folders below src", {"path": "/workspace/src", "depth": 2})],
    related=["vfs/list", "vfs/find"],
    nests_calls=True,
)
async def tree(
    ctx: Context,
    path: VirtualPath = "/workspace",
    depth: Annotated[int, Meta(description="Maximum depth in folders", ge=1, le=50)] = 5,
    folders_only: Annotated[bool, Meta(description="Whether to omit files")] = False,
    hidden: IncludeHidden = False,
    limit: Annotated[int, Meta(description="Maximum lines", ge=1, le=5_000)] = 500,
) -> Drawn:
    """Draw a folder of the virtual tree with branches, and count its folders and files."""
    whole = VirtualTree(ctx)
    start = whole.absolute(path)
    met = await walk_tree(whole, start, hidden=hidden)
    items = [one for one in met.items if one["kind"] == "folder" or not folders_only]
    text, cut = draw_tree(start, items, depth, limit)
    return {
        "path": start,
        "text": text,
        "folders": sum(one["kind"] == "folder" for one in items),
        "files": sum(one["kind"] != "folder" for one in items),
        "cut": cut or met.cut,
    }


_ORDER: dict[str, Callable[[VirtualFile], tuple[int | str, str]]] = {
    "name": lambda one: (one["path"], ""),
    "size": lambda one: (one.get("size", 0), one["path"]),
    "time": lambda one: (one.get("modified", ""), one["path"]),
}


def _name_filter(glob: str, start: str, ignore_case: bool) -> Callable[[VirtualFile], bool]:
    """A filter by name pattern. Without a slash it matches the last name, otherwise the path below the start."""
    if not glob:
        return lambda _: True
    try:
        fits = compile_glob(glob.lower() if ignore_case else glob)
    except ValueError as error:
        raise BadParams(f"The name is not a valid pattern: {error}; given {shorten(glob)}.") from error
    whole = "/" in glob

    def named(one: VirtualFile) -> bool:
        text = one["path"][len(start) :].lstrip("/") if whole else one["name"]
        return fits(text.lower() if ignore_case else text)

    return named


def _kind_filter(kind: str) -> Callable[[VirtualFile], bool]:
    return lambda one: kind in ("any", one["kind"])


def _size_filter(larger: str, smaller: str) -> Callable[[VirtualFile], bool]:
    least, most = parse_size(larger) if larger else None, parse_size(smaller) if smaller else None
    if least is None and most is None:
        return lambda _: True
    return lambda one: "size" in one and (least is None or one["size"] > least) and (most is None or one["size"] < most)


def _time_filter(newer: str, older: str, now: float) -> Callable[[VirtualFile], bool]:
    first = parse_time(newer, now) if newer else None
    last = parse_time(older, now) if older else None
    if first is None and last is None:
        return lambda _: True

    def fits(one: VirtualFile) -> bool:
        if "modified" not in one:
            return False
        at = int(datetime.fromisoformat(one["modified"]).timestamp() * 1_000_000)
        return (first is None or at >= first) and (last is None or at < last)

    return fits


def parse_size(text: str) -> int:
    """Parse a size such as 300, 10k or 1.5 MB into bytes."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise BadParams(f"Invalid size. Give bytes, or such as 10k, 1MB or 2.5G; given {shorten(text)}.")
    whole, fraction, unit = found.groups()
    return int(float(f"{whole}.{fraction or 0}") * 1024 ** _UNITS[unit.lower()])
