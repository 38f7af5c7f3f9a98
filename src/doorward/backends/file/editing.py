"""The command file/edit."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from msgspec import Meta

from doorward.backends.context import Context
from doorward.backends.file.changing import KIND, Make, change, foreseen_by_effect, preview, sizes
from doorward.backends.file.family import FilePath, family
from doorward.backends.file.shapes import Edited
from doorward.backends.file.text import as_text, unified
from doorward.beneath import normal
from doorward.command import Example, Undo
from doorward.errors import BadParams, Conflict, NotFound
from doorward.facts import Access, Effects, Safety, Tier

_PLACES_SHOWN = 10

OldString = Annotated[str, Meta(description="The text to replace, exactly as in the file", min_length=1)]
NewString = Annotated[str, Meta(description="The replacement text")]
ReplaceAll = Annotated[bool, Meta(description="Replace all occurrences; otherwise there must be exactly one")]


@family.command(
    "edit",
    tier=Tier.CODE,
    effects=Effects.READ | Effects.WRITE,
    access=Access.EDIT,
    safety=Safety.CAUTION,
    cost=2,
    timeout=30,
    undo=Undo(KIND),
    examples=[
        Example(
            "change the port in server.conf",
            {"path": "server.conf", "oldString": "port = 80", "newString": "port = 8080"},
        )
    ],
    related=["file/read", "file/write", "file/undo"],
    reveals="file/read",
)
async def edit(
    ctx: Context, path: FilePath, old_string: OldString, new_string: NewString, replace_all: ReplaceAll = False
) -> Edited:
    """Replace a text in a file, and show the diff.

    The old text must occur exactly once, unless replaceAll is set.
    """
    name = normal(path, file=True)
    (done,) = await change(ctx, {name: _edited(name, old_string, new_string, replace_all)}, parents=False)
    return {
        **sizes(done),
        "replaced": (done.before or b"").count(old_string.encode()),
        "digest": done.digest,
        "diff": await asyncio.to_thread(unified, name, done.before, done.after),
        "execution": ctx.call.id,
    }


@edit.shows_effect
async def show_edit(
    ctx: Context, path: FilePath, old_string: OldString, new_string: NewString, replace_all: ReplaceAll = False
) -> dict[str, Any]:
    name = normal(path, file=True)
    return await preview(ctx, name, _edited(name, old_string, new_string, replace_all), parents=False)


foreseen_by_effect(edit)


def _edited(path: str, old: str, new: str, everywhere: bool) -> Make:
    if old == new:
        raise BadParams("oldString and newString are the same. Give a different newString.")

    def make(present: bytes | None) -> bytes:
        if present is None:
            raise NotFound(f"There is no file {path!r} in the workspace. file/list shows the files.")
        text = as_text(present, path)
        count = text.count(old)
        if count == 0:
            raise Conflict(
                f"oldString does not occur in {path!r}. Give it exactly as file/read shows it.",
                hint=_line_ends(text, old),
            )
        if count > 1 and not everywhere:
            raise Conflict(
                f"oldString occurs {count} times in {path!r}, in lines {_places(text, old, count)}. "
                "Include more of the surrounding text, or set replaceAll."
            )
        return _encoded(text.replace(old, new))

    return make


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise BadParams("newString contains half a character (a lone surrogate). Give valid text.") from error


def _line_ends(text: str, old: str) -> str:
    if "\r\n" in text and "\n" in old and old.replace("\r\n", "\n").replace("\n", "\r\n") in text:
        return "The file has \\r\\n line ends; with those, oldString does occur."
    return ""


def _places(text: str, old: str, count: int) -> str:
    lines: list[str] = []
    at = -len(old)
    for _ in range(min(count, _PLACES_SHOWN)):
        at = text.index(old, at + len(old))
        lines.append(str(text.count("\n", 0, at) + 1))
    return ", ".join(lines) + (" and more" if count > _PLACES_SHOWN else "")
