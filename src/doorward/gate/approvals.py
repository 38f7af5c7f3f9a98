"""Approvals: each is a stored request about one exact call, decided by people, and valid for one execution."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from doorward.config.settings import Settings
from doorward.core import redact
from doorward.core.classification import Role
from doorward.core.clock import Clock
from doorward.core.effect_preview import LONGEST_PREVIEW, EffectPreview
from doorward.core.errors import Conflict, NotApproved, NotFound, NotPermitted
from doorward.core.escape_invisible import escape_invisible, to_storable
from doorward.core.events import ApprovalDecided, ApprovalHeld, Bus
from doorward.core.ids import new_id
from doorward.core.model import ApprovalTerms, Call, Caller, Credential
from doorward.gate.approval import Approval, ApprovalPreview
from doorward.gate.recipes.narrow_rules import NarrowRule
from doorward.gate.session_grants import SessionGrant, SessionGrants
from doorward.gate.shown_approvals import ShownApprovals
from doorward.rooms.people import People
from doorward.rooms.rooms import Rooms
from doorward.store import approvals as sql
from doorward.store.ledger.record import Entry
from doorward.store.sqlite import Statement, Store

ApprovalVerdict = Literal["approve", "deny"]
ApprovalScope = Literal["once", "session", "always"]

DEFAULT_APPROVERS = (Role.OWNER, Role.ADMIN)
"""The roles that decide when a recipe names no approvers."""
LONGEST_REASON = 500
"""The most characters of the reason for a denial."""
_RETRY_AFTER = 1.0
"""The retry delay in seconds for a ticket that is not decided yet."""


class LastingAnswer(msgspec.Struct, frozen=True):
    """A decision that covers later calls too: for the caller's session, or always."""

    scope: ApprovalScope
    rule: NarrowRule


