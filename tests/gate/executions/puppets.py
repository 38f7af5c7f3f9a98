"""Commands whose every move a test makes: they say, progress and end when told to."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from msgspec import Meta

from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import READS_ONLY, Example, Family, NoUndo
from doorward.core.model import Credential, Outcome, Request

Name = Annotated[str, Meta(description="Which puppet")]


def asked(driver: Any, command: str, name: str, watch: Any = None, **more: Any) -> asyncio.Task[Outcome]:
    """A call on its way, as the agent `helper` in the lab."""
    request = Request(
        command=command,
        credential=Credential(owner=True, speak_as="helper"),
        door="test",
        room="lab",
        params={"name": name},
        **more,
    )
    return asyncio.create_task(driver.house.gate.handle(request, watch))


class Puppet:
    """One running command: what it was given, and the strings it hangs on."""

    def __init__(self, ctx: Any) -> None:
        self.ctx = ctx
        self.execution = ctx.execution
        self.id: str = ctx.call.id
        self.gone = asyncio.Event()
        self._end: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def say(self, text: str, stream: str = "stdout") -> None:
        self.execution.write(stream, text.encode())

    def end(self, result: Any = None) -> None:
        self._end.set_result(result)

    def fail(self, error: BaseException) -> None:
        self._end.set_exception(error)

    async def dance(self) -> Any:
        try:
            return await self._end
        finally:
            self.gone.set()


class Puppets:
    def __init__(self) -> None:
        self.family = Family("puppet", category="test")
        self.by_name: dict[str, Puppet] = {}
        self.inner: list[Any] = []
        self._changed = asyncio.Event()
        common: dict[str, Any] = {
            "access": Access.READ,
            "safety": Safety.SAFE,
            "cost": 1,
            "timeout": 60,
            "examples": [Example("try it", {"name": "x"})],
        }
        reads = {"tier": Tier.INFORMATION, "effects": Effects.READ, "undo": READS_ONLY, **common}
        writes = {"tier": Tier.CODE, "effects": Effects.WRITE, "undo": NoUndo("a test"), **common}

        async def perform(ctx: Any, name: str) -> Any:
            puppet = self.by_name[name] = Puppet(ctx)
            self._changed.set()
            return await puppet.dance()

        @self.family.command("look", **reads)
        async def look(ctx: Any, name: Name) -> Any:
            """Only read, as long as the test likes."""
            return await perform(ctx, name)

        @self.family.command("change", **writes)
        async def change(ctx: Any, name: Name) -> Any:
            """Change something, as long as the test likes."""
            return await perform(ctx, name)

        @self.family.command("flash", **writes)
        async def flash(ctx: Any, name: Name) -> Any:
            """Be over before anybody can look."""
            return {"name": name}

        @self.family.command("stubborn", **writes)
        async def stubborn(ctx: Any, name: Name) -> Any:
            """Finish whatever happens."""
            try:
                return await perform(ctx, name)
            except asyncio.CancelledError:
                return {"finished": "all the same"}

        @self.family.command("ask", **writes)
        async def ask(ctx: Any, name: Name) -> Any:
            """Run another command inside: `command name`, or itself so many times."""
            command, _, rest = name.partition(" ")
            key = "name" if command.startswith("puppet/") else "execution"
            outcome = await ctx.services.run_nested(ctx.call, command, {key: rest} if rest else {})
            self.inner.append(outcome)
            return {"status": outcome.status, "code": outcome.code, "call": outcome.call, "result": outcome.result}

    async def on_stage(self, name: str) -> Puppet:
        """The puppet of that name, once it runs."""
        while name not in self.by_name:
            self._changed.clear()
            await self._changed.wait()
        return self.by_name[name]
