"""The gate: the one path that every request takes, whatever door it came in by.

The order is the security property. Read `Gate._pass` from top to bottom: a line runs only when every line above it let
the request through. Only a `Permit` executes, and `gate/permit.py` makes it after the last check.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from doorward.config.settings import Settings
from doorward.core.clock import Clock
from doorward.core.command import Command
from doorward.core.errors import BadParams, Refused, Withdrawn
from doorward.core.events import Bus
from doorward.core.model import Admitted, Call, Caller, Credential, Outcome, Request
from doorward.gate import placeholder_guard
from doorward.gate.approvals import Approvals
from doorward.gate.approver import Approver, Parked
from doorward.gate.authenticator import Authenticator
from doorward.gate.authorizer import Authorizer
from doorward.gate.deadlines import timeout_for
from doorward.gate.drafts import Drafts
from doorward.gate.dry_run import DryRun
from doorward.gate.energy import Energy
from doorward.gate.executions.notices import Watcher
from doorward.gate.executions.registry import ExecutionRegistry
from doorward.gate.executor import ContextFor, Executor
from doorward.gate.nested_calls import NestedCalls, nested_request
from doorward.gate.progress import Progress
from doorward.gate.publisher import Publisher
from doorward.gate.recorder import Recorder
from doorward.gate.refusals import Refusals
from doorward.gate.resolver import Resolver
from doorward.gate.run import Run
from doorward.gate.runner import Runner
from doorward.gate.slots import NestedPlace, Slots
from doorward.gate.throttle import Throttle


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
        executions: ExecutionRegistry,
        recorder: Recorder,
        events: Bus,
        clock: Clock,
        settings: Settings,
        context_for: ContextFor,
        drafts: Drafts,
    ) -> None:
        executor = Executor(context_for, drafts)
        publisher = Publisher(events, clock)
        self._authenticator = authenticator
        self._resolver = resolver
        self._authorizer = authorizer
        self._throttle = throttle
        self._slots = slots
        self._energy = energy
        self._approver = Approver(approvals, authorizer, executor, settings)
        self._executions = executions
        self._nested = NestedCalls(authenticator, executions, throttle)
        self._runner = Runner(energy, throttle, recorder, publisher, executor, clock, settings)
        self._refusals = Refusals(recorder, publisher, resolver)
        self._dry_run = DryRun(authorizer, throttle, self._approver, recorder, executor, slots, energy, clock)

    def handle(self, request: Request, watch: Watcher | None = None) -> Coroutine[Any, Any, Outcome]:
        """Pass one request through the gate. It always ends in an Outcome. `watch` receives its notices."""
        return self._answer(Progress(request, watch))

    async def within(self, call: Call, command: str, params: Mapping[str, Any], ticket: str = "") -> Outcome:
        """Run a call inside another: by its caller (or its keeper), in its room and place, through every other step."""
        parent = self._nested.find_parent(call)
        parent.made_calls = True
        outcome = await self._answer(Progress(nested_request(call, command, params, ticket), parent=parent))
        if outcome.status == "parked":
            parent.step("waits", {"command": outcome.command, "execution": outcome.call, "ticket": outcome.ticket})
        return outcome

    async def for_program(self, call: Call, command: str, params: Mapping[str, Any], ticket: str = "") -> Outcome:
        """Run a call inside another for a program of it, which waits for the approval itself."""
        parent = self._nested.find_parent(call)
        return await self._answer(Progress(nested_request(call, command, params, ticket), parent=parent))

    def keep_program(self, call: Call) -> Callable[[], None]:
        """Let the program that a call starts make calls after its end, until the returned function is called."""
        return self._nested.keep(call)

    async def _answer(self, progress: Progress) -> Outcome:
        try:
            return await self._pass(progress)
        except Parked as parked:
            return await self._refusals.park(progress, parked)
        except Refused as refusal:
            return await self._refusals.refuse(progress, refusal)
        except asyncio.CancelledError:
            if progress.previewing and progress.call is not None:
                gone = Withdrawn("The call was cancelled while its effect was previewed. Nothing ran.")
                await asyncio.shield(self._runner.keep(self._refusals.refuse(progress, gone)))
            raise
        except UnicodeEncodeError:
            return await self._refusals.refuse(progress, BadParams("The request holds bytes that are not UTF-8 text."))

    async def _pass(self, progress: Progress) -> Outcome:
        request, parent = progress.request, progress.parent
        caller = progress.caller = (
            self._nested.caller(parent) if parent else self._authenticator.caller(request.credential)
        )
        ticket = await self._approver.find(caller, request) if request.ticket else None
        call = progress.call = self._resolver.call(caller, request, ticket)
        if request.dry_run:
            return await self._dry_run.answer(request, call)
        ruling, policy = self._authorizer.authorize(call)
        placeholder_guard.check(call, parent)
        self._throttle.admit(call, policy, inside=parent is not None)
        with NestedPlace.of(parent) if parent else self._slots.place(call.session) as place:
            reservation = self._energy.reserve(call)
            try:
                admitted = Admitted(call, ruling, timeout_for(call, policy), reservation.amount)
                credential = self._nested.credential(progress)
                needed = await self._approver.required(call, policy, credential)
                if ticket is None and needed.terms is not None:
                    progress.previewing = True
                    raise await self._approver.park(admitted, place, needed.terms, credential)
                approval = await self._approver.settle(call, needed.terms, ticket) if ticket else None
                with self._nested.opened(progress, call) as execution:
                    noted = needed.note_in(admitted)
                    return await self._runner.run(Run(noted, approval, execution, place, reservation, request.cache))
            finally:
                self._energy.settle(call, reservation, None)

    async def settled(self) -> None:
        """Wait until every abandoned call has its end record."""
        await self._runner.settled()

    async def explain(self, request: Request) -> dict[str, Any]:
        """Explain what would be decided about a command, and why. Writes nothing and reveals no data."""
        caller = self.caller(request.credential)
        return self._dry_run.explain(caller, caller.resolve_room(request.room), self._resolver.command(caller, request))

    def offered(self, caller: Caller, room: str) -> list[Command]:
        """List exactly the commands that this caller may run in this room."""
        return self._authorizer.offered(caller, caller.resolve_room(room))

    def enter(self, caller: Caller, room: str) -> None:
        """Refuse a room that is closed to this caller, and name the open ones."""
        self._authorizer.require_room(caller, room)

    def caller(self, credential: Credential) -> Caller:
        return self._authenticator.caller(credential)
