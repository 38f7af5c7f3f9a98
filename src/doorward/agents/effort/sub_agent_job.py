"""One request of a sub-agent at work: its calls through the gate, its approvals, and what it leaves when it stops."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

import msgspec

from doorward.agents.context import AgentContext
from doorward.agents.effort.sub_agent_approvals import describe_interruption, describe_refusal, wait_for_decision
from doorward.agents.effort.sub_agent_energy import EnergyAccount
from doorward.agents.effort.sub_agent_messages import Report, SubAgentMessage
from doorward.agents.effort.sub_agent_turns import Rank, Turns
from doorward.core.classification import Effects
from doorward.core.errors import DEFECT, DoorwardError
from doorward.core.escape_invisible import escape_invisible, to_storable
from doorward.core.ids import new_id
from doorward.core.model import Credential, Outcome, Request
from doorward.gate.approval import Approval
from doorward.gate.executions.notices import Notice, ProgressNotice, StartedNotice
from doorward.store import subagent_requests as sql
from doorward.store.subagent_requests import SubAgentRequest

log = logging.getLogger(__name__)

DOOR = "subagent"
_TESTS = frozenset(("mcp/test",))
"""The commands that may run again after an interruption although they call tools: they are trials."""
_RETRIED = frozenset(("too_fast", "overloaded", "out_of_energy"))
_MAX_RETRIES = 3
_MAX_WAIT = 60.0
"""The longest a call waits before it is made again, in seconds."""
_RANKS = {"high": 0, "medium": 1, "low": 2}
_WHOLE = (0.0, 100.0)
_MAX_MESSAGE = 2_000

Work = Callable[["Job"], Awaitable[Any]]
"""Does the work of a request and returns its result."""


class WorkFailed(Exception):
    """The work of a request failed. `result` holds what was found anyway."""

    def __init__(self, reason: str, result: Any = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.result = result


class Stop(msgspec.Struct, frozen=True):
    """A request to stop: for good, or until the agent starts again."""

    kind: Literal["cancel", "close"]
    by: str
    reason: str = ""


class _Stopped(Exception):
    """The work reached a point at which it stops."""


class Journal(msgspec.Struct):
    """The calls of a request so far. After a restart, they are not made again: the work reads their results here."""

    calls: dict[str, Any] = {}
    """The results of the calls that ended well, by command. A kind of work makes each call once."""
    running: str = ""
    """The command that runs now."""
    ticket: str = ""
    """The approval with which it runs."""


class Job:
    def __init__(
        self,
        around: AgentContext,
        request: SubAgentRequest,
        work: Work,
        turns: Turns,
        report: Callable[[SubAgentMessage], None],
    ) -> None:
        services = around.services
        self.services = services
        self.gate = around.gate
        self.request = request
        self.credential = Credential(persona=request.agent, asker=request.asker, room=request.room)
        self.energy = EnergyAccount(services.store, services.clock, services.settings.energy.per_second, request)
        self.task: asyncio.Task[None] | None = None
        self._work = work
        self._turns = turns
        self._report = report
        self._journal = msgspec.convert(request.result, Journal) if request.result else Journal()
        self._has_turn = False
        self._span = _WHOLE
        self._execution = ""
        self._has_begun = False
        """Whether the command of the last call began to run."""
        self._stop: Stop | None = None
        self._saving: asyncio.Task[None] | None = None

    @property
    def rank(self) -> Rank:
        return _RANKS[self.request.priority], self.request.created_at, self.request.id

    @property
    def is_active(self) -> bool:
        """Whether it works, or will as soon as it has a turn."""
        return self.request.is_open and not self.request.ticket

    @property
    def current(self) -> SubAgentRequest:
        """The request as it is now."""
        result = None if self.request.is_open else self.request.result
        return msgspec.structs.replace(self.request, energy=self.energy.total, result=result)

    def launch(self) -> None:
        self.task = asyncio.get_running_loop().create_task(self._run())

    async def restore(self) -> None:
        """Take a request of a former process over: what cannot be repeated has failed, the rest waits for its turn."""
        if self.request.state == "queued" or self.request.ticket:
            return
        running, ticket = self._journal.running, self._journal.ticket
        if ticket:
            self.request = msgspec.structs.replace(self.request, ticket=ticket)
        elif running and not self._may_repeat(running):
            await self._end("failed", error=describe_interruption(running))
        else:
            self._journal.running = ""
            await self.change(state="queued", message="Queued again, because Doorward stopped.")

    async def stop(self, stop: Stop) -> None:
        """Stop it: cancel its running call, and return when its state is stored."""
        self._stop = stop
        running = self.services.executions.get(self._execution) if self._execution else None
        if running is not None:
            running.cancel(stop.by or self.request.agent)
        elif self.task is not None and not self._execution and self.request.is_open:
            self.task.cancel()
        if self.task is not None:
            await asyncio.wait([self.task])
        if self.request.is_open and stop.kind == "cancel":  # it was cancelled before its task began
            await self._settle_stop(stop)

    async def call(self, command: str, params: Mapping[str, Any], message: str, span: tuple[float, float]) -> Any:
        """Make a call and return its result. It waits for approval where the recipe requires it.

        `span` is the part of the request's progress that the call stands for. Raises WorkFailed.
        """
        if command in self._journal.calls:
            return self._journal.calls[command]
        self._span = span
        ticket, retries = self.request.ticket, 0
        outcome = await self._send(command, params, "", message) if not ticket else None
        while outcome is None or outcome.status != "done":
            if outcome is None or outcome.status == "parked":
                approval = await self._wait_for_approval(ticket if outcome is None else outcome.ticket)
                if approval.command != command:  # the work took another way after a restart
                    raise WorkFailed(f"The approval is for {approval.command}, which is no longer needed.")
                params, ticket = json.loads(approval.params), approval.id
            elif self._stop is not None:
                raise _Stopped
            elif retries < _MAX_RETRIES and outcome.code in _RETRIED and (outcome.retry_after or 1e9) <= _MAX_WAIT:
                retries += 1
                await self._rest(outcome)
            else:
                hint = f" {outcome.hint}" if outcome.hint else ""
                raise WorkFailed(f"{command}: {outcome.message}{hint}", outcome.result)
            outcome = await self._send(command, params, ticket, message)
        self._journal.calls[command] = outcome.result
        self._journal.running = self._journal.ticket = ""
        await self.change(progress=span[1])
        return outcome.result

    def find_result(self, command: str) -> Any:
        """Return the result of a call that this request made already, maybe in a former process; None otherwise."""
        return self._journal.calls.get(command)

    def announce_tools(self, server: str, tools: list[dict[str, str]]) -> None:
        """Tell the agent which tools it can use now."""
        names = ", ".join(one["wire"] for one in tools)
        self.request = msgspec.structs.replace(self.request, message=f"The server {server} offers: {names}.")
        self._send_message("tool_available", {"server": server, "tools": tools})

    async def change(self, **changes: Any) -> None:
        """Change the request, store it, and report the change."""
        self._note(**changes)
        await self._save()

    def _note(self, **changes: Any) -> None:
        if "progress" in changes:
            changes["progress"] = max(self.request.progress, changes["progress"])
        if "message" in changes:
            changes["message"] = _to_text(changes["message"])
        self.request = msgspec.structs.replace(self.request, **changes)
        self._send_message("status_update", {})

    async def _run(self) -> None:
        try:
            if not self.request.ticket:
                await self._take_turn()
            result = await self._work(self)
            await self._end("completed", result=result)
        except (asyncio.CancelledError, _Stopped):
            await self._settle_stop(self._stop or Stop("close", "Doorward stops"))
        except WorkFailed as failure:
            await self._end("failed", error=failure.reason, result=failure.result)
        except DoorwardError as error:
            await self._end("failed", error=error.message)
        except Exception:
            log.exception("the request %s of the sub-agent of %s failed", self.request.id, self.request.agent)
            await self._end("failed", error=DEFECT)
        finally:
            self._leave_turn()
            if self._saving is not None:
                await asyncio.wait([self._saving])

    async def _send(self, command: str, params: Mapping[str, Any], ticket: str, message: str) -> Outcome:
        await self._reach_safe_point()
        self._journal.running, self._journal.ticket, self._has_begun = command, ticket, False
        await self.change(ticket="", message=message, progress=self._span[0])
        request = Request(
            command=command,
            credential=self.credential,
            door=DOOR,
            room=self.request.room,
            params=params,
            ticket=ticket,
            session=f"{DOOR}:{self.request.agent}:{self.request.id}",
            response=new_id(),  # the limit per answer of a model does not concern it
        )
        try:
            return await self.gate.handle(request, self._on_notice)
        finally:
            self._execution = ""

    async def _wait_for_approval(self, ticket: str) -> Approval:
        """Wait until people decide. It costs no energy, and other requests work meanwhile."""
        self._leave_turn()
        self._journal.running = self._journal.ticket = ""
        await self.change(ticket=ticket, message="Waiting for approval.")
        approval = await wait_for_decision(self.services, self.request.tenant, ticket)
        if approval.state != "approved":
            raise WorkFailed(await describe_refusal(self.services, approval))
        return approval

    async def _rest(self, outcome: Outcome) -> None:
        """Wait until a limit admits the call again. It costs no energy."""
        self._leave_turn()
        self._note(message=outcome.message)
        await asyncio.sleep(outcome.retry_after or 1.0)

    async def _reach_safe_point(self) -> None:
        """Stop here if that was requested; wait here while the sub-agent is paused."""
        if self._stop is not None:
            raise _Stopped
        if self._turns.paused:
            self._leave_turn()
        if not self._has_turn:
            await self._take_turn()

    async def _take_turn(self) -> None:
        await self._turns.take(self.rank)
        self._has_turn = True
        self.energy.start()
        if self.request.state == "queued":
            started = self.request.started_at or self.services.clock.now()
            await self.change(state="in_progress", started_at=started, message="Started.")

    def _leave_turn(self) -> None:
        if self._has_turn:
            self._has_turn = False
            self.energy.stop()
            self._turns.release()

    async def _settle_stop(self, stop: Stop) -> None:
        """Store what becomes of a request that was stopped."""
        self._leave_turn()
        try:
            await self._store_stop(stop)
        except DoorwardError as error:  # the next process settles it
            log.warning("the stop of the request %s could not be stored: %s", self.request.id, error)

    async def _store_stop(self, stop: Stop) -> None:
        running, ticket = self._journal.running, self.request.ticket
        if stop.kind == "cancel":
            if ticket:
                await self.services.approvals.withdraw(self.request.tenant, ticket, "The request was cancelled.")
            by = f" by {escape_invisible(stop.by)}" if stop.by else ""
            why = f": {stop.reason}" if stop.reason else "."
            await self._end("cancelled", error=f"Cancelled{by}{why}")
        elif running and self._has_begun and not self._may_repeat(running):
            await self._end("failed", error=describe_interruption(running))
        elif ticket or self.request.state == "queued":
            await self._save()
        else:
            self._journal.running = self._journal.ticket = ""
            await self.change(state="queued", message="Queued again, because the agent stopped.")

    def _may_repeat(self, command: str) -> bool:
        """Whether an interrupted call may be made again: its command changes nothing, or only its preview ran."""
        registry = self.services.registry
        if command not in registry:
            return False
        found = registry[command]
        only_previewed = found.asks_first and not self._journal.ticket
        return only_previewed or command in _TESTS or not found.facts.effects & (Effects.WRITE | Effects.DESTROY)

    async def _end(self, state: str, *, result: Any = None, error: str = "") -> None:
        self._leave_turn()
        error = _to_text(error)
        self.request = msgspec.structs.replace(
            self.request,
            state=state,
            progress=100.0 if state == "completed" else self.request.progress,
            message=error or "Completed.",
            result=result,
            error=error,
            ticket="",
            ended_at=self.services.clock.now(),
        )
        try:
            await self._save()
        except DoorwardError as failure:  # the next process finds the request open, and says that it was interrupted
            log.warning("the end of the request %s could not be stored: %s", self.request.id, failure)
        if state == "completed":
            self._send_message("completion", {"result": result})
        else:
            self._send_message("error", {"error": error, "result": result})

    async def _save(self) -> None:
        async with self.energy.lock:
            request = self.request
            result = msgspec.to_builtins(self._journal) if request.is_open else request.result
            stored = msgspec.structs.replace(request, energy=self.energy.storable, result=result)
            await self.services.store.write(sql.put(stored))

    def _on_notice(self, notice: Notice) -> None:
        if isinstance(notice, StartedNotice):
            self._execution = notice.execution
            self._has_begun = not notice.queued
        elif isinstance(notice, ProgressNotice):
            first, last = self._span
            done = first + (last - first) * (notice.fraction or 0.0)
            self._note(progress=done, message=notice.message or self.request.message)
            if self._saving is None:
                self._saving = asyncio.get_running_loop().create_task(self._save_progress())

    async def _save_progress(self) -> None:
        try:
            await self._save()
        except DoorwardError as error:
            log.warning("the progress of the request %s could not be stored: %s", self.request.id, error)
        finally:
            self._saving = None

    def _send_message(self, report: Report, data: dict[str, Any]) -> None:
        request = self.request
        about = {key: getattr(request, key) for key in ("kind", "room", "state", "progress")}
        self._report(
            SubAgentMessage(report=report, request=request.id, message=request.message, data={**about, **data})
        )


def _to_text(text: str) -> str:
    """A message that can hold the words of a server, for people and for the store."""
    return escape_invisible(to_storable(text))[:_MAX_MESSAGE]
