"""The command shell/files."""

from __future__ import annotations

import stat
from typing import Annotated, cast

from msgspec import Meta

from doorward.backends.context import Context
from doorward.backends.file.family import FolderPath, Hidden, described
from doorward.backends.file.listing import listed
from doorward.backends.file.shapes import DetailedFacts, DetailedFolder
from doorward.backends.shell.family import family
from doorward.beneath import Entry
from doorward.catalogue.paths import folder_inside
from doorward.command import READS_ONLY, Example
from doorward.facts import Access, Effects, Safety, Tier


@family.command(
    "files",
    tier=Tier.CODE,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=15,
    undo=READS_ONLY,
    examples=[
        Example("everything below src with modes and sizes", {"path": "src", "recursive": True}),
        Example("include hidden files", {"hidden": True}),
    ],
    related=["file/list", "file/stat"],
)
async def list_files(
    ctx: Context,
    path: FolderPath = ".",
    recursive: Annotated[bool, Meta(description="Include the contents of subfolders")] = False,
    hidden: Hidden = False,
    limit: Annotated[int, Meta(description="Maximum number of entries", ge=1, le=10_000)] = 500,
) -> DetailedFolder:
    """List a folder of the workspace with all attributes of each entry: mode, owner, links, size, times."""
    shown = await listed(ctx, folder_inside(path), _in_detail, recursive=recursive, limit=limit, hidden=hidden)
    return cast("DetailedFolder", shown)


def _in_detail(entry: Entry) -> DetailedFacts:
    facts = entry.status
    return {
        **described(entry),
        "mode": stat.filemode(facts.st_mode),
        "permissions": f"{stat.S_IMODE(facts.st_mode):04o}",
        "owner": facts.st_uid,
        "group": facts.st_gid,
        "links": facts.st_nlink,
    }
