"""Commands file/list, file/read and file/stat."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, cast

from msgspec import Meta

from doorward.commands.context import Context
from doorward.commands.file.family import (
    FileContent,
    FilePath,
    FolderListing,
    FolderPath,
    Hidden,
    PathFacts,
    describe_entry,
    family,
)
from doorward.commands.file.text import decode_text, digest, split_lines
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import READS_ONLY, Example
from doorward.core.errors import BadParams, NotFound
from doorward.sandbox.safefs import FileEntry, SafeRoot, normalize_path

EntryDescriber = Callable[[FileEntry], Mapping[str, Any]]


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
async def list_folder(
    ctx: Context,
    path: FolderPath = ".",
    recursive: Annotated[bool, Meta(description="Include the contents of subfolders")] = False,
    limit: Annotated[int, Meta(description="Maximum number of entries", ge=1, le=10_000)] = 500,
    hidden: Hidden = False,
) -> FolderListing:
    """List a folder of the workspace: names, types, sizes and times, sorted by name."""
    shown = await list_entries(
        ctx, normalize_path(path), describe_entry, recursive=recursive, limit=limit, hidden=hidden
    )
    return cast("FolderListing", shown)


async def list_entries(ctx: Context, path: str, describe: EntryDescriber, **how: Any) -> dict[str, Any]:
    """List the entries of a folder, each described by `describe`; `how` are the options of `_list`."""
    return await asyncio.to_thread(_walk_folder, ctx, path, describe, **how)


def _walk_folder(
    ctx: Context, path: str, describe: EntryDescriber, *, recursive: bool, limit: int, hidden: bool
) -> dict[str, Any]:
    items: list[Mapping[str, Any]] = []
    cut = False
    with SafeRoot(ctx.workspace) as root:
        walk = root.walk(path, recursive=recursive, hidden=hidden)
        for entry in walk:
            if len(items) == limit:
                cut = True
                break
            items.append(describe(entry))
    return {
        "items": items,
        "path": path,
        "cut": cut,
        "hiddenLeftOut": walk.left_out,
        "unreadable": walk.unreadable,
    }


LINES = 2_000
_PICTURES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}

EncodingName = Literal["utf-8", "base64"]
Encoding = Annotated[EncodingName, Meta(description="utf-8 for text; base64 for any whole file")]


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
    numbered: Annotated[bool, Meta(description="Put the line number and a tab before each line")] = False,
) -> FileContent:
    """Read a file of the workspace, whole or by lines. Pictures (PNG, JPEG, GIF, WebP) are shown as such.

    Pass the digest of the result to file/write as expectedDigest, so that you do not overwrite a change by others.
    """
    if encoding == "base64" and (offset != 1 or limit is not None or numbered):
        raise BadParams("offset, limit and numbered are about lines of text. Omit them with encoding base64.")
    name = normalize_path(path, file=True)
    return await asyncio.to_thread(_read, ctx, name, offset, LINES if limit is None else limit, encoding, numbered)


def _read(ctx: Context, path: str, offset: int, limit: int, encoding: EncodingName, numbered: bool) -> FileContent:
    with SafeRoot(ctx.workspace) as root:
        content = root.read(path, ctx.services.settings.files.largest_file).data
    picture = _picture_type(content) if encoding == "utf-8" else ""
    encoding = "base64" if picture else encoding
    facts: FileContent = {
        "path": path,
        "encoding": encoding,
        "size": len(content),
        "digest": digest(content),
        "content": base64.b64encode(content).decode() if encoding == "base64" else "",
    }
    if picture:
        facts["mimeType"] = picture
    if encoding == "base64":
        return facts
    lines = split_lines(decode_text(content, path))
    if offset > max(1, len(lines)):
        raise BadParams(f"offset is {offset}, but {path!r} has only {len(lines)} lines.")
    shown = lines[offset - 1 : offset - 1 + limit]
    last = offset - 1 + len(shown)
    if numbered:
        shown = [f"{number:6}\t{line}" for number, line in enumerate(shown, offset)]
    facts |= {"content": "".join(shown), "lines": len(lines), "firstLine": offset, "lastLine": last}
    if last < len(lines):
        facts |= {"cut": True, "nextOffset": last + 1}
    return facts


def _picture_type(content: bytes) -> str:
    """The media type of a picture that models can see, by its first bytes; empty for any other file."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _PICTURES.items() if content.startswith(start)), "")


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
    return await asyncio.to_thread(_stat, ctx, normalize_path(path))


def _stat(ctx: Context, path: str) -> PathFacts:
    largest = ctx.services.settings.files.largest_file
    with SafeRoot(ctx.workspace) as root:
        entry = root.stat(path)
        facts = cast("PathFacts", {**describe_entry(entry), "mode": f"{entry.status.st_mode & 0o7777:04o}"})
        if entry.kind == "symlink":
            facts["leadsTo"] = _link_target_kind(root, path)
        elif entry.kind == "file" and entry.status.st_size <= largest:
            facts["digest"] = digest(root.read(path, largest, follow=False).data)
    return facts


def _link_target_kind(root: SafeRoot, path: str) -> str:
    try:
        end: FileEntry = root.stat(path, follow=True)
    except (BadParams, NotFound):
        return "nothing inside the workspace"
    return end.kind
