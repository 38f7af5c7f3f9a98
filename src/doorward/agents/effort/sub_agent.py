"""The sub-agent: the background worker of one agent that manages MCP servers.

It works on requests by priority and age, up to three at once, and never blocks its agent. It acts through the gate as
the agent, on behalf of the person who asked. It cannot speak to people, and it does nothing while the agent is stopped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, get_args

from doorward.agents.context import AgentContext
from doorward.agents.effort.sub_agent_energy import Charge, EnergyAccount
from doorward.agents.effort.sub_agent_job import Job, Stop, Work
from doorward.agents.effort.sub_agent_messages import MessageQueue, SubAgentMessage
from doorward.agents.effort.sub_agent_params import parse_params
from doorward.agents.effort.sub_agent_turns import Turns
from doorward.agents.effort.sub_agent_work import WORK
from doorward.commands.effort_services import Priority, RequestKind
from doorward.core.command import shorten
from doorward.core.errors import BadParams, Conflict, Looping, NotFound, Overloaded
from doorward.core.events import SubAgentReported
from doorward.core.ids import new_id
from doorward.core.model import Credential
from doorward.rooms.people import LOCAL
from doorward.store import subagent_requests as sql
from doorward.store.subagent_requests import SubAgentRequest

__all__ = ["FAILURE_SECONDS", "LOW_ENERGY", "MAX_FAILURES", "MAX_OPEN", "SubAgent", "SubAgentMessage"]

LOW_ENERGY = "low energy"
"""The name under which the agent itself pauses its sub-agent. Only the agent lifts this pause."""
MAX_OPEN = 10
"""The most open requests of an agent, so that a model that repeats itself cannot fill the queue."""

MAX_FAILURES = 3
FAILURE_SECONDS = 600.0
"""So often the same request may fail in so many seconds."""


class SubAgent:
    def __init__(
        self,
        around: AgentContext,
        agent: str,
        *,
        charge: Charge,
        at_once: int = 3,
        work: Mapping[str, Work] = WORK,
    ) -> None:
        """`charge` charges energy to the agent's pool, once for each key."""
        self.agent = agent
        self.on_message: Callable[[SubAgentMessage], None] = lambda _: None
        """Called with each message, so that the agent wakes up."""
        self._context = around
        self._charge = charge
        self._work = work
        self._turns = Turns(at_once)
        self._jobs: dict[str, Job] = {}
        """The open requests by id."""
        self._ended: dict[str, EnergyAccount] = {}
        """The ended requests whose energy is not collected."""
        self._messages = MessageQueue()
        self._pauses: list[str] = []
        self._collecting = asyncio.Lock()
        self._running = False

    async def start(self) -> None:
        """Go on with the requests of a former process. Those that cannot be repeated have failed."""
        self._running = True
        for request in await sql.unfinished(self._context.services.store, LOCAL, self.agent):
            if not request.is_open:
                self._ended[request.id] = self._make_job(request).energy
                continue
            job = self._jobs[request.id] = self._make_job(request)
            await job.restore()
            self._launch(job)

    async def close(self) -> None:
        """Stop all work. What can be repeated is queued again; what waits for approval goes on waiting."""
        self._running = False
        await asyncio.gather(*(job.stop(Stop("close", "the stop of its agent")) for job in list(self._jobs.values())))

    async def queue(
        self, kind: RequestKind, params: dict[str, Any], priority: Priority, *, room: str, asker: str
    ) -> SubAgentRequest:
        """Queue a request for a person in a room. If the same request is open already, return that one."""
        if not self._running:
            raise Conflict(f"The sub-agent of {self.agent} is stopped. Nothing was queued.")
        target = parse_params(kind, params).target
        if priority not in get_args(Priority):
            raise BadParams(f"Unknown priority {shorten(priority)}. Priorities: {', '.join(get_args(Priority))}.")
        if not room:
            raise BadParams("A request to a sub-agent needs the room of its conversation; given: none.")
        self._context.gate.caller(Credential(persona=self.agent, asker=asker, room=room))
        await self._refuse_loop(kind, target)
        request = SubAgentRequest(
            id=new_id(),
            tenant=LOCAL,
            agent=self.agent,
            room=room,
            asker=asker,
            kind=kind,
            params=params,
            priority=priority,
            message="Queued.",
            created_at=self._context.services.clock.now(),
        )
        others = [job.current for job in self._jobs.values() if job.request.is_open]
        for other in others:
            if parse_params(other.kind, other.params).target == target:
                return _find_same(other, request)
        if len(others) >= MAX_OPEN:
            raise Overloaded(
                f"{len(others)} requests to the sub-agent of {self.agent} are open, and at most {MAX_OPEN} can be.",
                hint="Wait until one has ended, or cancel one.",
            )
        job = self._jobs[request.id] = self._make_job(request)
        try:
            await job.change()
        except BaseException:
            del self._jobs[request.id]
            raise
        self._launch(job)
        return job.current

    async def cancel(self, id: str, reason: str, by: str = "") -> SubAgentRequest:
        """Cancel an open request. Its running call is cancelled, and its approval is withdrawn."""
        job = self._jobs.get(id)
        if job is None or not job.request.is_open:
            ended = await self.find(id)
            if ended is None:
                raise NotFound(f"The sub-agent of {self.agent} has no request {id[:64]!r}.")
            raise Conflict(f"The request {id} is {_describe_state(ended)} already. Nothing was cancelled.")
        await job.stop(Stop("cancel", by, reason))
        self._forget(job)
        if job.request.state != "cancelled":
            raise Conflict(f"The request {id} was {_describe_state(job.request)} before it could be cancelled.")
        return job.current

    async def find(self, id: str) -> SubAgentRequest | None:
        """Return a request of this agent as it is now; None if there is none."""
        if id in self._jobs:
            return self._jobs[id].current
        found = await sql.find(self._context.services.store, LOCAL, id)
        return found if found is not None and found.agent == self.agent else None

    @property
    def paused_by(self) -> str:
        """Who or what paused it; empty if it is not paused."""
        return ", ".join(self._pauses)

    def pause(self, by: str) -> None:
        """Begin no new work. Running calls end, and their requests wait before the next call."""
        if by not in self._pauses:
            self._pauses.append(by)
        self._turns.pause()

    def resume(self, by: str) -> None:
        """Lift the pause for low energy, or that of people. They do not lift each other."""
        self._pauses = [one for one in self._pauses if (one == LOW_ENERGY) != (by == LOW_ENERGY)]
        if not self._pauses:
            self._turns.resume()

    def messages(self) -> list[SubAgentMessage]:
        """Return the messages since the last time."""
        return self._messages.drain()

    def has_active_work(self) -> bool:
        """Whether a request works or waits for its turn. One that waits for approval does not count."""
        return any(job.is_active for job in self._jobs.values())

    @property
    def has_uncollected_energy(self) -> bool:
        return bool(self._ended) or any(not job.energy.is_collected for job in self._jobs.values())

    async def collect_energy(self) -> float:
        """Charge the energy used since the last collection, and return it."""
        async with self._collecting:
            accounts = {id: job.energy for id, job in self._jobs.items()} | self._ended
            collected = 0.0
            for id, account in accounts.items():
                collected += await account.collect(self._charge)
                if id in self._ended and account.is_collected:
                    del self._ended[id]
            return collected

    async def _refuse_loop(self, kind: str, target: str) -> None:
        """Refuse a request that failed again and again a moment ago: nothing has changed since."""
        now, store = self._context.services.clock.now(), self._context.services.store
        failed = [
            one.ended_at
            for one in await sql.newest(store, LOCAL, self.agent, "failed", 2 * MAX_FAILURES)
            if one.kind == kind and one.ended_at is not None and one.ended_at > now - FAILURE_SECONDS
            if parse_params(one.kind, one.params).target == target
        ]
        if len(failed) >= MAX_FAILURES:
            raise Looping(
                f"The same request failed {len(failed)} times in the last {FAILURE_SECONDS / 60:g} minutes.",
                hint="Read why it failed, and do something else.",
                retry_after=min(failed) + FAILURE_SECONDS - now,
            )

    def _make_job(self, request: SubAgentRequest) -> Job:
        return Job(self._context, request, self._work[request.kind], self._turns, self._report)

    def _launch(self, job: Job) -> None:
        if not job.request.is_open:
            self._forget(job)
            return
        job.launch()
        if job.task is not None:
            job.task.add_done_callback(lambda _: self._forget(job))

    def _forget(self, job: Job) -> None:
        """Drop an ended request; its energy stays until it is collected."""
        if not job.request.is_open and self._jobs.pop(job.request.id, None) is not None:
            self._ended[job.request.id] = job.energy

    def _report(self, message: SubAgentMessage) -> None:
        self._messages.add(message)
        services, data = self._context.services, message.data
        services.events.publish(
            SubAgentReported(
                tenant=LOCAL,
                at=services.clock.now(),
                agent=self.agent,
                request=message.request,
                report=message.report,
                state=data["state"],
                progress=data["progress"],
                message=message.message,
            )
        )
        self.on_message(message)


def _find_same(open_request: SubAgentRequest, wanted: SubAgentRequest) -> SubAgentRequest:
    """Return the open request if the wanted one is the same; otherwise the two exclude each other."""
    same = ("kind", "params", "room", "asker")
    if all(getattr(open_request, name) == getattr(wanted, name) for name in same):
        return open_request
    raise Conflict(
        f"Another request about the same server is {_describe_state(open_request)}. Nothing was queued.",
        hint="Wait until it has ended, or cancel it.",
    )


def _describe_state(request: SubAgentRequest) -> str:
    return request.state.replace("_", " ")
