"""The command file/list."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Annotated, Any, cast

from msgspec import Meta

from doorward.backends.context import Context
from doorward.backends.file.family import FolderPath, Hidden, described, family
from doorward.backends.file.shapes import Folder
from doorward.beneath import Entry, Root, normal
from doorward.command import READS_ONLY, Example
from doorward.facts import Access, Effects, Safety, Tier

Describe = Callable[[Entry], Mapping[str, Any]]


@family.command(
    "list",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=15,
    undo=READS_ONLY,
    examples=[
        Example("what is in the workspace", {}),
        Example("list everything below src", {"path": "src", "recursive": True}),
    ],
    related=["file/stat", "file/search"],
)
async def list_(
    ctx: Context,
    path: FolderPath = ".",
    recursive: Annotated[bool, Meta(description="Include the contents of subfolders")] = False,
    limit: Annotated[int, Meta(description="Maximum number of entries", ge=1, le=10_000)] = 500,
    hidden: Hidden = False,
) -> Folder:
    """List a folder of the workspace: names, types, sizes and times, sorted by name."""
    shown = await listed(ctx, normal(path), described, recursive=recursive, limit=limit, hidden=hidden)
    return cast("Folder", shown)


async def listed(ctx: Context, path: str, describe: Describe, **how: Any) -> dict[str, Any]:
    """List the entries of a folder, each described by `describe`; `how` are the options of `_list`."""
    return await asyncio.to_thread(_list, ctx, path, describe, **how)


def _list(ctx: Context, path: str, describe: Describe, *, recursive: bool, limit: int, hidden: bool) -> dict[str, Any]:
    items: list[Mapping[str, Any]] = []
    cut = False
    with Root(ctx.workspace) as root:
        walk = root.walk(path, recursive=recursive, hidden=hidden)
        for entry in walk:
            if len(items) == limit:
                cut = True
                break
            items.append(describe(entry))
    return {
        "items": items,
        "path": path,
        "cut": cut,
        "hiddenLeftOut": walk.left_out,
        "unreadable": walk.unreadable,
    }
