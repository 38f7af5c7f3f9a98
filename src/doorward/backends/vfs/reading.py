"""The commands vfs/list, vfs/read and vfs/stat."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from doorward.backends.context import Context
from doorward.backends.vfs.family import Hidden, VirtualPath, family
from doorward.backends.vfs.mount import LINES, Look, Span
from doorward.backends.vfs.shapes import Content, Item, Listed
from doorward.backends.vfs.tree import Tree
from doorward.command import READS_ONLY, Example
from doorward.errors import BadParams
from doorward.facts import Access, Effects, Safety, Tier


@family.command(
    "list",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=0,
    timeout=30,
    undo=READS_ONLY,
    examples=[
        Example("what is in my home directory", {"path": "~"}),
        Example("which collections of data are there", {"path": "/data"}),
        Example("everything below src", {"path": "/workspace/src", "recursive": True}),
    ],
    related=["vfs/read", "vfs/find", "vfs/tree", "file/list"],
    works_by_calls=True,
)
async def list_(
    ctx: Context,
    path: VirtualPath = "/workspace",
    recursive: Annotated[bool, Meta(description="Whether to include the folders below")] = False,
    hidden: Hidden = False,
    limit: Annotated[int, Meta(description="Maximum entries", ge=1, le=10_000)] = 500,
) -> Listed:
    """List a folder of the virtual tree: files, your home, collections and records, executions, server state.

    /workspace, /home/<user> and /tmp are files; /data/<collection>/<id> are records; /system is the state of the
    server and /proc are your executions. Each access is an inner call of the command that shows the same.
    """
    tree = Tree(ctx)
    return await tree.items(tree.absolute(path), Look(recursive=recursive, limit=limit, hidden=hidden))


@family.command(
    "read",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=0,
    timeout=30,
    undo=READS_ONLY,
    examples=[
        Example("show my note of today", {"path": "/workspace/notes/today.md"}),
        Example("show the record of the room general", {"path": "/data/rooms/general"}),
        Example("the last 20 lines of server.log", {"path": "server.log", "tail": 20}),
    ],
    related=["vfs/list", "vfs/stat", "file/read", "data/read"],
    works_by_calls=True,
)
async def read(
    ctx: Context,
    path: VirtualPath,
    offset: Annotated[int, Meta(description="The first line to read, counted from 1", ge=1, le=2**53)] = 1,
    limit: Annotated[
        Annotated[int, Meta(ge=1, le=1_000_000)] | None,
        Meta(description=f"Number of lines to read; default {LINES}"),
    ] = None,
    tail: Annotated[
        Annotated[int, Meta(ge=1, le=100_000)] | None,
        Meta(description="Number of lines to read from the end, instead of offset and limit"),
    ] = None,
    encoding: Annotated[
        Literal["utf-8", "base64"], Meta(description="utf-8 for text; base64 for the whole file as bytes")
    ] = "utf-8",
) -> Content:
    """Read a virtual file as text, whole or by lines: a file, a record as JSON, the output of an execution, the log."""
    encoded = encoding == "base64"
    if (encoded or tail is not None) and (offset != 1 or limit is not None):
        raise BadParams("offset and limit count lines from the start; omit them with tail and with base64.")
    if encoded and tail is not None:
        raise BadParams("tail counts lines of text; omit it with base64.")
    tree = Tree(ctx)
    return await tree.read(tree.absolute(path), Span(offset=offset, limit=limit, tail=tail, encoded=encoded))


@family.command(
    "stat",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=0,
    timeout=30,
    undo=READS_ONLY,
    examples=[Example("how large is server.log, and when did it change", {"path": "/workspace/server.log"})],
    related=["vfs/list", "file/stat"],
    works_by_calls=True,
)
async def stat(ctx: Context, path: VirtualPath) -> Item:
    """Show the kind, size and time of the last change of a virtual path and, for workspace files, its digest."""
    tree = Tree(ctx)
    return await tree.item(tree.absolute(path))
