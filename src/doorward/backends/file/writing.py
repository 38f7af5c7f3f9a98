"""The command file/write."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from doorward.backends.context import Context
from doorward.backends.file.changing import KIND, Make, change, expected, foreseen_by_effect, preview, sizes
from doorward.backends.file.family import Digest, FilePath, family
from doorward.backends.file.shapes import Written
from doorward.backends.file.text import from_parameter
from doorward.beneath import normal
from doorward.command import Example, Undo
from doorward.facts import Access, Effects, Safety, Tier

Content = Annotated[str, Meta(description="The complete new content of the file")]
Encoding = Annotated[Literal["utf-8", "base64"], Meta(description="The encoding of content: utf-8 text or base64")]
CreateParents = Annotated[bool, Meta(description="Create missing folders of the path")]


@family.command(
    "write",
    tier=Tier.CODE,
    effects=Effects.READ | Effects.WRITE,
    access=Access.EDIT,
    safety=Safety.CAUTION,
    cost=2,
    timeout=30,
    undo=Undo(KIND),
    examples=[
        Example("save a note", {"path": "notes/today.md", "content": "Call the plumber.\n"}),
        Example("save a binary file", {"path": "pixel.bin", "content": "AAECAw==", "encoding": "base64"}),
    ],
    related=["file/edit", "file/read", "file/undo"],
    reveals="file/read",
)
async def write(
    ctx: Context,
    path: FilePath,
    content: Content,
    encoding: Encoding = "utf-8",
    create_parents: CreateParents = True,
    expected_digest: Digest = None,
) -> Written:
    """Write a file: create it, or replace its whole content.

    To restore the old content, run file/undo with the execution id of this call.
    """
    name = normal(path, file=True)
    make = expected(_content(content, encoding), name, expected_digest)
    (done,) = await change(ctx, {name: make}, parents=create_parents)
    return {**sizes(done), "digest": done.digest, "execution": ctx.call.id}


@write.shows_effect
async def show_write(
    ctx: Context,
    path: FilePath,
    content: Content,
    encoding: Encoding = "utf-8",
    create_parents: CreateParents = True,
    expected_digest: Digest = None,
) -> dict[str, Any]:
    name = normal(path, file=True)
    make = expected(_content(content, encoding), name, expected_digest)
    return await preview(ctx, name, make, parents=create_parents)


foreseen_by_effect(write)


def _content(content: str, encoding: str) -> Make:
    return lambda _: from_parameter(content, encoding)
