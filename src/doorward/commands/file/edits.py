"""Commands file/write, file/edit and file/delete."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

from msgspec import Meta

from doorward.commands.context import Context
from doorward.commands.file.changes import (
    KIND,
    ContentFunction,
    FileChange,
    change_files,
    describe_sizes,
    plan_change,
    register_diff_preview,
    require_digest,
)
from doorward.commands.file.family import ExpectedDigest, FileDeleted, FileEdited, FilePath, FileWritten, family
from doorward.commands.file.text import decode_content, decode_text, unified_diff
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import Example, Undo
from doorward.core.errors import BadParams, Conflict, NotFound
from doorward.sandbox.safefs import normalize_path

NewContent = Annotated[str, Meta(description="The complete new content of the file")]
ContentEncoding = Annotated[
    Literal["utf-8", "base64"], Meta(description="The encoding of content: utf-8 text or base64")
]
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
    content: NewContent,
    encoding: ContentEncoding = "utf-8",
    create_parents: CreateParents = True,
    expected_digest: ExpectedDigest = None,
) -> FileWritten:
    """Write a file: create it, or replace its whole content.

    To restore the old content, run file/undo with the execution id of this call.
    """
    name = normalize_path(path, file=True)
    make = require_digest(_new_content(content, encoding), name, expected_digest)
    (done,) = await change_files(ctx, {name: make}, parents=create_parents)
    return {**describe_sizes(done), "digest": done.digest, "execution": ctx.call.id}


@register_diff_preview(write)
async def plan_write(
    ctx: Context,
    path: FilePath,
    content: NewContent,
    encoding: ContentEncoding = "utf-8",
    create_parents: CreateParents = True,
    expected_digest: ExpectedDigest = None,
) -> FileChange:
    name = normalize_path(path, file=True)
    make = require_digest(_new_content(content, encoding), name, expected_digest)
    return await plan_change(ctx, name, make, parents=create_parents)


def _new_content(content: str, encoding: str) -> ContentFunction:
    return lambda _: decode_content(content, encoding)


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
) -> FileEdited:
    """Replace a text in a file, and show the diff.

    The old text must occur exactly once, unless replaceAll is set.
    """
    name = normalize_path(path, file=True)
    (done,) = await change_files(ctx, {name: _replace_text(name, old_string, new_string, replace_all)}, parents=False)
    diff = await asyncio.to_thread(unified_diff, name, done.before, done.after)
    return {
        **describe_sizes(done),
        "replaced": (done.before or b"").count(old_string.encode()),
        "digest": done.digest,
        "diff": diff.shorten(),
        "execution": ctx.call.id,
    }


@register_diff_preview(edit)
async def plan_edit(
    ctx: Context, path: FilePath, old_string: OldString, new_string: NewString, replace_all: ReplaceAll = False
) -> FileChange:
    name = normalize_path(path, file=True)
    return await plan_change(ctx, name, _replace_text(name, old_string, new_string, replace_all), parents=False)


def _replace_text(path: str, old: str, new: str, everywhere: bool) -> ContentFunction:
    if old == new:
        raise BadParams("oldString and newString are the same. Give a different newString.")

    def make(present: bytes | None) -> bytes:
        if present is None:
            raise NotFound(f"There is no file {path!r} in the workspace. file/list shows the files.")
        text = decode_text(present, path)
        count = text.count(old)
        if count == 0:
            raise Conflict(
                f"oldString does not occur in {path!r}. Give it exactly as file/read shows it.",
                hint=_line_end_hint(text, old),
            )
        if count > 1 and not everywhere:
            raise Conflict(
                f"oldString occurs {count} times in {path!r}, in lines {_list_lines(text, old, count)}. "
                "Include more of the surrounding text, or set replaceAll."
            )
        return _encode(text.replace(old, new))

    return make


def _encode(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise BadParams("newString contains half a character (a lone surrogate). Give valid text.") from error


def _line_end_hint(text: str, old: str) -> str:
    if "\r\n" in text and "\n" in old and old.replace("\r\n", "\n").replace("\n", "\r\n") in text:
        return "The file has \\r\\n line ends; with those, oldString does occur."
    return ""


def _list_lines(text: str, old: str, count: int) -> str:
    lines: list[str] = []
    at = -len(old)
    for _ in range(min(count, _PLACES_SHOWN)):
        at = text.index(old, at + len(old))
        lines.append(str(text.count("\n", 0, at) + 1))
    return ", ".join(lines) + (" and more" if count > _PLACES_SHOWN else "")


@family.command(
    "delete",
    tier=Tier.CODE,
    effects=Effects.READ | Effects.WRITE | Effects.DESTROY,
    access=Access.FULL,
    safety=Safety.DANGEROUS,
    cost=2,
    timeout=30,
    undo=Undo(KIND),
    examples=[Example("remove the old draft", {"path": "drafts/old.md"})],
    related=["file/undo", "file/history"],
    reveals="file/read",
)
async def delete(ctx: Context, path: FilePath, expected_digest: ExpectedDigest = None) -> FileDeleted:
    """Delete a file. To restore it, run file/undo with the execution id of this call."""
    name = normalize_path(path, file=True)
    (done,) = await change_files(
        ctx, {name: require_digest(_delete_content(name), name, expected_digest)}, parents=False
    )
    return {"path": name, "deleted": True, "bytesBefore": len(done.before or b""), "execution": ctx.call.id}


@register_diff_preview(delete)
async def plan_delete(ctx: Context, path: FilePath, expected_digest: ExpectedDigest = None) -> FileChange:
    name = normalize_path(path, file=True)
    return await plan_change(ctx, name, require_digest(_delete_content(name), name, expected_digest), parents=False)


def _delete_content(path: str) -> ContentFunction:
    def make(present: bytes | None) -> None:
        if present is None:
            raise NotFound(f"There is no file {path!r} in the workspace. file/list shows the files.")

    return make
