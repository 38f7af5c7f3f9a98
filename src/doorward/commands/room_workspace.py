"""Command room/workspace: set the folder that a room's commands work in."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from doorward.commands.context import Context
from doorward.commands.room import (
    AllowWide,
    RoomFacts,
    RoomName,
    WorkspacePath,
    check_workspace,
    describe_change,
    get_administered_room,
    store_change,
)
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import Example, Family, Undo
from doorward.core.errors import BadParams
from doorward.rooms.rooms import Room

family = Family("room", category="rooms")


@family.command(
    "workspace",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.ROOT,
    safety=Safety.DANGEROUS,
    cost=1,
    timeout=5,
    undo=Undo("room"),
    examples=[Example("let the lab work in the shared workspace again", {"name": "lab", "workspace": ""})],
    related=["room/show", "room/create"],
    humans_only=True,
    widens_access=True,
)
async def workspace(
    ctx: Context,
    name: RoomName,
    workspace: Annotated[
        WorkspacePath, Meta(description="Absolute path of an existing folder; empty for the shared workspace")
    ],
    allow_wide: AllowWide = False,
) -> RoomFacts:
    """Set the folder that a room's commands work in. It applies from the next command on."""
    return await store_change(ctx, *_with_workspace(ctx, name, workspace, allow_wide))


@workspace.describes_effect
async def workspace_effect(ctx: Context, name: str, workspace: str, allow_wide: bool = False) -> dict[str, Any]:
    return describe_change(*_with_workspace(ctx, name, workspace, allow_wide))


def _with_workspace(ctx: Context, name: str, workspace: str, allow_wide: bool) -> tuple[Room, Room]:
    room = get_administered_room(ctx, name)
    if room.direct and workspace:
        raise BadParams(f"The direct room {name!r} cannot have a folder of its own; give one to another room.")
    return room, msgspec.structs.replace(room, workspace=check_workspace(ctx, workspace, allow_wide))
