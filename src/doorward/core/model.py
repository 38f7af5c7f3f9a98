"""The types a request becomes on its way through the gate: Request, Call, Admitted, Permit, Outcome."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from doorward.core import redact
from doorward.core.classification import Access, Tier
from doorward.core.command import Command
from doorward.core.errors import Effect, Retry

Kind = Literal["human", "ai", "service"]
KEEPER = "keeper"
"""The reserved name under which the keeper acts for a person. It is shared by the keepers of all people, so nothing is
granted to it: what belongs to a keeper belongs to the person it acts for."""


class Caller(msgspec.Struct, frozen=True):
    """The authenticated caller. Never built from what a request says about itself."""

    tenant: str
    id: str
    kind: Kind
    access: Access
    on_behalf_of: str = ""
    rooms: tuple[str, ...] | None = None
    """The rooms this credential is limited to; None means every room the caller is a member of."""
    keeper: bool = False
    """Whether this is the keeper acting for somebody. It has their rights, except what only people may do, and needs
    approval for everything that cannot be undone."""
    persona: bool = False
    """Whether this is a persona. It acts only in rooms where both it and the person it acts for are members; its rooms
    are computed for each call from who can hear it."""

    @property
    def kind_label(self) -> str:
        """The kind of caller, for a sentence."""
        return {"human": "a person", "ai": "an agent", "service": "a program"}[self.kind]

    @property
    def principal(self) -> str:
        """Whose energy, limits and sessions a call uses: the caller's, or those of the person the keeper acts for."""
        return self.on_behalf_of if self.keeper and self.id == KEEPER else self.id

    @property
    def acts_as_person(self) -> bool:
        """Whether this is a person, or the keeper acting for one."""
        return self.kind == "human" or self.principal != self.id

    def as_keeper(self) -> Caller:
        """The caller of the keeper's own calls on behalf of this caller."""
        if self.kind != "human":
            return msgspec.structs.replace(self, keeper=True)
        return Caller(self.tenant, KEEPER, "ai", self.access, self.id, self.rooms, keeper=True)

    @property
    def identities(self) -> frozenset[str]:
        """The names that access lists and memberships are checked against; for the keeper, only the person's."""
        return frozenset((self.principal, self.on_behalf_of)) - {""}

    def owns(self, who: str, behalf: str) -> bool:
        """Whether a call belongs to this caller: its own calls and, for a person, those of their agents.

        The keeper owns what the person it acts for owns.
        """
        if self.acts_as_person:
            return self.principal in (who, behalf)
        return (self.id, self.on_behalf_of) == (who, behalf)

    def covers_room(self, room: str) -> bool:
        """Whether this credential covers a room. Membership is checked separately."""
        return self.rooms is None or room in self.rooms

    def resolve_room(self, room: str) -> str:
        """The named room or, for a credential limited to one room, that room."""
        return self.rooms[0] if not room and self.rooms is not None and len(self.rooms) == 1 else room


ANONYMOUS = Caller(tenant="", id="anonymous", kind="service", access=Access.READ)


class Credential(msgspec.Struct, frozen=True):
    """The credentials that a door presents: the owner's machine account, or a token."""

    owner: bool = False
    """Set only by a door that the operating system guards (terminal, owner-only socket)."""
    token: str = ""
    browser: str = ""
    """The secret in a browser's session cookie. Only the REST door sets it, for the console."""
    proof: str = ""
    """The second secret of a browser session, kept by the console's page. The cookie is worth nothing without it."""
    speak_as: str = ""
    """The name of an agent that acts for the owner. It gets the owner's rights or less."""
    kind: Literal["ai", "service"] = "ai"
    """Whether that agent is an AI or a plain program."""
    persona: str = ""
    """Set only by `agents`, for a persona in this process. No door can set it."""
    asker: str = ""
    """The person whose message the persona answers, and for whom it acts."""
    room: str = ""
    """The room in which the persona was asked."""


class Request(msgspec.Struct, frozen=True):
    """A request as it came in through a door. Nothing in it is trusted yet."""

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
    keeper_call: str = ""
    """Set only by the gate: the agent/ask call in which the keeper made this one."""
    known_secrets: tuple[str, ...] = ()
    """Set only by the gate: secrets known to the parent call, such as a session's variables."""
    dry_run: bool = False
    cache: bool = False
    address: str = ""
    """The network address of the sender; empty for a sender on this machine."""


class UnavailableCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A command that is not available now, and why: its server is disabled, unreachable or not loaded yet."""

    name: str
    tier: Tier
    message: str
    why: str
    """The second half of the message, which does not mention a command."""
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
    draft: str = ""
    """The draft in which it works; empty for the workspace itself. `workspace` is then the draft's folder."""
    keeper_call: str = ""
    """The agent/ask call in which the keeper made this one, at any depth; empty for others."""
    known_secrets: tuple[str, ...] = ()
    """Secrets that no parameter name reveals, and that no record may show."""

    @property
    def secrets(self) -> list[str]:
        """All known secrets of the call, in every escaped form."""
        return redact.collect_secrets(self.params, self.command.secret, self.known_secrets)


class Ruling(msgspec.Struct, frozen=True):
    """One decision and the rule that made it."""

    allowed: bool
    rule: str
    reason: str = ""


class ApprovalTerms(msgspec.Struct, frozen=True):
    """The approval that a recipe or a built-in rule requires before a command runs."""

    timeout_seconds: float = 30.0
    approvers: tuple[str, ...] = ()
    """Roles or user ids; empty means the room's owners and admins."""
    quorum: int = 1
    rule: str = ""
    """The built-in rule that requires it; empty when a recipe does."""
    hold_seconds: float = 600.0
    """How long a person who looks at the request holds it, once; 0 for not at all."""


class Admitted(msgspec.Struct, frozen=True):
    """A call that is authenticated, valid, allowed and within its limits. It may still need approval: it cannot run."""

    call: Call
    ruling: Ruling
    timeout: float
    reserved: float = 0.0
    """The energy set aside for it."""


class Permit(Admitted, frozen=True):
    """Proof that a call may run: its approval is settled, and its start is stored where it must be.

    Only `gate/permit.py:issue` makes one, and only a permit can be executed.
    """

    effect: bytes | None = None
    """The effect that people approved, when it was previewed."""


Status = Literal["done", "refused", "failed", "parked"]


class Outcome(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How a request ended. Every door translates this."""

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
    """The full size in characters when the text was truncated, else 0."""
