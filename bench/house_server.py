"""A scratch house as a server of its own, with all its doors open and limits that are never reached."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from bench.scratch import ROOM, UNLIMITED, scratch_house
from bench.serving import IDLE_SECONDS, abandoned, listening, tell
from bench.ways import token
from doorward.commands.context import Context
from doorward.config.home import bind_private_socket
from doorward.config.settings import LineSettings, McpSettings, SandboxSettings
from doorward.config.settings import ServerSettings as Web
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import READS_ONLY, Example, Family
from doorward.doors.http.applications import HttpApplications
from doorward.doors.http.server import raise_file_limit, serve, tune_garbage_collection
from doorward.doors.line.door import open_line_door
from doorward.rooms.people import LOCAL, OWNER

OPEN = msgspec.structs.replace(
    UNLIMITED,
    sandbox=SandboxSettings(),
    server=Web(idle_seconds=IDLE_SECONDS),
    line=LineSettings(enabled=True, port=0, room=ROOM, clients=100, calls=1_000_000_000, idle_seconds=IDLE_SECONDS),
    mcp=McpSettings(room=ROOM, tools="all"),
)


def tools(count: int) -> Family:
    """So many more commands, each with a few parameters, as real ones have."""
    family = Family("bench", category="bench")
    for number in range(count):

        @family.command(
            f"tool-{number}",
            tier=Tier.INFORMATION,
            effects=Effects.READ,
            access=Access.READ,
            safety=Safety.SAFE,
            cost=1,
            timeout=10,
            undo=READS_ONLY,
            examples=[Example("look for bread", {"query": "bread"})],
        )
        async def look(
            ctx: Context,
            query: Annotated[str, Meta(description="What to look for, in a few words", max_length=500)],
            limit: Annotated[int, Meta(description="At most so many", ge=1, le=100)] = 10,
            hidden: Annotated[bool, Meta(description="Whether to include what is hidden")] = False,
        ) -> dict[str, str]:
            """Look for something that is never there.

            The answer says what was looked for.
            """
            return {"query": query}

    return family


async def main(folder: Path, count: int) -> None:
    stopping = asyncio.Event()
    most, _ = raise_file_limit(OPEN.server.connections)
    async with scratch_house(folder, families=[tools(count)], settings=OPEN) as house:
        shown = await token(house)
        login = house.services.browsers.create_link(LOCAL, OWNER)
        house.services.upstreams.start()
        with listening() as public, bind_private_socket(house.home.socket) as private:
            async with open_line_door(house.gate, house.services) as (_, line):
                tune_garbage_collection()
                ending = asyncio.create_task(_end(stopping))
                await serve(
                    HttpApplications(house.gate, house.services),
                    public,
                    private,
                    stopping,
                    lambda: tell(port=public.getsockname()[1], line=line, token=shown, login=login, room=ROOM),
                    most,
                )
                await ending


async def _end(stopping: asyncio.Event) -> None:
    await abandoned()
    stopping.set()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
