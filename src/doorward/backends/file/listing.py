"""file/list."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from msgspec import Meta

from doorward.backends.context import Context
from doorward.backends.context import listing as result
from doorward.backends.file.family import FolderPath, Hidden, described, family
from doorward.beneath import Root, normal
from doorward.command import READS_ONLY, Example
from doorward.facts import Access, Effects, Safety, Tier


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
    recursive: Annotated[bool, Meta(description="Whether to go into the folders below, too")] = False,
    limit: Annotated[int, Meta(description="The most entries to give", ge=1, le=10_000)] = 500,
    hidden: Hidden = False,
) -> dict[str, Any]:
    """List a folder of the workspace: names, types, sizes and times, in the order of names."""
    return await asyncio.to_thread(_list, ctx, normal(path), recursive, limit, hidden)


def _list(ctx: Context, path: str, recursive: bool, limit: int, hidden: bool) -> dict[str, Any]:
    items: list[dict[str, Any]] = []
    cut = False
    with Root(ctx.workspace) as root:
        walk = root.walk(path, recursive=recursive, hidden=hidden)
        for entry in walk:
            if len(items) == limit:
                cut = True
                break
            items.append(described(entry))
    return result(items, path=path, cut=cut, hiddenLeftOut=walk.left_out, unreadable=walk.unreadable)
