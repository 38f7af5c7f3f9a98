"""Approvals: each is a stored request about one exact call, decided by people, and valid for one execution."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from doorward.config.settings import Settings
from doorward.core import redact
from doorward.core.classification import Access, Role
from doorward.core.clock import Clock
from doorward.core.command import LONGEST_PREVIEW, EffectPreview
from doorward.core.errors import Conflict, NotApproved, NotFound, NotPermitted
from doorward.core.escape_invisible import escape_invisible, to_storable
from doorward.core.events import ApprovalDecided, Bus
from doorward.core.ids import new_id
from doorward.core.model import ApprovalTerms, Call, Caller, Kind
from doorward.rooms.rooms import Rooms
from doorward.store import approvals as sql
from doorward.store.sqlite import Statement, Store

ApprovalVerdict = Literal["approve", "deny"]
ApprovalState = Literal["pending", "approved", "denied", "expired", "used"]

DEFAULT_APPROVERS = (Role.OWNER, Role.ADMIN)
"""The roles that decide when a recipe names no approvers."""
_RETRY_AFTER = 1.0
"""The retry delay in seconds for a ticket that is not decided yet."""


class Approval(msgspec.Struct, frozen=True):
    id: str
    tenant: str
    room: str
    caller: str
    kind: Kind
    behalf: str
    command: str
    params: str
    """The exact parameters while the call can still run; afterwards the redacted ones."""
    redacted: str
    digest: str
    access: Access
    approvers: str
    quorum: int
    state: ApprovalState
    created_at: float
    expires_at: float
    decided_at: float | None = None
    used_by: str | None = None
    lines_added: int = 0
    """The number of lines that the previewed effect adds; 0 if it is unknown."""
    lines_removed: int = 0

    @property
    def call_text(self) -> str:
        """The exact call for people to read before they decide, with invisible characters escaped."""
        return f"{self.command} {escape_invisible(self.params, lines=False)}"


class ApprovalPreview(msgspec.Struct, frozen=True):
    """A part of the effect that people approve, as text with invisible characters escaped."""

    text: str
    length: int
    """The number of characters of the whole text, as it is stored."""
    next: int | None
    """Where the next part starts; None at the end."""


class Approvals:
    def __init__(self, store: Store, rooms: Rooms, events: Bus, clock: Clock, settings: Settings) -> None:
        self._store = store
        self._rooms = rooms
        self._events = events
        self._clock = clock
        self._settings = settings

    def prepare(
        self, call: Call, digest: str, terms: ApprovalTerms, foreseen: EffectPreview | None
    ) -> tuple[Approval, Statement]:
        """Create an approval for a call with its predicted effect, and the statement that stores it."""
        now = self._clock.now()
        caller = call.caller
        approval = Approval(
            id=new_id(),
            tenant=caller.tenant,
            room=call.room,
            caller=caller.id,
            kind=caller.kind,
            behalf=caller.on_behalf_of,
            command=call.command.name,
            params=json.dumps(call.params, ensure_ascii=False, sort_keys=True),
            redacted=json.dumps(
                redact.params(call.params, call.command.secret, call.known_secrets), ensure_ascii=False, sort_keys=True
            ),
            digest=digest,
            access=call.command.facts.access,
            approvers=json.dumps(terms.approvers or DEFAULT_APPROVERS),
            quorum=terms.quorum,
            state="pending",
            created_at=now,
            expires_at=now + terms.timeout_seconds,
            lines_added=foreseen.added if foreseen else 0,
            lines_removed=foreseen.removed if foreseen else 0,
        )
        row = {**msgspec.structs.asdict(approval), "access": int(approval.access)}
        if foreseen:
            row |= {"effect": foreseen.effect, "foreseen": _to_stored_text(foreseen.shown)}
        return approval, sql.insert(row)

    async def find(self, tenant: str, id: str) -> Approval:
        row = await sql.find(self._store, tenant, id)
        if row is None:
            raise self.not_found(id)
        return self._from_row(row)

    @staticmethod
    def not_found(id: str) -> NotFound:
        return NotFound(f"There is no approval {id[:64]!r}. `doorward approvals list` lists them.")

    async def effect(self, approval: Approval) -> bytes | None:
        """Return the approved effect of the command, if it was predicted."""
        return await sql.effect(self._store, approval.id)

    async def preview(self, approval: Approval, offset: int, limit: int) -> ApprovalPreview:
        """Return a part of the previewed effect for people, up to the end of a line."""
        text, length = await sql.preview(self._store, approval.id, offset, limit)
        if offset + len(text) < length:
            text = text[: text.rfind("\n") + 1] or text
        end = offset + len(text)
        return ApprovalPreview(escape_invisible(text), length, end if end < length else None)

    async def newest(self, tenant: str, limit: int, before: str = "") -> list[Approval]:
        """Return the newest approvals of a tenant, or the newest before a given one."""
        return [self._from_row(row) for row in await sql.newest(self._store, tenant, limit, before)]

    def cleanup_statements(self) -> list[Statement]:
        """Return the statements that delete the exact parameters of approvals that can no longer run."""
        now = self._clock.now()
        return sql.expire(now, now - self._settings.approvals.use_within)

    async def decisions(self, approval: Approval) -> list[dict[str, Any]]:
        return await sql.decisions(self._store, approval.id)

    async def decided_by(self, decider: Caller, approvals: Sequence[Approval]) -> set[str]:
        """Return the ids of those approvals (newest first) that a person has decided."""
        return await sql.decided_by(self._store, decider.id, approvals[-1].id, approvals[0].id) if approvals else set()

    async def decide(self, decider: Caller, id: str, verdict: ApprovalVerdict) -> Approval:
        """Record a person's verdict, if that person may decide and the approval is pending."""
        approval = await self.find(decider.tenant, id)
        self.check_may_decide(decider, approval)
        if approval.state != "pending":
            raise Conflict(f"Approval {id} is {_describe_state(approval)}. Nothing was decided.")
        now = self._clock.now()
        await self._store.write(*sql.decide(id, decider.id, verdict, now))
        approval = await self.find(decider.tenant, id)
        self._events.publish(
            ApprovalDecided(
                tenant=approval.tenant,
                at=now,
                approval=id,
                room=approval.room,
                state=approval.state,
                decider=decider.id,
            )
        )
        return approval

    @staticmethod
    def satisfies(approval: Approval, terms: ApprovalTerms) -> bool:
        """Whether an approval was requested under terms at least as strict as these."""
        named = set(terms.approvers or DEFAULT_APPROVERS)
        return approval.quorum >= terms.quorum and set(json.loads(approval.approvers)) <= named

    def use(self, approval: Approval, digest: str, call: str) -> Statement:
        """Return the statement that uses up an approval, to be stored together with the start of the call.

        An approval that cannot be used is refused at once. The statement itself decides races.
        """
        oldest = self._clock.now() - self._settings.approvals.use_within
        if approval.state == "approved" and (approval.decided_at or 0.0) <= oldest:
            raise NotApproved("The approval was not used in time.", hint="Run the call again without the ticket.")
        if approval.state != "approved":
            raise NotApproved(
                f"Approval {approval.id} is {_describe_state(approval)}.",
                hint=_next_step(approval),
                retry_after=_RETRY_AFTER if approval.state == "pending" else None,
            )
        if approval.digest != digest:
            raise NotApproved(
                "The call does not match its approval: the command or its definition, the parameters, the room, the "
                "caller or the working folder differ.",
                hint="Run the call again without the ticket.",
            )
        return sql.use(approval.id, digest, call, oldest)

    def check_may_decide(self, decider: Caller, approval: Approval) -> None:
        """Refuse a caller who may not decide about this approval, whatever its state."""
        if decider.kind != "human":
            raise NotPermitted(f"Only a person may decide about an approval. You act as {decider.kind_label}.")
        if decider.id == approval.caller:
            raise NotPermitted("You cannot decide about your own request. Another person in the room must.")
        if not approval.room:
            self._check_asker(decider, approval)
            return
        room = self._rooms.get(approval.tenant, approval.room)
        if room is not None and room.direct and not room.is_visible_to(decider):
            raise self.not_found(approval.id)
        member = room.members.get(decider.id) if room is not None else None
        named = json.loads(approval.approvers)
        decides = member is not None and member.kind == "human" and {member.id, member.role} & set(named)
        if not decides or not decider.covers_room(approval.room):
            raise NotPermitted(f"You may not decide in room {approval.room!r}. Approvers there: {', '.join(named)}.")
        self._check_access(decider, approval)

    def _check_asker(self, decider: Caller, approval: Approval) -> None:
        """Outside rooms, only the person whom the keeper acts for decides."""
        if decider.id != approval.behalf or decider.rooms is not None:
            raise self.not_found(approval.id)
        self._check_access(decider, approval)

    @staticmethod
    def _check_access(decider: Caller, approval: Approval) -> None:
        if decider.access < approval.access:
            raise NotPermitted(
                f"To decide about {approval.command} you need {approval.access.label} access; "
                f"you have {decider.access.label}."
            )

    def _from_row(self, row: dict[str, Any]) -> Approval:
        approval = msgspec.convert(row, Approval)
        if approval.state == "pending" and approval.expires_at <= self._clock.now():
            return msgspec.structs.replace(approval, state="expired")
        return approval


def _to_stored_text(preview: str) -> str:
    """Make a previewed effect storable: bounded, and without null characters, at which SQLite ends a text."""
    text = to_storable(preview).replace("\0", "\\u0000")
    if len(text) <= LONGEST_PREVIEW:
        return text
    return f"{text[:LONGEST_PREVIEW]}\n… {len(text) - LONGEST_PREVIEW} more characters are not stored.\n"


def _describe_state(approval: Approval) -> str:
    if approval.state == "used":
        return f"already used, by execution {approval.used_by}"
    return {
        "pending": "still waiting for a decision",
        "approved": "already approved",
        "denied": "denied",
        "expired": "expired without a decision",
    }[approval.state]


def _next_step(approval: Approval) -> str:
    if approval.state == "pending":
        return f"Decide with: doorward approvals approve {approval.id}"
    if approval.state == "denied":
        return "A person denied the call. Do something else."
    return "If you still need it, run the call again without a ticket."
