"""The personas in force, loaded from a folder and reloaded when it changes."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from doorward.clock import Clock
from doorward.edited.folderbook import FolderBook, LastGood
from doorward.events import Bus, PersonaLoaded, PersonaRejected
from doorward.model import KEEPER
from doorward.personas.membership import Memberships
from doorward.personas.persona import LARGEST, BadPersona, Persona, is_persona_id, parse
from doorward.rooms.people import LOCAL, People
from doorward.rooms.rooms import Rooms
from doorward.rooms.tokens import Tokens
from doorward.store.last_good import LastGoods
from doorward.store.sqlite import Store

RESERVED = frozenset(("anonymous", "agent", "doorward", "line", "mcp", "system", "terminal"))
"""Names that doors use for programs and agents without a name of their own."""

Stop = Callable[[str, str, str], Awaitable[bool]]
"""Stops a persona in a room and returns whether it was working. Arguments: persona, room, who asked for it."""


class Personas(FolderBook[Persona]):
    """The personas in force. They belong to the local tenant."""

    what = "persona"
    key = "personaId"
    package = "doorward.personas"
    largest = LARGEST
    bad = BadPersona
    log = logging.getLogger(__name__)

    def __init__(
        self, folder: Path, store: Store, rooms: Rooms, people: People, tokens: Tokens, events: Bus, clock: Clock
    ) -> None:
        super().__init__(folder, LastGoods(store, "personas", clock), self._checked)
        self.memberships = Memberships(rooms, store, events)
        self.stop: Stop | None = None
        """Set while personas run in this process."""
        self._people = people
        self._tokens = tokens
        self._events = events
        self._clock = clock

    def all(self, tenant: str) -> list[Persona]:
        return [version.made for _, version in sorted(self.versions.items())] if tenant == LOCAL else []

    def get(self, tenant: str, id: str) -> Persona | None:
        version = self.versions.get(id) if tenant == LOCAL else None
        return version.made if version else None

    def pool(self, tenant: str, id: str) -> tuple[float | None, float | None]:
        """Return a persona's own initial energy and recovery per second; None where the defaults apply."""
        persona = self.get(tenant, id)
        return (persona.energy.start, persona.energy.recovery_per_second) if persona is not None else (None, None)

    def is_id(self, id: str) -> bool:
        return is_persona_id(id)

    async def load(self) -> None:
        await self.memberships.load()
        await super().load()

    async def taken_over(self, stored: Mapping[str, LastGood]) -> None:
        """Update memberships: a new or changed file adds its persona to its rooms, a removed file removes it."""
        changes = {
            id: (self._rooms_of(id, stored.get(id)), version.made.rooms)
            for id, version in self.versions.items()
            if id not in stored or stored[id].digest != version.digest
        }
        gone = stored.keys() - self.versions.keys()
        if changes:
            await self.memberships.follow(changes)
        if gone:
            await self.memberships.end(gone)

    def check(self, id: str, text: bytes) -> Persona:
        """Parse and check a persona before it is saved. Raises BadPersona if it is not valid."""
        return self._checked(text, f"{id}.json")

    def rejected(self, id: str, message: str) -> None:
        self._events.publish(PersonaRejected(tenant=LOCAL, at=self._clock.now(), persona=id, reason=message))

    def loaded(self, id: str) -> None:
        self._events.publish(PersonaLoaded(tenant=LOCAL, at=self._clock.now(), persona=id, gone=False))

    def gone(self, id: str) -> None:
        self.log.warning("The file of the persona %s is gone; the persona leaves its rooms.", id)
        self._events.publish(PersonaLoaded(tenant=LOCAL, at=self._clock.now(), persona=id, gone=True))

    def _checked(self, text: bytes, file: str) -> Persona:
        persona = parse(text, file)
        reason = self._taken(persona.id)
        if reason:
            raise BadPersona(file, "personaId", f"{persona.id!r} {reason}; valid: an unused name")
        return persona

    def _taken(self, id: str) -> str:
        """Return why a name is taken, or an empty text. A name must identify one member only."""
        if id in RESERVED:
            return "is reserved for doors"
        if id == KEEPER:
            return "is the name of the keeper"
        user = self._people.get(LOCAL, id)
        if user is not None:
            return "is a person" if user.kind == "human" else "is a user already"
        now = self._clock.now()
        for token in self._tokens.of(LOCAL):
            if token.kind != "human" and token.name == id and token.revoked_at is None and token.expires_at > now:
                return "is the name of an agent with a token"
        return ""

    def _rooms_of(self, id: str, before: LastGood | None) -> tuple[str, ...]:
        """Return the rooms that an earlier version named."""
        if before is None:
            return ()
        try:
            return parse(before.body.encode(), f"{id}.json").rooms
        except BadPersona:
            return ()
