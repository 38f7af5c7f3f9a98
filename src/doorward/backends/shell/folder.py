"""The command shell/cd."""

from __future__ import annotations

import asyncio
from typing import Annotated

from msgspec import Meta

from doorward.backends.context import Context
from doorward.backends.shell.family import StartFolder, family
from doorward.backends.shell.shapes import Place
from doorward.beneath import Root
from doorward.catalogue.paths import folder_inside, inside
from doorward.command import READS_ONLY, Example
from doorward.errors import BadParams
from doorward.facts import Access, Effects, Safety, Tier
from doorward.sandbox.view import WORKSPACE


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
) -> Place:
    """Check that a folder exists, and return the `folder` to pass to commands that work there.

    Every program runs as its own call, so no current folder is kept between calls: the folder is part of the call, and
    of what a person approves. In a shell/script, `cd` applies to the steps that follow.
    """
    start = folder_inside(folder)
    there = folder_inside(inside(path, start) if start == "." else f"{start}/{inside(path, start)}")
    await asyncio.to_thread(_look, ctx, there)
    return {"folder": there, "next": f'pass "folder": "{there}" to run a command there'}


def _look(ctx: Context, folder: str) -> None:
    with Root(ctx.workspace) as root:
        kind = root.entry(folder, follow=True).kind
    if kind != "folder":
        raise BadParams(f"{folder!r} is a {kind}. Give the path of a folder.")
