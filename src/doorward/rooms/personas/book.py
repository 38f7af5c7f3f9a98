"""The personas in force, loaded from a folder and reloaded when it changes."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from doorward.config.watched_folder import WatchedFolder
from doorward.core.clock import Clock
from doorward.core.events import Bus, PersonaLoaded, PersonaRejected
from doorward.core.model import KEEPER
from doorward.rooms.accounts.tokens import ApiTokens
from doorward.rooms.people import LOCAL, People
from doorward.rooms.personas.memberships import PersonaMemberships
from doorward.rooms.personas.persona import MAX_BYTES, BadPersona, Persona, is_persona_id, parse_persona
from doorward.rooms.rooms import Rooms
from doorward.store.last_good import LastGoodVersions
from doorward.store.sqlite import Store

RESERVED = frozenset(("anonymous", "agent", "doorward", "line", "mcp", "system", "terminal"))
"""Names that doors use for programs and agents without a name of their own."""

StopPersona = Callable[[str, str, str], Awaitable[bool]]
"""Stops a persona in a room and returns whether it was working. Arguments: persona, room, who asked for it."""


class PersonaBook(WatchedFolder[Persona]):
    """The personas in force. They belong to the local tenant."""

    kind = "personas"
    id_field = "personaId"
    package = "doorward.rooms.personas"
    max_bytes = MAX_BYTES
    error_class = BadPersona
    log = logging.getLogger(__name__)

    def __init__(
        self, folder: Path, store: Store, rooms: Rooms, people: People, tokens: ApiTokens, events: Bus, clock: Clock
    ) -> None:
        super().__init__(folder, LastGoodVersions(store, "personas", clock), self._parse_and_check)
        self.memberships = PersonaMemberships(rooms, store, events)
        self.stop: StopPersona | None = None
        """Set while personas run in this process."""
        self._people = people
        self._tokens = tokens
        self._events = events
        self._clock = clock

    def all(self, tenant: str) -> list[Persona]:
        return [version.parsed for _, version in sorted(self.versions.items())] if tenant == LOCAL else []

    def get(self, tenant: str, id: str) -> Persona | None:
        version = self.versions.get(id) if tenant == LOCAL else None
        return version.parsed if version else None

    def energy_pool(self, tenant: str, id: str) -> tuple[float | None, float | None]:
        """Return a persona's own initial energy and recovery per second; None where the defaults apply."""
        persona = self.get(tenant, id)
        return (persona.energy.start, persona.energy.recovery_per_second) if persona is not None else (None, None)

    def regulates_effort(self, tenant: str, id: str) -> bool:
        """Return whether this is a persona that regulates its effort."""
        persona = self.get(tenant, id)
        return persona is not None and persona.effort is not None

    def is_id(self, id: str) -> bool:
        return is_persona_id(id)

    async def load(self) -> None:
        await self.memberships.load()
        await super().load()

    async def on_applied(self, stored: Mapping[str, str]) -> None:
        """Update memberships: a new or changed file adds its persona to its rooms, a removed file removes it."""
        changes = {
            id: (self._rooms_of(id, stored.get(id)), version.parsed.rooms)
            for id, version in self.versions.items()
            if id not in stored or stored[id].encode() != version.text
        }
        gone = stored.keys() - self.versions.keys()
        if changes:
            await self.memberships.apply_changes(changes)
        if gone:
            await self.memberships.remove_personas(gone)

    def check(self, id: str, text: bytes) -> Persona:
        """Parse and check a persona before it is saved. Raises BadPersona if it is not valid."""
        return self._parse_and_check(text, f"{id}.json")

    def on_rejected(self, name: str, message: str) -> None:
        id, now = name.removesuffix(".json"), self._clock.now()
        self._events.publish(PersonaRejected(tenant=LOCAL, at=now, persona=id, reason=message))

    def on_loaded(self, id: str) -> None:
        self._events.publish(PersonaLoaded(tenant=LOCAL, at=self._clock.now(), persona=id, gone=False))

    def on_removed(self, id: str) -> None:
        self.log.warning("The file of the persona %s is gone; the persona leaves its rooms.", id)
        self._people.revocations.announce(
            f"the removal of the persona {id}", lambda credential, _: credential.persona == id
        )
        self._events.publish(PersonaLoaded(tenant=LOCAL, at=self._clock.now(), persona=id, gone=True))

    def _parse_and_check(self, text: bytes, file: str) -> Persona:
        persona = parse_persona(text, file)
        reason = self._name_conflict(persona.id)
        if reason:
            raise BadPersona(file, "personaId", f"{persona.id!r} {reason}; valid: an unused name")
        return persona

    def _name_conflict(self, id: str) -> str:
        """Return why a name is taken, or an empty text. A name must identify one member only."""
        if id in RESERVED:
            return "is reserved for doors"
        if id == KEEPER:
            return "is the name of the keeper"
        user = self._people.get(LOCAL, id)
        if user is not None:
            return "is a person" if user.kind == "human" else "is a user already"
        now = self._clock.now()
        for token in self._tokens.of_tenant(LOCAL):
            if token.kind != "human" and token.name == id and token.revoked_at is None and token.expires_at > now:
                return "is the name of an agent with a token"
        return ""

    def _rooms_of(self, id: str, before: str | None) -> tuple[str, ...]:
        """Return the rooms that an earlier version named."""
        if before is None:
            return ()
        try:
            return parse_persona(before.encode(), f"{id}.json").rooms
        except BadPersona:
            return ()
