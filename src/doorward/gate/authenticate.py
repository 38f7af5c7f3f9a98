"""Step 1: who asks."""

from __future__ import annotations

import re

from doorward.errors import BadParams, NotAuthenticated
from doorward.model import Caller, Credential
from doorward.rooms.people import LOCAL, OWNER, People
from doorward.rooms.tokens import Tokens

_AGENT = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")


class Authenticator:
    def __init__(self, people: People, tokens: Tokens) -> None:
        self._people = people
        self._tokens = tokens

    def caller(self, credential: Credential) -> Caller:
        """The caller that a credential proves. There is no anonymous access and no fallback."""
        if credential.token:
            if credential.speak_as:
                raise BadParams("A token speaks for itself; leave out the agent's name.")
            return self._tokens.caller(credential.token)
        if not credential.owner:
            raise NotAuthenticated("Nobody vouches for this request; send a token made with `doorward token create`.")
        owner = self._people.get(LOCAL, OWNER)
        if owner is None or not owner.active:
            raise NotAuthenticated("The owner of this house may not act any more.")
        if not credential.speak_as:
            return Caller(LOCAL, OWNER, "human", owner.access)
        return self._lent(credential, Caller(LOCAL, OWNER, "human", owner.access))

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
        return Caller(owner.tenant, name, credential.kind, owner.access, owner.id)
