"""The line about models that `doorward up` and `doorward init` print when they create the home folder."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping

from doorward.agents.models import file_discovery, server_discovery
from doorward.agents.models.prices import known_services
from doorward.agents.models.server_discovery import FoundServer, ServerProgram
from doorward.app import House

_SECONDS = 0.1
"""Time limit of each search, so that it never delays the start noticeably."""


async def add_models_line(house: House) -> None:
    """Add what was found to the lines about a new home folder."""
    if house.setup_lines:
        house.setup_lines.append(f"models        {await describe_models(os.environ)}")


async def describe_models(
    environment: Mapping[str, str], programs: tuple[ServerProgram, ...] = server_discovery.PROGRAMS
) -> str:
    """Say in one line which models were found on this machine."""
    servers, files = await asyncio.gather(
        server_discovery.find_servers(programs, _SECONDS),
        asyncio.to_thread(file_discovery.count_candidates, _SECONDS),
    )
    parts = ["house (built in)", *(_describe_server(one) for one in servers if one.models)]
    if files:
        parts.append(f"{files} GGUF file{'' if files == 1 else 's'}")
    parts += [one.key for one in known_services() if environment.get(one.key)]
    return f"{'; '.join(parts)}; doorward models shows more"


def _describe_server(server: FoundServer) -> str:
    more = len(server.models) - 1
    rest = f" and {more} more" if more else ""
    return f"{server.program.title} at {server.address} with {server.models[0].id[:60]}{rest}"
