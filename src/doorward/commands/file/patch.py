"""Command file/patch: change several files at once, all or none."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from msgspec import Meta

from doorward.commands.context import Context
from doorward.commands.file.changes import (
    KIND,
    ContentFunction,
    FileChange,
    change_files,
    describe_sizes,
    plan_changes,
    register_diff_preview,
    render_diffs,
)
from doorward.commands.file.edits import delete, edit, write
from doorward.commands.file.family import FilesPatched, family
from doorward.commands.file.patch_application import apply_patch
from doorward.commands.file.patch_parser import FilePatch, parse_patch
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import Command, Example, Undo

PatchText = Annotated[
    str,
    Meta(
        description="A unified diff, or a patch from '*** Begin Patch' to '*** End Patch'; lines must match exactly",
        min_length=1,
        max_length=2_000_000,
    ),
]


@family.command(
    "patch",
    tier=Tier.CODE,
    effects=Effects.READ | Effects.WRITE,
    access=Access.EDIT,
    safety=Safety.CAUTION,
    cost=3,
    timeout=30,
    undo=Undo(KIND),
    examples=[
        Example(
            "apply this diff",
            {"patch": "--- a/server.conf\n+++ b/server.conf\n@@ -1 +1 @@\n-port = 80\n+port = 8080\n"},
        ),
        Example(
            "change the port and remove the old draft",
            {
                "patch": "*** Begin Patch\n*** Update File: server.conf\n-port = 80\n+port = 8080\n"
                "*** Delete File: drafts/old.md\n*** End Patch\n"
            },
        ),
    ],
    related=["file/edit", "file/write", "file/undo"],
    reveals="file/read",
)
async def patch(ctx: Context, patch: PatchText) -> FilesPatched:
    """Change, add, move and delete several files with one patch. If a part of it does not apply, nothing is changed.

    The room's rules for file/edit, file/write and file/delete apply to each file in it.
    """
    done = await change_files(ctx, _content_functions(patch), parents=True)
    diff = await asyncio.to_thread(render_diffs, done)
    return {
        "files": [{**describe_sizes(one), "digest": one.digest, "deleted": one.after is None} for one in done],
        "diff": diff.shorten(),
        "execution": ctx.call.id,
    }


@register_diff_preview(patch)
async def plan_patch(ctx: Context, patch: PatchText) -> list[FileChange]:
    return await plan_changes(ctx, _content_functions(patch), parents=True)


def find_parts(params: Mapping[str, Any]) -> Iterable[tuple[Command, Mapping[str, Any]]]:
    """The file commands that would make the same changes."""
    for one in parse_patch(params["patch"]):
        if one.action == "add":
            yield write, {"path": one.path, "content": "".join(line for hunk in one.hunks for line in hunk.new)}
        elif one.action == "delete":
            yield delete, {"path": one.path}
        else:
            yield edit, {"path": one.path}
            if one.move_to:
                yield delete, {"path": one.path}
                yield write, {"path": one.move_to}


patch.find_parts = find_parts
patch.part_parameters = frozenset({"path"})


def _content_functions(text: str) -> dict[str, ContentFunction]:
    makes: dict[str, ContentFunction] = {}
    for one in parse_patch(text):
        if one.move_to:
            makes |= _move_functions(one)
        else:
            makes[one.path] = _bind(one)
    return makes


def _bind(one: FilePatch) -> ContentFunction:
    return lambda present: apply_patch(one, present)


def _move_functions(one: FilePatch) -> dict[str, ContentFunction]:
    """The old path first: the new one gets its content."""
    moved: list[bytes | None] = []

    def leave(present: bytes | None) -> None:
        moved.append(apply_patch(one, present))

    def arrive(present: bytes | None) -> bytes | None:
        apply_patch(FilePatch(one.move_to, "add"), present)  # nothing may be there
        return moved[-1]

    return {one.path: leave, one.move_to: arrive}
