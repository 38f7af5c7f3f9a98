"""A house of its own for each measure: trivial commands, and limits that are never reached."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from bench.confined import MEASURED, run_nothing
from doorward.app import House, open_house
from doorward.commands.context import Context
from doorward.config.home import Home
from doorward.config.settings import LimitSettings, Settings
from doorward.core.classification import Access, Effects, Role, Safety, Tier
from doorward.core.command import READS_ONLY, Example, Family, NoUndo
from doorward.core.model import Credential, Outcome, Request
from doorward.rooms.people import LOCAL, OWNER
from doorward.rooms.rooms import Member, Room
from doorward.sandbox.program import SandboxProfile

READ = "bench/read"
CHANGE = "bench/change"
PROGRAM = "bench/program"
ROOM = "bench"
RECIPE = {
    "recipeId": "bench",
    "displayName": "Bench",
    "description": "Every command of the bench and of upstream servers, as often as it likes.",
    "strategy": {
        "aiCommands": {
            "enabled": True,
            "whitelist": ["bench/*", "mcp/*"],
            "blacklist": ["file/*", "user/*"],
            "maxCommandsPerResponse": 1_000_000,
            "maxCommandsPerMinute": 1_000_000,
            "timeoutSeconds": 60,
        }
    },
}
UNLIMITED = Settings(
    limits=LimitSettings(running=10_000, queued=10_000, per_minute=1_000_000_000, loop_repeats=1_000_000_000),
    sandbox=MEASURED,
)

family = Family("bench", category="bench")
Number = Annotated[int, Meta(description="Any number")]


@family.command(
    "read",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=10,
    undo=READS_ONLY,
    examples=[Example("read it back", {"number": 1})],
)
async def read(ctx: Context, number: Number) -> dict[str, int]:
    """Give the number back."""
    return {"number": number}


@family.command(
    "change",
    tier=Tier.CODE,
    effects=Effects.WRITE,
    access=Access.EDIT,
    safety=Safety.SAFE,
    cost=1,
    timeout=10,
    undo=NoUndo("it changes nothing in truth"),
    examples=[Example("pretend to change it", {"number": 1})],
)
async def change(ctx: Context, number: Number) -> dict[str, int]:
    """Be recorded as a change."""
    return {"number": number}


@family.command(
    "program",
    tier=Tier.CODE,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=10,
    undo=READS_ONLY,
    examples=[Example("run it", {"number": 1})],
)
async def program(ctx: Context, number: Number) -> dict[str, int]:
    """Run a program that does nothing, and give the number back."""
    await run_nothing(ctx.services.sandbox, SandboxProfile(ctx.call.workspace))
    return {"number": number}


@contextlib.asynccontextmanager
async def scratch_house(
    folder: Path, *, rooms: int = 1, families: Sequence[Family] = (), settings: Settings = UNLIMITED
) -> AsyncIterator[House]:
    """A house in an empty folder, with rooms `bench`, `bench1`, … in which agents may run the trivial commands."""
    home = Home(folder)
    home.create()
    (home.recipes / "bench.json").write_text(json.dumps(RECIPE))
    async with open_house(home, families=[family, *families], changes=settings) as house:
        members = {OWNER: Member(OWNER, "human", Role.OWNER)}
        for number in range(rooms):
            room = ROOM if number == 0 else f"{ROOM}{number}"
            await house.services.rooms.create(Room(LOCAL, room, room, "bench", members))
        yield house


def read_only(house: House) -> SandboxProfile:
    """The profile in which the scratch command runs its program."""
    return SandboxProfile(str(house.home.workspace(house.settings.files.workspace, LOCAL, LOCAL).absolute()))


def numbered() -> Iterator[int]:
    """A parameter that never repeats, since repeated calls are refused as loops."""
    return itertools.count()


async def ask(house: House, command: str, number: int, *, agent: str = "", room: str = "") -> Outcome:
    """One call that must be done, by an agent in a room or by the owner outside rooms."""
    credential = Credential(owner=True, speak_as=agent)
    outcome = await house.gate.handle(Request(command, credential, "bench", room, {"number": number}))
    if outcome.status != "done":
        raise RuntimeError(f"{command} was to be measured, but it was {outcome.status}: {outcome.message}")
    return outcome


async def ask_at_once(
    house: House, command: str, numbers: Iterator[int], *, callers: int, calls: int, room: str
) -> None:
    """So many calls by so many callers at once, each asking again when it is answered."""

    async def one(agent: str) -> None:
        for _ in range(max(1, calls // callers)):
            await ask(house, command, next(numbers), agent=agent, room=room)

    await asyncio.gather(*(one(f"agent-{number}" if room else "") for number in range(callers)))
