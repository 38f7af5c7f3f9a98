"""Step 1: authenticate the caller."""

from __future__ import annotations

import re

import msgspec

from doorward.core.errors import BadParams, NotAuthenticated
from doorward.core.model import KEEPER, Caller, Credential
from doorward.rooms.accounts.browser_sessions import BrowserSessions
from doorward.rooms.accounts.tokens import ApiTokens
from doorward.rooms.people import LOCAL, OWNER, People
from doorward.rooms.personas.book import PersonaBook
from doorward.rooms.rooms import Rooms

_AGENT = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")


class Authenticator:
    def __init__(
        self, people: People, tokens: ApiTokens, browsers: BrowserSessions, personas: PersonaBook, rooms: Rooms
    ) -> None:
        self.revocations = people.revocations
        self._people = people
        self._rooms = rooms
        self._tokens = tokens
        self._browsers = browsers
        self._personas = personas

    def caller(self, credential: Credential) -> Caller:
        """The caller that a credential proves. There is no anonymous access and no fallback."""
        caller = self._proven(credential)
        if caller.id == KEEPER:
            raise NotAuthenticated(f"{KEEPER!r} is reserved for the built-in keeper. Use another name.")
        return caller

    def _proven(self, credential: Credential) -> Caller:
        if credential.persona:
            return self._persona(credential)
        if credential.token:
            if credential.speak_as:
                raise BadParams("A token already names its agent. Leave out the agent's name.")
            return self._tokens.authenticate(credential.token)
        if credential.browser:
            return self._browsers.caller(credential.browser, credential.proof)
        if not credential.owner:
            raise NotAuthenticated("No credentials. Send a bearer token made with `doorward token create`.")
        owner = self._people.get(LOCAL, OWNER)
        if owner is None or not owner.active:
            raise NotAuthenticated("The owner's account is disabled.")
        if not credential.speak_as:
            return Caller(LOCAL, OWNER, "human", owner.access)
        return self._named_agent(credential, Caller(LOCAL, OWNER, "human", owner.access))

    def _persona(self, credential: Credential) -> Caller:
        """A persona acts for the person who asked it, with no more access than either of them has.

        It sees only rooms that are open to everybody in its room, so that it cannot pass on what one of them may not
        read.
        """
        if credential != Credential(persona=credential.persona, asker=credential.asker, room=credential.room):
            raise BadParams("A persona's credential carries no other credential.")
        persona = self._personas.get(LOCAL, credential.persona)
        if persona is None:
            raise NotAuthenticated(f"The persona {credential.persona[:80]!r} no longer exists.")
        asker = self._people.get(LOCAL, credential.asker)
        if asker is None or asker.kind != "human":
            raise NotAuthenticated(f"{persona.id} acts only for a person, and {credential.asker[:80]!r} is not one.")
        if not asker.active:
            raise NotAuthenticated(f"The account of {asker.id}, for whom {persona.id} acts, is disabled.")
        caller = persona.caller
        return msgspec.structs.replace(
            caller,
            access=min(caller.access, asker.access),
            on_behalf_of=asker.id,
            rooms=self._rooms.rooms_with_same_people(LOCAL, credential.room),
        )

    def _named_agent(self, credential: Credential, owner: Caller) -> Caller:
        """An agent or a program of the owner, under its own name."""
        name = credential.speak_as
        if not _AGENT.fullmatch(name):
            raise BadParams(
                "An agent's name has 1 to 63 lowercase letters, digits, dots, dashes or underscores; "
                f"given: {name[:80]!r}."
            )
        user = self._people.get(owner.tenant, name)
        if user is not None and user.kind == "human":
            raise BadParams(f"{name!r} is a person. Choose another name for the agent.")
        if self._personas.get(owner.tenant, name) is not None:
            raise BadParams(f"{name!r} is a persona. Choose another name for the agent.")
        return Caller(owner.tenant, name, credential.kind, owner.access, owner.id)
