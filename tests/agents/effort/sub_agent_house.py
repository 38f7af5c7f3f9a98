"""A house with a sub-agent. Its work is that of the house, or made of two commands that a test controls."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Annotated, Any

from msgspec import Meta

from doorward.agents.context import AgentContext
from doorward.agents.effort.sub_agent import SubAgent, SubAgentMessage
from doorward.agents.effort.sub_agent_job import Job
from doorward.commands.context import Context
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import READS_ONLY, Example, Family, NoUndo
from doorward.core.errors import CommandFailed
from doorward.core.events import SubAgentReported
from doorward.store import subagent_requests
from doorward.store.subagent_requests import SubAgentRequest
from keeper_house import Minds
from waiting import until

Name = Annotated[str, Meta(description="What to work on", max_length=200)]


class Bench:
    """Decides when the commands of its family end, and remembers what they did."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.done: list[str] = []
        self.cancelled: list[str] = []
        self.gates: dict[str, asyncio.Event] = {}
        self.family = Family("bench", category="tests")
        bench = self

        @self.family.command(
            "look",
            tier=Tier.INFORMATION,
            effects=Effects.READ,
            access=Access.READ,
            safety=Safety.SAFE,
            cost=1,
            timeout=600,
            undo=READS_ONLY,
            examples=[Example("look at it", {"name": "it"})],
        )
        async def look(ctx: Context, name: Name) -> dict[str, str]:
            """Look at something until the test lets it go."""
            return await bench._work(ctx, name)

        @self.family.command(
            "change",
            tier=Tier.SYSTEM,
            effects=Effects.WRITE,
            access=Access.EDIT,
            safety=Safety.CAUTION,
            cost=1,
            timeout=600,
            undo=NoUndo("it is only a test"),
            examples=[Example("change it", {"name": "it"})],
        )
        async def change(ctx: Context, name: Name) -> dict[str, str]:
            """Change something once the test lets it go."""
            return await bench._work(ctx, name)

    def gate(self, name: str) -> asyncio.Event:
        return self.gates.setdefault(name, asyncio.Event())

    async def _work(self, ctx: Context, name: str) -> dict[str, str]:
        self.started.append(name)
        ctx.execution.progress(0.5, "half of it")
        try:
            await self.gate(name).wait()
        except asyncio.CancelledError:
            self.cancelled.append(name)
            raise
        if "bad" in name:
            raise CommandFailed(f"{name} is broken.")
        self.done.append(name)
        return {"name": name}


async def _look(job: Job) -> Any:
    return await job.call("bench/look", {"name": job.request.params["server"]}, "Looking.", (0.0, 100.0))


async def _change(job: Job) -> Any:
    name = job.request.params["server"]
    looked = await job.call("bench/look", {"name": f"before {name}"}, "Looking.", (0.0, 20.0))
    changed = await job.call("bench/change", {"name": name}, "Changing.", (20.0, 80.0))
    return {"looked": looked, "changed": changed}


BENCH_WORK = {"test_server": _look, "remove_server": _change}


class Yard:
    """The sub-agent of the guide, in the room general."""

    def __init__(self, driver: Any, bench: Bench, work: Any) -> None:
        self.driver = driver
        self.bench = bench
        self.work = work
        self.charges: dict[str, float] = {}
        self.events: list[SubAgentReported] = []
        self.heard: list[SubAgentMessage] = []
        self.sub = self.make()
        driver.house.services.events.subscribe(self.events.append, SubAgentReported)

    def make(self) -> SubAgent:
        """Another sub-agent on the same store, as after a restart."""
        context = AgentContext(self.driver.house.gate, self.driver.house.services, Minds(self.driver.house))
        sub = SubAgent(context, "guide", charge=self.charge, work=self.work)
        sub.on_message = self.heard.append
        return sub

    async def charge(self, key: str, amount: float) -> bool:
        is_new = key not in self.charges
        self.charges.setdefault(key, amount)
        return is_new

    @property
    def charged(self) -> float:
        return sum(self.charges.values())

    async def look(self, name: str, priority: Any = "medium", **where: str) -> str:
        place = {"room": "general", "asker": "owner", **where}
        return (await self.sub.queue("test_server", {"server": name}, priority, **place)).id

    async def change(self, name: str, priority: Any = "medium") -> str:
        request = await self.sub.queue("remove_server", {"server": name}, priority, room="general", asker="owner")
        return request.id

    def open(self, *names: str) -> None:
        for name in names:
            self.bench.gate(name).set()

    async def started(self, *names: str) -> None:
        await until(lambda: set(names) <= set(self.bench.started))

    async def stored(self, id: str) -> SubAgentRequest:
        found = await subagent_requests.find(self.driver.house.services.store, "local", id)
        assert found is not None
        return found

    async def reached(self, id: str, *states: str) -> SubAgentRequest:
        """Wait until the stored request is in one of these states."""

        async def look() -> SubAgentRequest | None:
            found = await self.stored(id)
            return found if found.state in states else None

        found: SubAgentRequest = await until(look)
        return found

    async def parked(self, id: str) -> str:
        """Wait until a request waits for approval; the ticket."""

        async def look() -> str:
            return (await self.stored(id)).ticket

        ticket: str = await until(look)
        return ticket

    async def recipe(self, **commands: Any) -> None:
        """Let AIs in the room use the bench; changes need approval."""
        agents = {
            "enabled": True,
            "whitelist": ["bench/*", "mcp/*"],
            "requireApproval": {"bench/change": {"timeoutSeconds": 60}},
            **commands,
        }
        body = {"recipeId": "trial", "displayName": "Trial", "strategy": {"aiCommands": agents}}
        await self.driver.owner("recipe/put", id="trial", text=json.dumps(body))
        await self.driver.owner("room/recipe", name="general", recipe="trial")

    async def decide(self, verdict: str, ticket: str, **more: str) -> None:
        await self.driver.owner(f"approval/{verdict}", id=ticket, **more)


@contextlib.asynccontextmanager
async def yard(opened: Any, bench: Bench | None = None, work: Any = BENCH_WORK, **more: Any) -> AsyncIterator[Yard]:
    """A house whose guide has a sub-agent that has started."""
    bench = bench or Bench()
    async with opened(families=[bench.family], **more) as driver:
        found = Yard(driver, bench, work)
        await found.recipe()
        await found.sub.start()
        try:
            yield found
        finally:
            await found.sub.close()
