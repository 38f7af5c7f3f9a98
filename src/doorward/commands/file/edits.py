"""Commands file/write, file/edit and file/delete."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any, Literal

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
from doorward.commands.file.replacements import Replacer, read_replacements
from doorward.commands.file.text import decode_content, unified_diff
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import Example, Undo
from doorward.core.errors import NotFound
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


OldString = Annotated[
    Annotated[str, Meta(min_length=1)] | None, Meta(description="The text to replace, exactly as in the file")
]
NewString = Annotated[str | None, Meta(description="The replacement text")]
ReplaceAll = Annotated[bool, Meta(description="Replace all occurrences; otherwise there must be exactly one")]
_OneEdit = Annotated[
    dict[str, Any],
    Meta(
        extra_json_schema={
            "properties": {
                "oldString": {"type": "string", "minLength": 1},
                "newString": {"type": "string"},
                "replaceAll": {"type": "boolean"},
            },
            "required": ["oldString", "newString"],
            "additionalProperties": False,
        }
    ),
]
Edits = Annotated[
    Sequence[_OneEdit],
    Meta(
        description="Several replacements instead of oldString and newString, in order; all are made, or none",
        max_length=200,
    ),
]


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
        ),
        Example(
            "change the port in server.conf and add the host",
            {
                "path": "server.conf",
                "edits": [
                    {"oldString": "port = 80", "newString": "port = 8080"},
                    {"oldString": "port = 8080", "newString": "port = 8080\nhost = localhost"},
                ],
            },
        ),
    ],
    related=["file/read", "file/write", "file/patch", "file/undo"],
    reveals="file/read",
)
async def edit(
    ctx: Context,
    path: FilePath,
    old_string: OldString = None,
    new_string: NewString = None,
    replace_all: ReplaceAll = False,
    edits: Edits = (),
) -> FileEdited:
    """Replace a text in a file, or several texts at once, and show the diff.

    An old text must occur exactly once, unless replaceAll is set. If one of several is not found, nothing is changed.
    """
    name = normalize_path(path, file=True)
    replacer = Replacer(name, read_replacements(old_string, new_string, replace_all, edits))
    (done,) = await change_files(ctx, {name: replacer.make}, parents=False)
    diff = await asyncio.to_thread(unified_diff, name, done.before, done.after)
    return {
        **describe_sizes(done),
        "replaced": replacer.replaced,
        "digest": done.digest,
        "diff": diff.shorten(),
        "execution": ctx.call.id,
    }


@register_diff_preview(edit)
async def plan_edit(
    ctx: Context,
    path: FilePath,
    old_string: OldString = None,
    new_string: NewString = None,
    replace_all: ReplaceAll = False,
    edits: Edits = (),
) -> FileChange:
    name = normalize_path(path, file=True)
    replacer = Replacer(name, read_replacements(old_string, new_string, replace_all, edits))
    return await plan_change(ctx, name, replacer.make, parents=False)


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
