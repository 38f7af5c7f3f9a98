"""The nouns of a request's way through the gate: Caller, Request, Call, Permit, Outcome."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from doorward import redact
from doorward.command import Command
from doorward.errors import Effect, Retry
from doorward.facts import Access, Tier

Kind = Literal["human", "ai", "service"]
KEEPER = "keeper"
"""The name under which the keeper acts for a person; nobody else can have it. It stands for the keepers of all people,
so it is nobody's to be granted anything by: what belongs to a keeper belongs to the person it acts for."""


class Caller(msgspec.Struct, frozen=True):
    """Who asks, as authenticated: never built from what a request says about itself."""

    tenant: str
    id: str
    kind: Kind
    access: Access
    on_behalf_of: str = ""
    rooms: tuple[str, ...] | None = None
    """The rooms this credential may act in; None means every room the caller is a member of."""
    keeper: bool = False
    """Whether the keeper asks, inside a call of somebody who told it in words what to do: it is judged like them, but
    for what people alone may do, and whatever cannot be taken back waits for a person."""
    persona: bool = False
    """Whether it is an AI that lives here: it acts only where it is a member itself, as is whoever it acts for, and its
    rooms are worked out for each call from who can hear it."""

    @property
    def as_whom(self) -> str:
        """What this caller is, in words that stand in a sentence to it."""
        return {"human": "a person", "ai": "an agent", "service": "a program"}[self.kind]

    @property
    def whose(self) -> str:
        """Whose strength, limits and sessions a call uses: the caller's own, or of the person the keeper acts for."""
        return self.on_behalf_of if self.keeper and self.id == KEEPER else self.id

    @property
    def personal(self) -> bool:
        """Whether it is a person, or the keeper acting for one, who sees as much as that person."""
        return self.kind == "human" or self.whose != self.id

    def thinking(self) -> Caller:
        """Who makes the calls that the keeper thinks of for this caller: the keeper, where that is a person."""
        if self.kind != "human":
            return msgspec.structs.replace(self, keeper=True)
        return Caller(self.tenant, KEEPER, "ai", self.access, self.id, self.rooms, keeper=True)

    @property
    def identities(self) -> frozenset[str]:
        """The names that record access lists and memberships are checked against; of the keeper, only the person's."""
        return frozenset((self.whose, self.on_behalf_of)) - {""}

    def owns(self, who: str, behalf: str) -> bool:
        """Whether what somebody asked for is this caller's own: its own calls, and a person's agents' as well.

        What is a person's own is that of the keeper, too, while it acts for them.
        """
        if self.personal:
            return self.whose in (who, behalf)
        return (self.id, self.on_behalf_of) == (who, behalf)

    def reaches(self, room: str) -> bool:
        """Whether this credential is good for a room at all; whether its caller is a member is another question."""
        return self.rooms is None or room in self.rooms

    def acts_in(self, room: str) -> str:
        """The room that is meant: the one that was named, or, for a credential good for one room only, that one."""
        return self.rooms[0] if not room and self.rooms is not None and len(self.rooms) == 1 else room


ANONYMOUS = Caller(tenant="", id="anonymous", kind="service", access=Access.READ)


class Credential(msgspec.Struct, frozen=True):
    """What a door can show for its caller: the owner's own machine account, or a token."""

    owner: bool = False
    """Set only by a door that the operating system guards (terminal, owner-only socket)."""
    token: str = ""
    browser: str = ""
    """The secret in the cookie of a person's browser; only the REST door, which the console speaks to, looks at it."""
    proof: str = ""
    """The other secret of that browser's session, which the console's page keeps; the cookie is nothing without it."""
    speak_as: str = ""
    """The owner may lend its voice to an agent by name; the agent gets less, never more."""
    kind: Literal["ai", "service"] = "ai"
    """What the lent voice belongs to: an agent that thinks, or a program."""
    persona: str = ""
    """Set only by `agents`, for an AI that thinks in this very process; no door can vouch for one."""
    asker: str = ""
    """The person whose message a persona takes up, and for whom it acts."""
    room: str = ""
    """Where a persona was asked, and whoever is there hears it."""


class Request(msgspec.Struct, frozen=True):
    """What came in through a door, before anything is believed."""

    command: str
    credential: Credential
    door: str
    room: str = ""
    params: Mapping[str, Any] | None = None
    args: tuple[tuple[str, str | None], ...] | None = None
    """Parameters as text (`--key=value`), to be read by the command's schema; instead of `params`."""
    ticket: str = ""
    session: str = ""
    response: str = ""
    """Groups the calls of one model answer, for the limit per response."""
    thought_in: str = ""
    """Set only by the gate: the call in which the keeper thought of this one."""
    hides: tuple[str, ...] = ()
    """Set only by the gate: secrets that were known where this was asked for, such as a session's variables."""
    dry_run: bool = False
    cache: bool = False


class Absent(msgspec.Struct, frozen=True, kw_only=True):
    """A command that is not there now, and why: what it belongs to is switched off, away, or not known yet."""

    name: str
    tier: Tier
    message: str
    why: str
    """The latter half of the message, which does not speak of a command."""
    hint: str = ""
    retry_after: float | None = None


class Call(msgspec.Struct, frozen=True):
    """A well-formed request by a known caller for an existing command."""

    id: str
    caller: Caller
    command: Command
    params: Mapping[str, Any]
    room: str
    door: str
    session: str
    response: str
    workspace: str
    digest: str
    """Keyed hash of exactly what would run: command as declared, params, working directory, room and caller."""
    thought_in: str = ""
    """The call in which the keeper thought of it, however deep inside; empty when nobody here did."""
    hides: tuple[str, ...] = ()
    """Secrets that no name of a parameter tells of, and that nothing that is written down about it shows."""

    @property
    def secrets(self) -> list[str]:
        """All secrets that are known of it, in every spelling a sentence may quote them in."""
        return redact.secrets(self.params, self.command.secret, self.hides)


class Ruling(msgspec.Struct, frozen=True):
    """One decision and the rule that made it."""

    allowed: bool
    rule: str
    reason: str = ""


class ApprovalTerms(msgspec.Struct, frozen=True):
    """What a recipe, or the house, demands before a command runs."""

    timeout_seconds: float = 30.0
    approvers: tuple[str, ...] = ()
    """Roles or user ids; empty means the room's owners and admins."""
    quorum: int = 1
    rule: str = ""
    """The rule that asks, where that is none of a recipe's."""


class Permit(msgspec.Struct, frozen=True):
    """Proof that every check passed. Only the gate makes one, and only a permit can be executed."""

    call: Call
    ruling: Ruling
    timeout: float
    approval: str = ""
    reserved: float = 0.0
    effect: bytes | None = None
    """What people approved that it does, where that was foreseen."""


Status = Literal["done", "refused", "failed", "parked"]


class Outcome(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How a request ended, in the shape every door translates from."""

    status: Status
    code: str
    message: str
    call: str
    command: str
    result: Any = None
    text: str = ""
    """The result as a model reads it."""
    retry: Retry = "never"
    effect: Effect = "none"
    hint: str = ""
    rule: str = ""
    retry_after: float | None = None
    ticket: str = ""
    cached: bool = False
    dry_run: bool = False
    truncated: int = 0
    """The full size in characters when the text was cut, else 0."""
