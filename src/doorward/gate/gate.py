"""The gate: one straight line that every request passes, whatever door it came in by.

The order is the security property. Read `Gate._pass` from top to bottom: nothing below a line runs unless that line
let it through, and only a `Permit`, which is made in one place, can be executed.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from typing import Any

import msgspec

from doorward.approvals.approvals import Approval, Approvals
from doorward.clock import Clock, iso
from doorward.command import Command
from doorward.errors import (
    BadParams,
    Cancelled,
    Conflict,
    DoorwardError,
    LedgerUnavailable,
    Looping,
    NotApproved,
    Refused,
    Unrecorded,
)
from doorward.events import ApprovalRequested, Bus, CommandExecuted
from doorward.gate import present
from doorward.gate.approve import Approver, Parked
from doorward.gate.authenticate import Authenticator
from doorward.gate.authorize import Authorizer
from doorward.gate.cache import Cache
from doorward.gate.dryrun import DryRun
from doorward.gate.energy import Energy, Reservation
from doorward.gate.execute import ContextFor, Ending, execute
from doorward.gate.recorder import Recorder
from doorward.gate.resolve import Resolver
from doorward.gate.slots import Place, Slots
from doorward.gate.throttle import Throttle
from doorward.model import Call, Caller, Credential, Outcome, Permit, Request
from doorward.recipes.policy import Policy
from doorward.settings import Settings
from doorward.store import results
from doorward.store.sqlite import Statement
from doorward.visible import storable


class Gate:
    def __init__(
        self,
        *,
        authenticator: Authenticator,
        resolver: Resolver,
        authorizer: Authorizer,
        throttle: Throttle,
        slots: Slots,
        energy: Energy,
        approvals: Approvals,
        recorder: Recorder,
        events: Bus,
        clock: Clock,
        settings: Settings,
        context_for: ContextFor,
    ) -> None:
        self._authenticator = authenticator
        self._resolver = resolver
        self._authorizer = authorizer
        self._throttle = throttle
        self._slots = slots
        self._energy = energy
        self._approvals = approvals
        self._approver = Approver(approvals, authorizer)
        self._recorder = recorder
        self._events = events
        self._clock = clock
        self._settings = settings
        self._context_for = context_for
        self._cache = Cache(clock)
        self._loose: set[asyncio.Task[None]] = set()
        self._dry_run = DryRun(authorizer, self._approver, context_for)

    async def handle(self, request: Request) -> Outcome:
        """Pass one request through the gate; every way it can end is an Outcome."""
        seen = _Seen()
        try:
            return await self._pass(request, seen)
        except Parked as parked:
            return await self._park(request, seen, parked)
        except Refused as refusal:
            return await self._refuse(request, seen, refusal)
        except UnicodeEncodeError:
            return await self._refuse(request, seen, BadParams("The request holds bytes that are not UTF-8 text."))

    async def _pass(self, request: Request, seen: _Seen) -> Outcome:
        caller = seen.caller = self._authenticator.caller(request.credential)
        ticket = await self._ticket(caller, request)
        call = seen.call = self._resolver.call(caller, _as_asked(request, ticket))
        if request.dry_run:
            return await self._try_out(request, call)
        ruling = self._authorizer.authorize(call)
        policy = self._policy(call)
        self._throttle.admit(call, policy)
        with self._slots.place(call.session) as place:
            reservation = self._energy.reserve(call)
            try:
                spend = self._approver.approve(call, ticket)
                permit = Permit(call, ruling, _timeout(call, policy), ticket.id if ticket else "", reservation.amount)
                return await self._run(permit, place, reservation, spend, request.cache)
            finally:
                self._energy.settle(call, reservation, None)

    async def _run(
        self, permit: Permit, place: Place, reservation: Reservation, spend: list[Statement], cache: bool
    ) -> Outcome:
        call = permit.call
        await place.turn()
        cache = cache and not permit.approval and self._cache.may_hold(call)
        kept = self._cache.get(call) if cache else None
        if kept is not None:
            return await self._finish(permit, reservation, Ending(kept[0]), None)
        if self._recorder.records_start(permit):
            await self._start(permit, reservation, spend)
        self._throttle.note(call)
        begun = self._clock.steady()
        ending = await execute(permit, self._context_for)
        outcome = await self._finish(permit, reservation, ending, self._clock.steady() - begun)
        if isinstance(ending.error, Cancelled):
            raise asyncio.CancelledError
        if cache and ending.error is None:
            self._cache.put(call, ending.result)
        return outcome

    async def _start(self, permit: Permit, reservation: Reservation, spend: list[Statement]) -> None:
        """Store the start and spend the approval, as one. A caller that hangs up meanwhile leaves an end as well."""
        writing = asyncio.ensure_future(self._recorder.start(permit, *spend))
        try:
            await asyncio.shield(writing)
        except Conflict as conflict:
            raise NotApproved(conflict.message, hint="Ask again without the ticket.") from conflict
        except asyncio.CancelledError:
            await asyncio.shield(self._kept(self._abandon(permit, reservation, writing)))
            raise

    async def _abandon(self, permit: Permit, reservation: Reservation, writing: asyncio.Future[None]) -> None:
        """Give a start that nobody waits for any more its end, once it is stored."""
        await asyncio.wait([writing])
        if writing.exception() is None:
            gone = Cancelled(f"{permit.call.command.name} was cancelled before it began.")
            await self._finish(permit, reservation, Ending(error=gone), None)

    async def settled(self) -> None:
        """Wait until every call that somebody gave up has its end."""
        await asyncio.gather(*self._loose)

    def _kept(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """A task that goes on when whoever waits for it is cancelled, however often."""
        task = asyncio.ensure_future(work)
        self._loose.add(task)
        task.add_done_callback(self._loose.discard)
        return task

    async def _finish(self, permit: Permit, reservation: Reservation, ending: Ending, seconds: float | None) -> Outcome:
        """Settle, record the end, publish. `seconds` is None when the command itself did not run."""
        call, error = permit.call, ending.error
        spent, also = self._energy.settle(call, reservation, seconds)
        text = present.failure(error) if error else present.as_text(ending.result)
        outcome = self._failed(call, error) if error else self._done(permit, ending.result, text, seconds is None)
        if outcome.truncated:
            also.append(results.keep(call, text, self._clock.now()))
        try:
            await self._recorder.end(
                permit,
                *also,
                status=outcome.status,
                code=outcome.code,
                note=error.message if error else "",
                spent=spent,
                duration=round((seconds or 0.0) * 1_000_000),
            )
        except Unrecorded as unrecorded:
            return self._failed(call, unrecorded)
        self._throttle.answered(call, outcome.text)
        self._publish(call, outcome, seconds or 0.0)
        return outcome

    async def explain(self, request: Request) -> dict[str, Any]:
        """What would be decided about a command, and why. Writes nothing and reveals no data."""
        caller = self._authenticator.caller(request.credential)
        return self._dry_run.explain(caller, request.room, self._resolver.command(caller, request))

    def offered(self, caller: Caller, room: str) -> list[Command]:
        """Exactly what this caller may call in this room."""
        return self._authorizer.offered(caller, room)

    def caller(self, credential: Credential) -> Caller:
        return self._authenticator.caller(credential)

    async def _try_out(self, request: Request, call: Call) -> Outcome:
        """A dry run: decided and shown, not executed. Recorded, since its preview may show data."""
        policy = self._policy(call)
        self._throttle.admit(call, policy)
        shown = await self._dry_run.show(Permit(call, self._dry_run.ruling(call), _timeout(call, policy)))
        await self._recorder.refused(
            request, call.caller, call, status="done", code="dry_run", note="", rule=shown["rule"]
        )
        return Outcome(
            status="done",
            code="dry_run",
            message="Nothing was executed.",
            call=call.id,
            command=call.command.name,
            result=shown,
            text=present.as_text(shown),
            rule=shown["rule"],
            dry_run=True,
        )

    async def _ticket(self, caller: Caller, request: Request) -> Approval | None:
        """The approval that a request refers to; only whoever asked for it may use it."""
        if not request.ticket:
            return None
        approval = await self._approvals.find(caller.tenant, request.ticket)
        if (approval.caller, approval.kind, approval.behalf) != (caller.id, caller.kind, caller.on_behalf_of):
            raise NotApproved("This ticket was given to another caller.")
        return approval

    def _policy(self, call: Call) -> Policy | None:
        return self._authorizer.policy(call.caller, call.room) if call.room else None

    async def _park(self, request: Request, seen: _Seen, parked: Parked) -> Outcome:
        approval, call = parked.approval, seen.call
        if call is None:
            raise TypeError("only a resolved call can be parked")
        message = f"{approval.command} waits for a person's approval."
        try:
            await self._recorder.refused(
                request,
                seen.caller,
                call,
                parked.store,
                status="parked",
                code="approval_needed",
                note=message,
                rule=f"recipe: requireApproval {approval.command}",
                approval=approval.id,
            )
        except LedgerUnavailable as error:
            return _refusal(error, call, request)
        self._events.publish(
            ApprovalRequested(
                tenant=approval.tenant,
                at=approval.created_at,
                approval=approval.id,
                room=approval.room,
                command=approval.command,
                caller=approval.caller,
                expires_at=approval.expires_at,
            )
        )
        return Outcome(
            status="parked",
            code="approval_needed",
            message=message,
            call=call.id,
            command=approval.command,
            text=f"{message} Ticket: {approval.id}.",
            retry="later",
            hint=f"It is open for {approval.expires_at - approval.created_at:g} s; ask again with the ticket then.",
            ticket=approval.id,
            result={
                "ticket": approval.id,
                "shown": approval.shown,
                "caller": approval.caller,
                "kind": approval.kind,
                "expiresAt": iso(approval.expires_at),
            },
        )

    async def _refuse(self, request: Request, seen: _Seen, refusal: Refused) -> Outcome:
        try:
            await self._recorder.refused(
                request,
                seen.caller,
                seen.call,
                status="refused",
                code=refusal.code,
                note="" if isinstance(refusal, Looping) else refusal.message,  # which repeats an earlier result
                rule=refusal.rule,
                approval=request.ticket[:64],
            )
        except LedgerUnavailable as error:
            refusal = error
        outcome = _refusal(refusal, seen.call, request)
        if seen.call is not None and not isinstance(refusal, LedgerUnavailable):
            self._publish(seen.call, outcome, 0.0)
        return outcome

    def _done(self, permit: Permit, result: Any, text: str, cached: bool) -> Outcome:
        call, limit = permit.call, self._settings.limits.result_characters
        return Outcome(
            status="done",
            code="cached" if cached else "ok",
            message="",
            call=call.id,
            command=call.command.name,
            result=result,
            text=text if len(text) <= limit else present.cut(text, limit, call.id),
            effect="none" if call.command.reads_only else "done",
            rule=permit.ruling.rule,
            cached=cached,
            truncated=len(text) if len(text) > limit else 0,
        )

    @staticmethod
    def _failed(call: Call, error: DoorwardError) -> Outcome:
        return Outcome(
            status="failed",
            code=error.code,
            message=error.message,
            call=call.id,
            command=call.command.name,
            text=present.failure(error),
            retry=error.retry,
            effect="none" if call.command.reads_only else error.effect,
            hint=error.hint,
            rule=error.rule,
            retry_after=error.retry_after,
        )

    def _publish(self, call: Call, outcome: Outcome, seconds: float) -> None:
        self._events.publish(
            CommandExecuted(
                tenant=call.caller.tenant,
                at=self._clock.now(),
                call=call.id,
                caller=call.caller.id,
                kind=call.caller.kind,
                room=call.room,
                door=call.door,
                command=call.command.name,
                status=outcome.status,
                code=outcome.code,
                seconds=seconds,
            )
        )


class _Seen:
    """How far a request was understood, for the record of its refusal."""

    __slots__ = ("call", "caller")

    def __init__(self) -> None:
        self.caller: Caller | None = None
        self.call: Call | None = None


def _as_asked(request: Request, ticket: Approval | None) -> Request:
    """A request that shows only its ticket means what the ticket was given for."""
    if ticket is None or request.params is not None or request.args is not None:
        return request
    return msgspec.structs.replace(
        request, command=request.command or ticket.command, params=json.loads(ticket.params), room=ticket.room
    )


def _timeout(call: Call, policy: Policy | None) -> float:
    most = policy.limits.timeout if policy is not None else None
    return call.command.facts.timeout if most is None else min(most, call.command.facts.timeout)


def _refusal(error: DoorwardError, call: Call | None, request: Request) -> Outcome:
    return Outcome(
        status="refused",
        code=error.code,
        message=error.message,
        call=call.id if call else "",
        command=call.command.name if call else storable(request.command[:200]),
        text=present.failure(error),
        retry=error.retry,
        effect=error.effect,
        hint=error.hint,
        rule=error.rule,
        retry_after=error.retry_after,
    )
