"""The gate: one straight line that every request passes, whatever door it came in by.

The order is the security property. Read `Gate._pass` from top to bottom: nothing below a line runs unless that line
let it through, and only a `Permit`, which is made in one place, can be executed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any

import msgspec

from doorward.approvals.approvals import Approval, Approvals
from doorward.clock import Clock
from doorward.command import Command
from doorward.errors import (
    BadParams,
    Cancelled,
    Conflict,
    LedgerUnavailable,
    Looping,
    NotApproved,
    NotPermitted,
    Refused,
    Unrecorded,
    Withdrawn,
)
from doorward.events import Bus
from doorward.executions.execution import Execution
from doorward.executions.executions import Executions
from doorward.executions.notices import Watch
from doorward.gate import hidden, outcomes, present
from doorward.gate.approve import Approver, Parked
from doorward.gate.authenticate import Authenticator
from doorward.gate.authorize import Authorizer
from doorward.gate.cache import Cache
from doorward.gate.deadlines import Deadlines, seconds_for
from doorward.gate.dryrun import DryRun
from doorward.gate.energy import Energy, Reservation
from doorward.gate.execute import ContextFor, Ending, execute, foresee
from doorward.gate.publisher import Publisher
from doorward.gate.recorder import Recorder
from doorward.gate.resolve import Resolver
from doorward.gate.slots import Inside, Place, Slots
from doorward.gate.throttle import Throttle
from doorward.gate.vouching import Vouching, asked_inside
from doorward.model import ApprovalTerms, Call, Caller, Credential, Outcome, Permit, Request
from doorward.recipes.policy import Policy
from doorward.settings import Settings
from doorward.store import results
from doorward.store.sqlite import Statement


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
        executions: Executions,
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
        self._executions = executions
        self._recorder = recorder
        self._publisher = Publisher(events, clock)
        self._clock = clock
        self._settings = settings
        self._context_for = context_for
        self._cache = Cache(clock)
        self._vouching = Vouching(authenticator)
        self._loose: set[asyncio.Task[Outcome | None]] = set()
        self._deadlines = Deadlines()
        self._dry_run = DryRun(authorizer, self._approver, context_for, self._deadlines)

    def handle(self, request: Request, watch: Watch | None = None) -> Coroutine[Any, Any, Outcome]:
        """Pass one request through the gate; every way it can end is an Outcome. `watch` is told what goes on."""
        return self._answer(request, watch, None)

    async def within(self, call: Call, command: str, params: Mapping[str, Any], ticket: str = "") -> Outcome:
        """A call inside another: by its caller (or its keeper), in its room and place, through every other step."""
        parent = self._executions.get(call.id)
        if parent is None or parent.ended:
            raise Conflict(f"{call.command.name} does not run, so nothing can run inside it.")
        request = asked_inside(call, command, params, ticket)
        parent.made_calls = True
        outcome = await self._answer(request, None, parent)
        if outcome.status == "parked":
            parent.step("waits", {"command": outcome.command, "execution": outcome.call, "ticket": outcome.ticket})
        return outcome

    async def _answer(self, request: Request, watch: Watch | None, parent: Execution | None) -> Outcome:
        seen = _Seen()
        try:
            return await self._pass(request, seen, watch, parent)
        except Parked as parked:
            return await self._park(request, seen, parked)
        except Refused as refusal:
            return await self._refuse(request, seen, refusal)
        except asyncio.CancelledError:
            if seen.tries_out and seen.call is not None:
                gone = Withdrawn(f"{seen.call.command.name} was given up while its effect was worked out; nothing ran.")
                await asyncio.shield(self._kept(self._refuse(request, seen, gone)))
            raise
        except UnicodeEncodeError:
            return await self._refuse(request, seen, BadParams("The request holds bytes that are not UTF-8 text."))

    async def _pass(self, request: Request, seen: _Seen, watch: Watch | None, parent: Execution | None) -> Outcome:
        inside = self._vouching.inside(parent) if parent else None
        caller = seen.caller = inside or self._authenticator.caller(request.credential)
        ticket = await self._ticket(caller, request) if request.ticket else None
        call = seen.call = self._resolver.call(caller, request, ticket)
        if request.dry_run:
            return await self._try_out(request, call)
        ruling, policy = self._authorizer.authorize(call)
        hidden.check(call, parent)
        self._throttle.admit(call, policy, inside=parent is not None)
        with Inside.of(parent) if parent else self._slots.place(call.session) as place:
            reservation = self._energy.reserve(call)
            try:
                permit = Permit(call, ruling, seconds_for(call, policy), reserved=reservation.amount)
                terms = self._approver.needed(call, policy)
                if ticket is None and terms is not None:
                    seen.tries_out = True
                    raise await self._question(permit, place, terms)
                spend = []
                if ticket is not None:
                    permit = await self._approved(permit, ticket)
                    spend = [self._approver.spend(call, terms, ticket)]
                execution = self._executions.open(call, watch, parent)
                if parent is None:
                    self._vouching.begin(call, request.credential)
                try:
                    return await self._run(permit, execution, place, reservation, spend, request.cache)
                finally:
                    self._vouching.end(call)
                    if parent and call.command.facts.works_by_calls and not execution.made_calls:
                        self._throttle.made_none(call)
                    self._executions.close(execution)
            finally:
                self._energy.settle(call, reservation, None)

    async def _question(self, permit: Permit, place: Place | Inside, terms: ApprovalTerms) -> Parked:
        """What people are asked: may this run, and, where it can be known, may it make this very difference."""
        foreseen = None
        approvals = self._settings.approvals
        if approvals.foresee:
            if not place.taken_at_once():
                await place.turn()
            briefly = msgspec.structs.replace(permit, timeout=min(permit.timeout, approvals.foresee_seconds))
            foreseen = await foresee(briefly, self._context_for, self._deadlines)
        return self._approver.park(permit.call, terms, foreseen)

    async def _approved(self, permit: Permit, ticket: Approval) -> Permit:
        effect = await self._approvals.effect(ticket)
        return msgspec.structs.replace(permit, approval=ticket.id, effect=effect)

    async def _run(
        self,
        permit: Permit,
        execution: Execution,
        place: Place | Inside,
        reservation: Reservation,
        spend: list[Statement],
        cache: bool,
    ) -> Outcome:
        call = permit.call
        if not place.taken_at_once():
            await self._turn(place, execution)
        cache = cache and not permit.approval and self._cache.may_hold(call)
        kept = self._cache.get(call) if cache else None
        if kept is not None:
            execution.end("completed")
            return await self._finish(permit, execution, reservation, Ending(kept[0]), None)
        started = self._recorder.records_start(permit)
        if started:
            stopped = await self._start(permit, execution, reservation, spend)
            if stopped is not None:
                return stopped
        execution.begin()
        if started:
            execution.announce()
        self._throttle.note(call)
        ending = await execute(permit, self._context_for, execution, self._deadlines)
        execution.end(ending.state)
        outcome = await self._finish(permit, execution, reservation, ending, execution.seconds)
        if not execution.claim() and ending.cancelled:
            raise asyncio.CancelledError
        if cache and ending.error is None:
            self._cache.put(call, ending.result)
        return outcome

    async def _turn(self, place: Place | Inside, execution: Execution) -> None:
        """Wait for a place to run. Whoever is cancelled by name meanwhile is told that nothing ran."""
        execution.queue()
        try:
            await place.turn()
        except asyncio.CancelledError:
            execution.end("cancelled")
            if execution.claim():
                raise outcomes.withdrawn(execution) from None
            raise

    async def _start(
        self, permit: Permit, execution: Execution, reservation: Reservation, spend: list[Statement]
    ) -> Outcome | None:
        """Store the start and spend the approval, as one. A caller that hangs up meanwhile leaves an end as well.

        Gives the outcome of a call that was cancelled by name before it could begin, else None.
        """
        writing = asyncio.ensure_future(self._recorder.start(permit, *spend))
        try:
            await asyncio.shield(writing)
        except Conflict as conflict:
            raise NotApproved(conflict.message, hint="Ask again without the ticket.") from conflict
        except asyncio.CancelledError:
            execution.end("cancelled")
            outcome = await asyncio.shield(self._kept(self._abandon(permit, execution, reservation, writing)))
            if not execution.claim():
                raise
            if outcome is None:
                raise outcomes.withdrawn(execution) from None
            return outcome
        return None

    async def _abandon(
        self, permit: Permit, execution: Execution, reservation: Reservation, writing: asyncio.Future[None]
    ) -> Outcome | None:
        """Give a start that nobody waits for any more its end, once it is stored; None when it could not be."""
        await asyncio.wait([writing])
        if writing.exception() is not None:
            return None
        by = f" by {execution.cancelled_by}" if execution.cancelled_by else ""
        gone = Cancelled(f"{permit.call.command.name} was cancelled{by} before it began.")
        return await self._finish(permit, execution, reservation, Ending(error=gone, cancelled=True), None)

    async def settled(self) -> None:
        """Wait until every call that somebody gave up has its end."""
        await asyncio.gather(*self._loose)

    def _kept(self, work: Coroutine[Any, Any, Outcome | None]) -> asyncio.Task[Outcome | None]:
        """A task that goes on when whoever waits for it is cancelled, however often."""
        task = asyncio.ensure_future(work)
        self._loose.add(task)
        task.add_done_callback(self._loose.discard)
        return task

    async def _finish(
        self,
        permit: Permit,
        execution: Execution,
        reservation: Reservation,
        ending: Ending,
        seconds: float | None,
    ) -> Outcome:
        """Settle, record the end, publish. `seconds` is None when the command itself did not run."""
        call, error = permit.call, ending.error
        spent, also = self._energy.settle(call, reservation, seconds)
        thought = call.command.facts.thinks
        text = present.failure(error, thought=thought) if error else present.as_text(ending.result, thought=thought)
        whole = text
        if error is not None and error.result is None and execution.written is not None:
            whole = f"{text}\n{execution.written.text('output')}"
            error.hint = error.hint or f"What it wrote before: execution/output --execution={call.id}"
        most = self._settings.limits.result_characters
        if error is not None:
            outcome = outcomes.failed(call, error, text, most)
        else:
            outcome = outcomes.done(permit, ending.result, text, most, cached=seconds is None)
        if outcome.truncated or whole is not text:
            also.append(results.keep(call, whole, self._clock.now()))
        try:
            await self._recorder.end(
                permit,
                *also,
                status=outcome.status,
                code=outcome.code,
                note=present.note(error, ending.result, thought=thought),
                spent=spent,
                duration=round((seconds or 0.0) * 1_000_000),
            )
        except Unrecorded as unrecorded:
            return outcomes.failed(call, unrecorded, present.failure(unrecorded), most)
        self._throttle.answered(call, outcome.text)
        self._publisher.answered(call, outcome, seconds or 0.0)
        self._publisher.ended(execution, seconds or 0.0)
        return outcome

    async def explain(self, request: Request) -> dict[str, Any]:
        """What would be decided about a command, and why. Writes nothing and reveals no data."""
        caller = self._authenticator.caller(request.credential)
        return self._dry_run.explain(caller, caller.acts_in(request.room), self._resolver.command(caller, request))

    def offered(self, caller: Caller, room: str) -> list[Command]:
        """Exactly what this caller may call in this room."""
        return self._authorizer.offered(caller, caller.acts_in(room))

    def enter(self, caller: Caller, room: str) -> None:
        """Refuse a room that is closed to this caller, in the words that any call there is refused with, and name those
        that are not closed."""
        barred = self._authorizer.barred(caller, room)
        if barred is not None:
            raise NotPermitted(self._authorizer.with_rooms(caller, barred), rule=barred.rule)

    def caller(self, credential: Credential) -> Caller:
        return self._authenticator.caller(credential)

    async def _try_out(self, request: Request, call: Call) -> Outcome:
        """A dry run: decided and shown, not executed. Recorded, since its preview may show data."""
        policy = self._policy(call)
        self._throttle.admit(call, policy)
        shown = await self._dry_run.show(Permit(call, self._dry_run.ruling(call), seconds_for(call, policy)))
        await self._recorder.refused(
            request, call.caller, call, status="done", code="dry_run", note="", rule=shown["rule"]
        )
        return outcomes.tried_out(call, shown)

    async def _ticket(self, caller: Caller, request: Request) -> Approval:
        """The approval that a request refers to; only whoever asked for it may use it."""
        approval = await self._approvals.find(caller.tenant, request.ticket)
        if (approval.caller, approval.kind, approval.behalf) != (caller.id, caller.kind, caller.on_behalf_of):
            raise NotApproved("This ticket was given to another caller.", hint=outcomes.whose(approval, caller))
        return approval

    def _policy(self, call: Call) -> Policy | None:
        return self._authorizer.policy(call.caller, call.room) if call.room else None

    async def _park(self, request: Request, seen: _Seen, parked: Parked) -> Outcome:
        approval, call = parked.approval, seen.call
        if call is None:
            raise TypeError("only a resolved call can be parked")
        message = outcomes.waiting(approval)
        try:
            await self._recorder.refused(
                request,
                seen.caller,
                call,
                parked.store,
                status="parked",
                code="approval_needed",
                note=message,
                rule=parked.rule,
                approval=approval.id,
            )
        except LedgerUnavailable as error:
            return outcomes.refused(error, call, request)
        self._publisher.parked(approval)
        return outcomes.parked(call.id, approval, parked.rule)

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
        outcome = outcomes.refused(refusal, seen.call, self._resolver.named(seen.caller, request, refusal))
        if seen.call is not None and not isinstance(refusal, LedgerUnavailable):
            self._publisher.answered(seen.call, outcome, 0.0)
        return outcome


class _Seen:
    """How far a request was understood, for the record of its refusal."""

    __slots__ = ("call", "caller", "tries_out")

    def __init__(self) -> None:
        self.caller: Caller | None = None
        self.call: Call | None = None
        self.tries_out = False
        """Whether what it would change is being worked out, which may run a program on a copy."""