class Approvals:
    def __init__(
        self, store: Store, people: People, rooms: Rooms, events: Bus, clock: Clock, settings: Settings
    ) -> None:
        self._store = store
        self._people = people
        self._rooms = rooms
        self._events = events
        self._clock = clock
        self._settings = settings
        self.shown = ShownApprovals()
        self.grants = SessionGrants(clock, settings.approvals.session_seconds)
        people.revocations.listen(self.grants.end_revoked)

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
            call=call.id,
            door=call.door,
            tier=call.command.facts.tier,
            lines_added=foreseen.added if foreseen else 0,
            lines_removed=foreseen.removed if foreseen else 0,
            hold_seconds=terms.hold_seconds,
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

    async def expire_due(self) -> None:
        """Expire approvals that were not decided or not used in time: record it, and delete the exact parameters."""
        now = self._clock.now()
        decided_before = now - self._settings.approvals.use_within
        for row in await sql.due(self._store, now, decided_before):
            approval = msgspec.convert(row, Approval)
            note = "It was approved, but not used in time." if row["state"] == "approved" else "Nobody decided in time."
            with contextlib.suppress(Conflict):  # it was decided or used in the meantime
                await self._store.write(
                    sql.expire(approval.id, now, decided_before), entries=[self._entry(approval, "expired", note)]
                )

    async def withdraw(self, tenant: str, id: str, note: str) -> None:
        """Expire a pending approval now, because nothing waits for it any more."""
        approval, now = await self.find(tenant, id), self._clock.now()
        if approval.state != "pending":
            return
        entry = self._entry(approval, "expired", note)
        try:
            await self._store.write(sql.expire_now(id, now, note), sql.expire(id, now, 0.0), entries=[entry])
        except Conflict:  # it was decided in the meantime
            return
        self._publish_decision(await self.find(tenant, id), now, decider="")

    async def decisions(self, approval: Approval) -> list[dict[str, Any]]:
        """Return the decisions. `counts` says whether the person who decided may still decide."""
        found = await sql.decisions(self._store, approval.id)
        return [{**one, "counts": self._may_still_decide(one["decider"], approval)} for one in found]

    async def check_quorum(self, approval: Approval) -> None:
        """Refuse an approved call if too few of the people who approved it may still decide about it."""
        valid = [one for one in await self.decisions(approval) if one["verdict"] == "approve" and one["counts"]]
        if approval.state == "approved" and len(valid) < approval.quorum:
            raise NotApproved(
                f"The call needs {approval.quorum} approvals of people who may decide, and has {len(valid)}. "
                "The others are of people who may no longer decide.",
                hint="Run the call again without the ticket.",
            )

    async def decided_by(self, decider: Caller, approvals: Sequence[Approval]) -> set[str]:
        """Return the ids of those approvals (newest first) that a person has decided."""
        return await sql.decided_by(self._store, decider.id, approvals[-1].id, approvals[0].id) if approvals else set()

    async def last_decision_of(self, decider: Caller) -> float:
        """Return when a person decided last; 0 if never."""
        return await sql.last_decision(self._store, decider.tenant, decider.id)

    async def decide(
        self,
        decider: Caller,
        id: str,
        verdict: ApprovalVerdict,
        reason: str = "",
        lasting: LastingAnswer | None = None,
        effect: bytes | None = None,
    ) -> Approval:
        """Record a person's verdict, if that person may decide and the approval is pending.

        `effect` replaces the effect that was previewed, for a command that knows what it means.
        """
        approval = await self.find_pending(decider, id)
        if lasting is not None and lasting.scope == "session":
            self.grants.check_known(id)
        now = self._clock.now()
        reason = redact.text(escape_invisible(reason.strip(), lines=False))[:LONGEST_REASON]
        note = f"Denied by {decider.id}: {reason}" if reason else f"Denied by {decider.id}."
        denial = [self._entry(approval, "denied", note)] if verdict == "deny" else []
        scope, rule = (lasting.scope, lasting.rule.text) if lasting is not None else ("once", "")
        decision = sql.Decision(decider.id, verdict, now, scope, rule, reason, effect)
        await self._store.write(*sql.decide(id, decision, self._deciders(approval)), entries=denial)
        if lasting is not None and lasting.scope == "session":
            self.grants.add(id, decider.id, lasting.rule.allowance)
        approval = await self.find(decider.tenant, id)
        self._publish_decision(approval, now, decider.id)
        return approval

    def _publish_decision(self, approval: Approval, at: float, decider: str) -> None:
        self._events.publish(
            ApprovalDecided(
                tenant=approval.tenant,
                at=at,
                approval=approval.id,
                room=approval.room,
                state=approval.state,
                decider=decider,
            )
        )

    async def find_pending(self, decider: Caller, id: str) -> Approval:
        """Find an approval that waits for this person's decision."""
        approval = await self.find(decider.tenant, id)
        self.check_may_decide(decider, approval)
        if approval.state != "pending":
            raise Conflict(f"Approval {id} is {approval.state_text}. Nothing was decided.")
        return approval

    async def hold(self, person: Caller, id: str) -> Approval:
        """Let an approval wait longer because a person who may decide looks at it. Only the first look counts."""
        approval = await self.find(person.tenant, id)
        self.check_may_decide(person, approval)
        if approval.state != "pending" or approval.held_by or not approval.hold_seconds:
            return approval
        now = self._clock.now()
        with contextlib.suppress(Conflict):  # somebody else looked or decided at the same moment
            await self._store.write(sql.hold(id, person.id, now))
        approval = await self.find(person.tenant, id)
        self._events.publish(
            ApprovalHeld(
                tenant=approval.tenant,
                at=now,
                approval=id,
                room=approval.room,
                holder=approval.held_by,
                behalf=approval.behalf,
                expires_at=approval.expires_at,
            )
        )
        return approval

    async def find_grant(self, call: Call, credential: Credential, terms: ApprovalTerms) -> SessionGrant | None:
        """Find the answer for this session that covers a call, of a person who may still give it on today's terms."""
        for grant in self.grants.find(call, credential):
            row = await sql.find(self._store, call.caller.tenant, grant.approval)
            approval = self._from_row(row) if row is not None else None
            if approval is None or not self.satisfies(approval, terms):
                continue
            if self._may_still_decide(grant.decider, approval):
                return grant
        return None

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
        if approval.state != "approved":
            raise NotApproved(
                f"Approval {approval.id} is {approval.state_text}.",
                hint=approval.next_step,
                retry_after=_RETRY_AFTER if approval.state == "pending" else None,
            )
        if approval.digest != digest:
            raise NotApproved(
                "The call does not match its approval: the command or its definition, the parameters, the room, the "
                "caller or the working folder differ.",
                hint="Run the call again without the ticket.",
            )
        return sql.use(approval.id, digest, call, oldest)

    def is_known_to(self, caller: Caller, approval: Approval) -> bool:
        """Whether a caller may know of an approval because they may know of its room."""
        room = self._rooms.get(approval.tenant, approval.room)
        return room is not None and room.is_known_to(caller)

    def may_decide(self, decider: Caller, approval: Approval) -> bool:
        try:
            self.check_may_decide(decider, approval)
        except (NotPermitted, NotFound):
            return False
        return True

    def _deciders(self, approval: Approval) -> list[str]:
        """Return everybody who may decide about an approval now."""
        room = self._rooms.get(approval.tenant, approval.room)
        asked = room.members if room is not None else [approval.behalf]
        return [one for one in asked if self._may_still_decide(one, approval)]

    def _may_still_decide(self, decider: str, approval: Approval) -> bool:
        """Whether a person who decided could still decide: with an active account, as member and with their role."""
        user = self._people.get(approval.tenant, decider)
        if user is None or not user.active:
            return False
        return self.may_decide(Caller(approval.tenant, user.id, user.kind, user.access), approval)

    def check_may_decide(self, decider: Caller, approval: Approval) -> None:
        """Refuse a caller who may not decide about this approval, whatever its state."""
        if decider.kind != "human":
            raise NotPermitted(f"Only a person may decide about an approval. You act as {decider.kind_label}.")
        if decider.id == approval.caller:
            raise NotPermitted("You cannot decide about your own request. Another person in the room must.")
        if not approval.room:
            self._check_asker(decider, approval)
            return
        if not self.is_known_to(decider, approval):
            raise self.not_found(approval.id)
        room = self._rooms.get(approval.tenant, approval.room)
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
        now, use_within = self._clock.now(), self._settings.approvals.use_within
        undecided = approval.state == "pending" and approval.expires_at <= now
        unused = approval.state == "approved" and (approval.decided_at or 0.0) <= now - use_within
        return msgspec.structs.replace(approval, state="expired") if undecided or unused else approval

    def _entry(self, approval: Approval, status: Literal["denied", "expired"], note: str) -> Entry:
        """Make the ledger record of how a waiting call ended without running. Its parameters are in the earlier one."""
        return Entry(
            at=self._clock.wall_us(),
            phase="end",
            call=approval.call,
            tenant=approval.tenant,
            caller=approval.caller,
            kind=approval.kind,
            behalf=approval.behalf,
            door=approval.door,
            room=approval.room,
            command=approval.command,
            tier=approval.tier,
            params="",
            digest=approval.digest.partition(":")[0],
            rule="",
            approval=approval.id,
            reserved=0.0,
            spent=0.0,
            status=status,
            code=status,
            note=note,
            duration=0,
        )


def _to_stored_text(preview: str) -> str:
    """Make a previewed effect storable: bounded, and without null characters, at which SQLite ends a text."""
    text = to_storable(preview).replace("\0", "\\u0000")
    if len(text) <= LONGEST_PREVIEW:
        return text
    return f"{text[:LONGEST_PREVIEW]}\n… {len(text) - LONGEST_PREVIEW} more characters are not stored.\n"
