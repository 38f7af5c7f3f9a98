"""Offers: the commands that a caller may run in a room, cached until something they depend on changes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

from doorward.commands.context import Services
from doorward.core.command import Command
from doorward.core.events import CatalogueLoaded, Event, UpstreamOffered
from doorward.core.model import Caller
from doorward.gate.recipes.policy import Policy
from doorward.rooms.rooms import Room

CACHE_MS = 60_000
"""Milliseconds for which a client may cache a list; changes are notified sooner."""
_MAX_OFFERS = 1_000
_STARTING = ("stopped", "starting")

Value = TypeVar("Value")


class RoomOffer:
    """The commands that the gate lets one caller run in one room, and values derived from them, such as a tool list."""

    __slots__ = ("_made", "caller", "commands", "generation", "policy", "room", "room_name")

    def __init__(
        self,
        caller: Caller,
        room_name: str,
        room: Room | None,
        policy: Policy | None,
        generation: int,
        commands: list[Command],
    ) -> None:
        self.caller = caller
        self.room_name = room_name
        self.room = room
        self.policy = policy
        """The room's rules."""
        self.generation = generation
        self.commands = commands
        self._made: dict[Any, Any] = {}

    def memoize(self, what: Any, make: Callable[[], Value]) -> Value:
        """A value that depends on this offer alone, computed at first use."""
        if what not in self._made:
            self._made[what] = make()
        value: Value = self._made[what]
        return value

    def has(self, command: str) -> bool:
        return command in self.memoize("has", lambda: frozenset(one.name for one in self.commands))

    @property
    def fingerprint(self) -> tuple[tuple[str, str], ...]:
        """Names and versions of the commands. If these are equal, two offers give the same tool list."""
        return self.memoize("names", lambda: tuple((command.name, command.version) for command in self.commands))


class OfferCache:
    """Compares the inputs of an offer by identity, because they are replaced and never changed in place."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._generation = 0
        self._cached: OrderedDict[tuple[Caller, str], RoomOffer] = OrderedDict()
        services.events.subscribe(self._handle_event, CatalogueLoaded, UpstreamOffered)

    def get(self, caller: Caller, room: str) -> RoomOffer:
        found = self._services.rooms.get(caller.tenant, room)
        policy = self._services.recipes.policy(found.recipe) if found is not None else None
        key = (caller, room)
        kept = self._cached.get(key)
        if kept is not None and kept.room is found and kept.policy is policy and kept.generation == self._generation:
            self._cached.move_to_end(key)
            return kept
        offered = self._services.offered(caller, room)
        made = self._cached[key] = RoomOffer(caller, room, found, policy, self._generation, offered)
        self._cached.move_to_end(key)
        if len(self._cached) > _MAX_OFFERS:
            self._cached.popitem(last=False)
        return made

    @property
    def cache_ms(self) -> int:
        """How long a client may cache a list. Zero while a server starts: its entries are still missing, and a client
        with a cached list would not see them."""
        upstreams = self._services.upstreams
        to_come = any(one.config.enabled and one.server.state in _STARTING for one in upstreams)
        return 0 if to_come or upstreams.is_settling else CACHE_MS

    def _handle_event(self, event: Event) -> None:
        """Invalidate all offers: there are new commands, which the inputs of an offer do not show."""
        self._generation += 1
