"""Step 1: who asks."""

from __future__ import annotations

import re

import msgspec

from doorward.errors import BadParams, NotAuthenticated
from doorward.model import KEEPER, Caller, Credential
from doorward.personas.book import Personas
from doorward.rooms.browsers import Browsers
from doorward.rooms.people import LOCAL, OWNER, People
from doorward.rooms.rooms import Rooms
from doorward.rooms.tokens import Tokens

_AGENT = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")


class Authenticator:
    def __init__(self, people: People, tokens: Tokens, browsers: Browsers, personas: Personas, rooms: Rooms) -> None:
        self._people = people
        self._rooms = rooms
        self._tokens = tokens
        self._browsers = browsers
        self._personas = personas

    def caller(self, credential: Credential) -> Caller:
        """The caller that a credential proves. There is no anonymous access and no fallback."""
        caller = self._proven(credential)
        if caller.id == KEEPER:
            raise NotAuthenticated(f"{KEEPER!r} is the name of the house's own keeper; nobody else can act under it.")
        return caller

    def _proven(self, credential: Credential) -> Caller:
        if credential.persona:
            return self._thinking(credential)
        if credential.token:
            if credential.speak_as:
                raise BadParams("A token speaks for itself; leave out the agent's name.")
            return self._tokens.caller(credential.token)
        if credential.browser:
            return self._browsers.caller(credential.browser, credential.proof)
        if not credential.owner:
            raise NotAuthenticated("Nobody vouches for this request; send a token made with `doorward token create`.")
        owner = self._people.get(LOCAL, OWNER)
        if owner is None or not owner.active:
            raise NotAuthenticated("The owner of this house may not act any more.")
        if not credential.speak_as:
            return Caller(LOCAL, OWNER, "human", owner.access)
        return self._lent(credential, Caller(LOCAL, OWNER, "human", owner.access))

    def _thinking(self, credential: Credential) -> Caller:
        """A persona acts for the person who asked it, with no more than both may, and knows what all who hear it may.

        What was said to it alone, or where one of those was not, it cannot tell: it does not see it here.
        """
        if credential != Credential(persona=credential.persona, asker=credential.asker, room=credential.room):
            raise BadParams("A persona speaks for itself; nothing else vouches for it.")
        persona = self._personas.get(LOCAL, credential.persona)
        if persona is None:
            raise NotAuthenticated(f"There is no persona {credential.persona[:80]!r} any more.")
        asker = self._people.get(LOCAL, credential.asker)
        if asker is None or asker.kind != "human":
            raise NotAuthenticated(f"No person asked {persona.id} for this, so it does nothing.")
        if not asker.active:
            raise NotAuthenticated(f"{asker.id}, for whom {persona.id} would act, may not act any more.")
        caller = persona.caller
        return msgspec.structs.replace(
            caller,
            access=min(caller.access, asker.access),
            on_behalf_of=asker.id,
            rooms=self._rooms.open_to_all_in(LOCAL, credential.room),
        )

    def _lent(self, credential: Credential, owner: Caller) -> Caller:
        """An agent or a program of the owner's, under a name of its own."""
        name = credential.speak_as
        if not _AGENT.fullmatch(name):
            raise BadParams(
                "An agent is named with 1 to 63 small letters, digits, dots, dashes or underscores; "
                f"given {name[:80]!r}."
            )
        user = self._people.get(owner.tenant, name)
        if user is not None and user.kind == "human":
            raise BadParams(f"{name!r} is a person; an agent cannot carry a person's name.")
        if self._personas.get(owner.tenant, name) is not None:
            raise BadParams(f"{name!r} is a persona of this house; no other agent can carry its name.")
        return Caller(owner.tenant, name, credential.kind, owner.access, owner.id)
