"""The commands vfs/find and vfs/tree."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta

from doorward.backends.ai import moment
from doorward.backends.context import Context
from doorward.backends.vfs.drawing import drawn
from doorward.backends.vfs.family import Hidden, VirtualPath, family
from doorward.backends.vfs.shapes import Found, Item
from doorward.backends.vfs.shapes import Tree as Drawn
from doorward.backends.vfs.tree import Tree
from doorward.backends.vfs.walking import walked
from doorward.command import READS_ONLY, Example, shortened
from doorward.errors import BadParams
from doorward.facts import Access, Effects, Safety, Tier
from doorward.recipes.globs import compile_glob

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
    works_by_calls=True,
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
    hidden: Hidden = False,
    limit: Annotated[int, Meta(description="Maximum results", ge=1, le=10_000)] = 200,
) -> Found:
    """Find virtual files by name, kind, size and time, sorted, with their sizes and times.

    `larger`, `smaller`, `newer` and `older` exclude entries without a known size or time.
    """
    tree = Tree(ctx)
    start = tree.absolute(path)
    now = ctx.house.clock.now()
    fits = [
        _named(name, start, ignore_case),
        _kind(kind),
        _size(larger, smaller),
        _time(newer, older, now),
    ]
    all_ = await walked(tree, start, hidden=hidden)
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
    works_by_calls=True,
)
async def tree(
    ctx: Context,
    path: VirtualPath = "/workspace",
    depth: Annotated[int, Meta(description="Maximum depth in folders", ge=1, le=50)] = 5,
    folders_only: Annotated[bool, Meta(description="Whether to omit files")] = False,
    hidden: Hidden = False,
    limit: Annotated[int, Meta(description="Maximum lines", ge=1, le=5_000)] = 500,
) -> Drawn:
    """Draw a folder of the virtual tree with branches, and count its folders and files."""
    whole = Tree(ctx)
    start = whole.absolute(path)
    met = await walked(whole, start, hidden=hidden)
    items = [one for one in met.items if one["kind"] == "folder" or not folders_only]
    text, cut = drawn(start, items, depth, limit)
    return {
        "path": start,
        "text": text,
        "folders": sum(one["kind"] == "folder" for one in items),
        "files": sum(one["kind"] != "folder" for one in items),
        "cut": cut or met.cut,
    }


_ORDER: dict[str, Callable[[Item], tuple[int | str, str]]] = {
    "name": lambda one: (one["path"], ""),
    "size": lambda one: (one.get("size", 0), one["path"]),
    "time": lambda one: (one.get("modified", ""), one["path"]),
}


def _named(glob: str, start: str, ignore_case: bool) -> Callable[[Item], bool]:
    """A filter by name pattern. Without a slash it matches the last name, otherwise the path below the start."""
    if not glob:
        return lambda _: True
    try:
        fits = compile_glob(glob.lower() if ignore_case else glob)
    except ValueError as error:
        raise BadParams(f"The name is not a valid pattern: {error}; given {shortened(glob)}.") from error
    whole = "/" in glob

    def named(one: Item) -> bool:
        text = one["path"][len(start) :].lstrip("/") if whole else one["name"]
        return fits(text.lower() if ignore_case else text)

    return named


def _kind(kind: str) -> Callable[[Item], bool]:
    return lambda one: kind in ("any", one["kind"])


def _size(larger: str, smaller: str) -> Callable[[Item], bool]:
    least, most = size_of(larger) if larger else None, size_of(smaller) if smaller else None
    if least is None and most is None:
        return lambda _: True
    return lambda one: "size" in one and (least is None or one["size"] > least) and (most is None or one["size"] < most)


def _time(newer: str, older: str, now: float) -> Callable[[Item], bool]:
    first = moment(newer, now) if newer else None
    last = moment(older, now) if older else None
    if first is None and last is None:
        return lambda _: True

    def fits(one: Item) -> bool:
        if "modified" not in one:
            return False
        at = int(datetime.fromisoformat(one["modified"]).timestamp() * 1_000_000)
        return (first is None or at >= first) and (last is None or at < last)

    return fits


def size_of(text: str) -> int:
    """Parse a size such as 300, 10k or 1.5 MB into bytes."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise BadParams(f"Invalid size. Give bytes, or such as 10k, 1MB or 2.5G; given {shortened(text)}.")
    whole, fraction, unit = found.groups()
    return int(float(f"{whole}.{fraction or 0}") * 1024 ** _UNITS[unit.lower()])
