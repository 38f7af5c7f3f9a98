"""file/write."""

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

Content = Annotated[str, Meta(description="The whole new content of the file")]
Encoding = Annotated[Literal["utf-8", "base64"], Meta(description="How content is given: as text, or as base64")]
CreateParents = Annotated[bool, Meta(description="Whether missing folders of the path are made")]


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
        Example("store bytes that are no text", {"path": "pixel.bin", "content": "AAECAw==", "encoding": "base64"}),
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
    """Write a whole file, new or in the place of the old one.

    What it replaces is kept; file/undo with the execution of this call brings it back.
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
