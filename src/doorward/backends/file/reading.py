"""Commands file/read and file/stat."""

from __future__ import annotations

import asyncio
import base64
from typing import Annotated, Literal, cast

from msgspec import Meta

from doorward.backends.context import Context
from doorward.backends.file.family import FilePath, described, family
from doorward.backends.file.shapes import Content, PathFacts
from doorward.backends.file.text import as_text, digest, lines_of
from doorward.beneath import Entry, Root, normal
from doorward.command import READS_ONLY, Example
from doorward.errors import BadParams, NotFound
from doorward.facts import Access, Effects, Safety, Tier

LINES = 2_000

Coding = Literal["utf-8", "base64"]
Encoding = Annotated[Coding, Meta(description="utf-8 for text; base64 for any whole file")]


@family.command(
    "read",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=15,
    undo=READS_ONLY,
    examples=[
        Example("show me notes/today.md", {"path": "notes/today.md"}),
        Example("show lines 200 to 249 of server.log", {"path": "server.log", "offset": 200, "limit": 50}),
        Example("read the bytes of logo.png", {"path": "logo.png", "encoding": "base64"}),
    ],
    related=["file/list", "file/search", "file/edit"],
)
async def read(
    ctx: Context,
    path: FilePath,
    offset: Annotated[int, Meta(description="The first line to read, counted from 1", ge=1, le=2**53)] = 1,
    limit: Annotated[
        Annotated[int, Meta(ge=1, le=1_000_000)] | None,
        Meta(description=f"Maximum number of lines; {LINES} by default"),
    ] = None,
    encoding: Encoding = "utf-8",
) -> Content:
    """Read a file of the workspace, whole or by lines.

    Pass the digest of the result to file/write as expectedDigest, so that you do not overwrite a change by others.
    """
    if encoding == "base64" and (offset != 1 or limit is not None):
        raise BadParams("offset and limit count lines of text. Omit them with encoding base64.")
    name = normal(path, file=True)
    return await asyncio.to_thread(_read, ctx, name, offset, LINES if limit is None else limit, encoding)


def _read(ctx: Context, path: str, offset: int, limit: int, encoding: Coding) -> Content:
    with Root(ctx.workspace) as root:
        content = root.read(path, ctx.house.settings.files.largest_file).data
    facts: Content = {
        "path": path,
        "encoding": encoding,
        "size": len(content),
        "digest": digest(content),
        "content": base64.b64encode(content).decode() if encoding == "base64" else "",
    }
    if encoding == "base64":
        return facts
    lines = lines_of(as_text(content, path))
    if offset > max(1, len(lines)):
        raise BadParams(f"offset is {offset}, but {path!r} has only {len(lines)} lines.")
    shown = lines[offset - 1 : offset - 1 + limit]
    last = offset - 1 + len(shown)
    facts |= {"content": "".join(shown), "lines": len(lines), "firstLine": offset, "lastLine": last}
    if last < len(lines):
        facts |= {"cut": True, "nextOffset": last + 1}
    return facts


@family.command(
    "stat",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=15,
    undo=READS_ONLY,
    examples=[Example("how large is server.log and when did it change", {"path": "server.log"})],
    related=["file/list", "file/read"],
)
async def stat(
    ctx: Context,
    path: Annotated[str, Meta(description="Path of a file or folder in the workspace", min_length=1, max_length=4096)],
) -> PathFacts:
    """Show the type, size, time of the last change and mode of a path and, for files, the digest."""
    return await asyncio.to_thread(_stat, ctx, normal(path))


def _stat(ctx: Context, path: str) -> PathFacts:
    largest = ctx.house.settings.files.largest_file
    with Root(ctx.workspace) as root:
        entry = root.entry(path)
        facts = cast("PathFacts", {**described(entry), "mode": f"{entry.status.st_mode & 0o7777:04o}"})
        if entry.kind == "symlink":
            facts["leadsTo"] = _led_to(root, path)
        elif entry.kind == "file" and entry.status.st_size <= largest:
            facts["digest"] = digest(root.read(path, largest, follow=False).data)
    return facts


def _led_to(root: Root, path: str) -> str:
    try:
        end: Entry = root.entry(path, follow=True)
    except (BadParams, NotFound):
        return "nothing inside the workspace"
    return end.kind
