"""Commands shell/files and shell/cd."""

from __future__ import annotations

import asyncio
import stat
from typing import Annotated, cast

from msgspec import Meta

from doorward.commands.catalogue.arguments import normalize_folder, program_path
from doorward.commands.context import Context
from doorward.commands.file.family import DetailedFacts, DetailedListing, FolderPath, Hidden, describe_entry
from doorward.commands.file.inspection import list_entries
from doorward.commands.programs.family import FolderFacts, StartFolder, family
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import READS_ONLY, Example
from doorward.core.errors import BadParams
from doorward.sandbox.safefs import FileEntry, SafeRoot
from doorward.sandbox.view import WORKSPACE


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
) -> DetailedListing:
    """List a folder of the workspace with all attributes of each entry: mode, owner, links, size, times."""
    shown = await list_entries(
        ctx, normalize_folder(path), _describe_detail, recursive=recursive, limit=limit, hidden=hidden
    )
    return cast("DetailedListing", shown)


list_files.path_parameter = "path"


def _describe_detail(entry: FileEntry) -> DetailedFacts:
    facts = entry.status
    return {
        **describe_entry(entry),
        "mode": stat.filemode(facts.st_mode),
        "permissions": f"{stat.S_IMODE(facts.st_mode):04o}",
        "owner": facts.st_uid,
        "group": facts.st_gid,
        "links": facts.st_nlink,
    }


@family.command(
    "cd",
    tier=Tier.CODE,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=5,
    undo=READS_ONLY,
    examples=[Example("change to the folder src", {"path": "src"})],
    related=["shell/context", "shell/script"],
)
async def change_folder(
    ctx: Context,
    path: Annotated[str, Meta(description="The folder to go to", min_length=1, max_length=4096)] = WORKSPACE,
    folder: StartFolder = ".",
) -> FolderFacts:
    """Check that a folder exists, and return the `folder` to pass to commands that work there.

    Every program runs as its own call, so no current folder is kept between calls: the folder is part of the call, and
    of what a person approves. In a shell/script, `cd` applies to the steps that follow.
    """
    start = normalize_folder(folder)
    there = normalize_folder(program_path(path, start) if start == "." else f"{start}/{program_path(path, start)}")
    await asyncio.to_thread(_check_folder, ctx, there)
    return {"folder": there, "next": f'pass "folder": "{there}" to run a command there'}


def _check_folder(ctx: Context, folder: str) -> None:
    with SafeRoot(ctx.workspace) as root:
        kind = root.stat(folder, follow=True).kind
    if kind != "folder":
        raise BadParams(f"{folder!r} is a {kind}. Give the path of a folder.")
