"""The network of a program: what the room's recipe gives it, within the settings."""

from __future__ import annotations

import msgspec

from doorward.commands.context import Context
from doorward.gate.sandbox_terms import find_host_terms, find_sandbox_terms
from doorward.sandbox.program import RoomKey

_NOT_ALLOWED = "none: the recipe of this room gives programs the whole network, but the setting sandbox.network is off"

_NO_NAMESPACES = (
    "none: the hosts that the recipe of this room lists or asks about need a network namespace, which this machine "
    "denies"
)


class ProgramNetwork(msgspec.Struct, frozen=True):
    machine: bool = False
    """Whether it uses the machine's network."""
    room: RoomKey | None = None
    """The room whose loopback it shares."""
    hosts: bool = False
    """Whether it reaches the hosts that the recipe lists, or those that a person allows."""
    note: str = ""
    """Why it has less than the recipe says."""

    @property
    def reaches_out(self) -> bool:
        return self.machine or self.hosts


async def find_network(ctx: Context, *, wanted: bool, shares: bool) -> ProgramNetwork:
    """The network of a program of this call.

    `wanted` says that its catalogue entry asks for the network, which the settings must allow; `shares` that it shares
    the room's loopback whatever the recipe says.
    """
    tenant, room, allowed = ctx.caller.tenant, ctx.call.room, ctx.services.settings.sandbox.network
    terms = find_sandbox_terms(ctx.services.rooms, ctx.services.recipes, tenant, room)
    isolates = await ctx.services.sandbox.isolates_networks()
    listed = find_host_terms(terms)
    if listed.hosts or listed.asks:
        return ProgramNetwork(room=(tenant, room), hosts=True) if isolates else ProgramNetwork(note=_NO_NAMESPACES)
    if (wanted or terms.network == "all") and allowed:
        return ProgramNetwork(machine=True)
    shared = (tenant, room) if room and isolates and (shares or terms.profile == "build") else None
    return ProgramNetwork(room=shared, note=_NOT_ALLOWED if terms.network == "all" else "")
