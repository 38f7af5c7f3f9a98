"""The commands vfs/write, vfs/append, vfs/make, vfs/remove, vfs/copy and vfs/move."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from doorward.commands.context import Context
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import Example
from doorward.shell.vfs.schema import (
    UNDO_BY_INNER_CALLS,
    VirtualChange,
    VirtualChanges,
    VirtualPath,
    VirtualPaths,
    family,
)
from doorward.shell.vfs.tree import VirtualTree

Encoding = Annotated[Literal["utf-8", "base64"], Meta(description="Encoding of content: text or base64")]
_CHANGES = Effects.READ | Effects.WRITE
_REPLACES = _CHANGES | Effects.DESTROY


@family.command(
    "write",
    tier=Tier.CODE,
    effects=_CHANGES,
    access=Access.EDIT,
    safety=Safety.CAUTION,
    cost=0,
    timeout=60,
    undo=UNDO_BY_INNER_CALLS,
    examples=[
        Example("save a note in my home", {"path": "~/todo.md", "content": "Call the plumber.\n"}),
        Example("change a record", {"path": "/data/notes/n1", "content": '{"title": "Buy milk"}'}),
    ],
    related=["vfs/append", "vfs/read", "file/write", "data/update", "undo"],
    nests_calls=True,
)
async def write(
    ctx: Context,
    path: VirtualPath,
    content: Annotated[str, Meta(description="The whole new content; for a record, a JSON object")],
    encoding: Encoding = "utf-8",
    create_parents: Annotated[bool, Meta(description="Whether to create missing parent folders")] = True,
    expected_digest: Annotated[
        Annotated[str, Meta(pattern="^([0-9a-f]{64})?$")] | None,
        Meta(description="SHA-256 of the file as you last read it (empty: it must not exist); refused when it differs"),
    ] = None,
) -> VirtualChange:
    """Write a whole virtual file: a file by file/write, a record below /data by data/create or data/update.

    Fields that a record's new content omits are removed. The fields id, version and times are kept by the server; if
    the content has a version, it must be the current one.
    """
    tree = VirtualTree(ctx)
    return await tree.write(
        tree.absolute(path), content, encoding=encoding, parents=create_parents, digest=expected_digest
    )


@family.command(
    "append",
    tier=Tier.CODE,
    effects=_CHANGES,
    access=Access.EDIT,
    safety=Safety.CAUTION,
    cost=0,
    timeout=60,
    undo=UNDO_BY_INNER_CALLS,
    examples=[Example("add a line to today's note", {"path": "notes/today.md", "content": "One more line.\n"})],
    related=["vfs/write", "file/edit", "undo"],
    nests_calls=True,
)
async def append(
    ctx: Context,
    path: VirtualPath,
    content: Annotated[str, Meta(description="The content to append")],
    encoding: Encoding = "utf-8",
    new_line: Annotated[bool, Meta(description="Whether to start a new line if the last line has no end")] = (False),
) -> VirtualChange:
    """Append to a file, or create it. Refused when the file is changed at the same time."""
    tree = VirtualTree(ctx)
    return await tree.write(tree.absolute(path), content, encoding=encoding, append="line" if new_line else True)


@family.command(
    "make",
    tier=Tier.CODE,
    effects=_CHANGES,
    access=Access.EDIT,
    safety=Safety.CAUTION,
    cost=0,
    timeout=60,
    undo=UNDO_BY_INNER_CALLS,
    examples=[Example("make a folder for drafts in my home", {"path": "~/drafts"})],
    related=["vfs/list", "undo"],
    nests_calls=True,
)
async def make(
    ctx: Context,
    path: VirtualPath,
    create_parents: Annotated[
        bool, Meta(description="Create parent folders too; an existing folder is no error")
    ] = True,
) -> VirtualChange:
    """Create a folder."""
    tree = VirtualTree(ctx)
    return await tree.make(tree.absolute(path), parents=create_parents)


@family.command(
    "remove",
    tier=Tier.CODE,
    effects=_REPLACES,
    access=Access.FULL,
    safety=Safety.DANGEROUS,
    cost=0,
    timeout=120,
    undo=UNDO_BY_INNER_CALLS,
    examples=[
        Example("remove the old draft", {"paths": ["/workspace/drafts/old.md"]}),
        Example("throw away the folder drafts", {"paths": ["drafts"], "recursive": True}),
    ],
    related=["vfs/find", "file/delete", "data/delete", "undo"],
    nests_calls=True,
)
async def remove(
    ctx: Context,
    paths: VirtualPaths,
    recursive: Annotated[bool, Meta(description="Whether to remove folders with their contents")] = False,
) -> VirtualChanges:
    """Remove files, folders or records. When one does not exist, none is removed; several files are one call."""
    tree = VirtualTree(ctx)
    return {"items": await tree.remove([tree.absolute(path) for path in paths], recursive=recursive)}


@family.command(
    "copy",
    tier=Tier.CODE,
    effects=_REPLACES,
    access=Access.FULL,
    safety=Safety.CAUTION,
    cost=0,
    timeout=120,
    undo=UNDO_BY_INNER_CALLS,
    examples=[
        Example("keep a copy of the settings", {"source": "server.conf", "target": "server.conf.bak"}),
        Example("save the record of a room as a file", {"source": "/data/rooms/general", "target": "~/room.json"}),
    ],
    related=["vfs/move", "undo"],
    nests_calls=True,
)
async def copy(
    ctx: Context,
    source: VirtualPath,
    target: VirtualPath,
    recursive: Annotated[bool, Meta(description="Whether to copy a folder with its contents")] = False,
) -> VirtualChanges:
    """Copy a virtual file or a folder. If the target is an existing folder, the copy goes into it."""
    tree = VirtualTree(ctx)
    return {"items": await tree.copy(tree.absolute(source), tree.absolute(target), recursive=recursive)}


@family.command(
    "move",
    tier=Tier.CODE,
    effects=_REPLACES,
    access=Access.FULL,
    safety=Safety.CAUTION,
    cost=0,
    timeout=120,
    undo=UNDO_BY_INNER_CALLS,
    examples=[Example("rename the draft", {"source": "drafts/old.md", "target": "drafts/older.md"})],
    related=["vfs/copy", "undo"],
    nests_calls=True,
)
async def move(ctx: Context, source: VirtualPath, target: VirtualPath) -> VirtualChanges:
    """Move or rename a file or folder. If the target is an existing folder, the source goes into it."""
    tree = VirtualTree(ctx)
    return {"items": await tree.copy(tree.absolute(source), tree.absolute(target), move=True)}
