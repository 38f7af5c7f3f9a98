"""Changes of the server file, with undo."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any

from doorward import redact
from doorward.backends.context import Context
from doorward.backends.mcp.family import family
from doorward.errors import BadParams, Conflict
from doorward.store import before_images
from doorward.store.before_images import BeforeImage
from doorward.store.sqlite import Statement
from doorward.upstream.parse import BadServers
from doorward.upstream.variables import secrets_in_words

_PLACE = re.compile(r"(?:servers\[\d+\]|mcpServers(?:\.\w+|\[[^]]*\]))\.?")
KIND = "servers"
"""The kind of the before-images. Each holds the whole text of the file."""


async def change(ctx: Context, edit: Callable[[str | None], str | None]) -> bool:
    """Change the text of the file, store the old text, and put the new one in force. True if the text changed."""
    book = ctx.house.servers
    async with book.changing:
        before = await book.text()
        after = checked(ctx, edit(decoded(before)))
        if after != before:
            await ctx.store.write(_kept(ctx, before, after))
            await book.save(before, after)
    return after != before


def checked(ctx: Context, text: str | None) -> bytes | None:
    """Validate and encode the new text, so that a command never leaves an invalid file behind."""
    if text is None:
        return None
    after = text.encode()
    try:
        ctx.house.servers.parsed(after)
    except BadServers as error:
        raise BadParams(f"{within(error)}.", hint=error.hint) from error
    return after


def within(error: BadServers) -> str:
    """The error of one entry as a clause: the field, without the position of the entry in the file."""
    field = _PLACE.sub("", error.field)
    return f"{field}: {error.reason.rstrip('.')}" if field else error.reason.rstrip(".")


def decoded(text: bytes | None) -> str | None:
    return text.decode() if text is not None else None


def told(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Describe an entry without secrets: of variables, headers and credentials it has only the names."""
    hidden = secrets_in_words(tuple(entry.get("args", ())))
    shown = dict(entry)
    if "args" in entry:
        shown["args"] = [redact.text(word, hidden) for word in entry["args"]]
    if "url" in entry:
        shown["url"] = redact.text(entry["url"]).partition("?")[0]
    for key in ("env", "headers"):
        if key in entry:
            shown[key] = sorted(entry[key])
    if "auth" in entry:
        shown["auth"] = entry["auth"].get("type", "")
    return shown


@family.undoer(KIND)
async def restore(ctx: Context, images: list[BeforeImage]) -> dict[str, Any]:
    """Restore the previous text of the file, unless it has changed since."""
    (image,) = images
    book = ctx.house.servers
    async with book.changing:
        now = await book.text()
        if image.target != str(book.file) or _digest(now) != image.after:
            raise Conflict(f"The file {image.target} has changed since. Nothing was undone.")
        await ctx.store.write(
            _kept(ctx, now, image.before),
            before_images.mark_undone(image.call, ctx.call.id),
        )
        await book.save(now, image.before)
    return {"file": image.target, "now": "as before" if image.before is not None else "removed"}


def _kept(ctx: Context, before: bytes | None, after: bytes | None) -> Statement:
    now = ctx.house.clock.now()
    target = str(ctx.house.servers.file)
    return before_images.keep(ctx.call, kind=KIND, target=target, before=before, after=_digest(after), at=now)


def _digest(text: bytes | None) -> str:
    return hashlib.sha256(text).hexdigest() if text is not None else ""
