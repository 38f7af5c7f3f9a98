"""Approvals: a stored question about exactly one call, answered by people, good for one execution."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from doorward import redact
from doorward.clock import Clock
from doorward.command import Foreseen
from doorward.errors import Conflict, NotApproved, NotFound, NotPermitted
from doorward.events import ApprovalDecided, Bus
from doorward.facts import Access, Role
from doorward.ids import new_id
from doorward.model import ApprovalTerms, Call, Caller, Kind
from doorward.rooms.rooms import Rooms
from doorward.settings import Settings
from doorward.store import approvals as sql
from doorward.store.sqlite import Statement, Store
from doorward.visible import storable, visible

Verdict = Literal["approve", "deny"]
State = Literal["pending", "approved", "denied", "expired", "used"]

DECIDERS = (Role.OWNER, Role.ADMIN)
"""Who decides when a recipe names nobody."""
_LOOK_AGAIN = 1.0
"""Seconds after which it is worth coming back with a ticket that nobody decided about yet."""


class Approval(msgspec.Struct, frozen=True):
    id: str
    tenant: str
    room: str
    caller: str
    kind: Kind
    behalf: str
    command: str
    params: str
    """The exact parameters, until they can no longer run; then only what may be shown of them."""
    redacted: str
    digest: str
    access: Access
    approvers: str
    quorum: int
    state: State
    created_at: float
    expires_at: float
    decided_at: float | None = None
    used_by: str | None = None
    foreseen: str = ""
    """The difference the call would make, worked out when it was asked for; empty when that could not be known."""

    @property
    def shown(self) -> str:
        """What people read before they decide: exactly what would run, every blank and hidden character seen."""
        return f"{self.command} {visible(self.params, lines=False)}"


class Approvals:
    def __init__(self, store: Store, rooms: Rooms, events: Bus, clock: Clock, settings: Settings) -> None:
        self._store = store
        self._rooms = rooms
        self._events = events
        self._clock = clock
        self._settings = settings

    def prepare(
        self, call: Call, digest: str, terms: ApprovalTerms, foreseen: Foreseen | None
    ) -> tuple[Approval, Statement]:
        """A new question about this call and what it would do, and the statement that stores it."""
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
                redact.params(call.params, call.command.secret, call.hides), ensure_ascii=False, sort_keys=True
            ),
            digest=digest,
            access=call.command.facts.access,
            approvers=json.dumps(terms.approvers or DECIDERS),
            quorum=terms.quorum,
            state="pending",
            created_at=now,
            expires_at=now + terms.timeout_seconds,
            foreseen=storable(foreseen.shown) if foreseen else "",
        )
        effect = foreseen.effect if foreseen else None
        return approval, sql.insert(
            {**msgspec.structs.asdict(approval), "access": int(approval.access), "effect": effect}
        )

    async def find(self, tenant: str, id: str) -> Approval:
        row = await sql.find(self._store, tenant, id)
        if row is None:
            raise self.unknown(id)
        return self._current(row)

    @staticmethod
    def unknown(id: str) -> NotFound:
        return NotFound(f"There is no approval {id[:64]!r}; `doorward approvals list` shows those there are.")

    async def effect(self, approval: Approval) -> bytes | None:
        """What the command shall do by this approval, where that was foreseen."""
        return await sql.effect(self._store, approval.id)

    async def newest(self, tenant: str, limit: int, before: str = "") -> list[Approval]:
        """The newest of a tenant, or the newest of those older than one of them."""
        return [self._current(row) for row in await sql.newest(self._store, tenant, limit, before)]

    def tidy(self) -> list[Statement]:
        """What makes the store forget the exact parameters of requests that can no longer run."""
        now = self._clock.now()
        return sql.expire(now, now - self._settings.approvals.use_within)

    async def decisions(self, approval: Approval) -> list[dict[str, Any]]:
        return await sql.decisions(self._store, approval.id)

    async def decided_by(self, decider: Caller, approvals: Sequence[Approval]) -> set[str]:
        """Those of these, newest first, about which somebody has said their word."""
        return await sql.decided_by(self._store, decider.id, approvals[-1].id, approvals[0].id) if approvals else set()

    async def decide(self, decider: Caller, id: str, verdict: Verdict) -> Approval:
        """Record a person's verdict, if that person may give it and it is not too late."""
        approval = await self.find(decider.tenant, id)
        self.may_decide(decider, approval)
        if approval.state != "pending":
            raise Conflict(f"Nothing was decided: approval {id} is {_state_words(approval)}.")
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
        """Whether what was asked of people then is what a recipe asks of them now."""
        named = set(terms.approvers or DECIDERS)
        return approval.quorum >= terms.quorum and set(json.loads(approval.approvers)) <= named

    def spend(self, approval: Approval, digest: str, call: str) -> Statement:
        """The statement that uses an approval up, to be stored together with the start of the call.

        Refused at once when it plainly cannot succeed; the statement itself decides races.
        """
        oldest = self._clock.now() - self._settings.approvals.use_within
        if approval.state == "approved" and (approval.decided_at or 0.0) <= oldest:
            raise NotApproved("The approval was not used in time.", hint="Ask again without the ticket.")
        if approval.state != "approved":
            raise NotApproved(
                f"Approval {approval.id} is {_state_words(approval)}.",
                hint=_next_step(approval),
                retry_after=_LOOK_AGAIN if approval.state == "pending" else None,
            )
        if approval.digest != digest:
            raise NotApproved(
                "What would run is not what was approved: the command or its definition, its parameters, the room, the "
                "caller or the working folder differ.",
                hint="Ask again without the ticket.",
            )
        return sql.use(approval.id, digest, call, oldest)

    def may_decide(self, decider: Caller, approval: Approval) -> None:
        """Refuse whoever may not decide about this, whatever its state."""
        if decider.kind != "human":
            raise NotPermitted(f"Only a person may decide about an approval; you act as {decider.as_whom}.")
        if decider.id == approval.caller:
            raise NotPermitted("Whoever asked may not decide; another person in the room must.")
        if not approval.room:
            self._for_its_asker(decider, approval)
            return
        room = self._rooms.get(approval.tenant, approval.room)
        if room is not None and room.direct and not room.seen_by(decider):
            raise self.unknown(approval.id)
        member = room.members.get(decider.id) if room is not None else None
        named = json.loads(approval.approvers)
        decides = member is not None and member.kind == "human" and {member.id, member.role} & set(named)
        if not decides or not decider.reaches(approval.room):
            raise NotPermitted(f"You may not decide in room {approval.room!r}; there, these may: {', '.join(named)}.")
        self._holds_what_it_grants(decider, approval)

    def _for_its_asker(self, decider: Caller, approval: Approval) -> None:
        """Outside rooms only the person decides for whom the keeper acts; whoever answers for the house sees it."""
        if decider.id != approval.behalf or decider.rooms is not None:
            raise self.unknown(approval.id)
        self._holds_what_it_grants(decider, approval)

    @staticmethod
    def _holds_what_it_grants(decider: Caller, approval: Approval) -> None:
        if decider.access < approval.access:
            raise NotPermitted(
                f"To approve {approval.command} you need {approval.access.label} access yourself; "
                f"you have {decider.access.label}."
            )

    def _current(self, row: dict[str, Any]) -> Approval:
        approval = msgspec.convert(row, Approval)
        if approval.state == "pending" and approval.expires_at <= self._clock.now():
            return msgspec.structs.replace(approval, state="expired")
        return approval


def _state_words(approval: Approval) -> str:
    if approval.state == "used":
        return f"used already, by execution {approval.used_by}"
    return {
        "pending": "still waiting for a decision",
        "approved": "approved already",
        "denied": "denied",
        "expired": "expired without a decision, which counts as no",
    }[approval.state]


def _next_step(approval: Approval) -> str:
    if approval.state == "pending":
        return f"Decide with: doorward approvals approve {approval.id}"
    if approval.state == "denied":
        return "A person said no; do something else."
    return "If it still matters, ask for it anew, without a ticket."
