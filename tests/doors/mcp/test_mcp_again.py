"""The same bytes on the same connection are judged anew each time: what was read of them is all that stays."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from mcp_house import RECIPE, McpHouse, write_recipe

from listening import Answer, listening

Change = Callable[[McpHouse], Awaitable[None]]


async def _rule(house: McpHouse, **changes: Any) -> None:
    commands = {**RECIPE["strategy"]["aiCommands"], **changes}
    write_recipe(house.home, {**RECIPE, "strategy": {"aiCommands": commands}})
    await house.services.recipes.load()


async def _forbid(house: McpHouse) -> None:
    await _rule(house, blacklist=["probe/*"])


async def _ask_first(house: McpHouse) -> None:
    await _rule(house, requireApproval={"probe/*": True})


async def _limit(house: McpHouse) -> None:
    await _rule(house, maxCommandsPerMinute=1)


async def _allow(house: McpHouse) -> None:
    await _rule(house)


async def _archive(house: McpHouse) -> None:
    await house.owner("room/archive", name="workshop")


async def _revoke(house: McpHouse) -> None:
    (token,) = [one for one in house.services.tokens.of_tenant("local") if one.name == "brief"]
    await house.owner("token/revoke", id=token.id)


_STEPS: tuple[tuple[Change | None, int, str], ...] = (
    (None, 200, "done"),
    (_forbid, 200, "not_permitted"),
    (_allow, 200, "done"),
    (_ask_first, 200, "approval_needed"),
    (_limit, 200, "too_fast"),
    (_allow, 200, "done"),
    (_archive, 200, "not_permitted"),
    (_revoke, 401, "not_authenticated"),
)
"""What changes, and what becomes of the same request then."""


async def test_what_changed_meanwhile_is_seen_by_the_next_request_with_the_same_head(
    own_house: Callable[..., Any], tmp_path: Path
) -> None:
    async with own_house() as house, listening(house.server, tmp_path / "door.sock") as here:
        web = await house.web("brief", kind="service")
        body, headers = web.stateless("tools/call", {"name": "probe_number"})
        headers |= {"host": f"localhost:{here.port}", "content-length": str(len(body))}
        lines = [f"{name}: {value}" for name, value in headers.items()]
        request = "\r\n".join([f"POST {web.path} HTTP/1.1", *lines, "", ""]).encode() + body
        client = await here.connect()
        for change, status, word in _STEPS:
            if change is not None:
                await change(house)
            answers: list[Answer] = []
            for _ in range(2):
                await client.send(request)
                answers.append(await client.answer())
            assert [one.status for one in answers] == [status, status], (change, answers)
            assert all(f'"{word}"'.encode() in one.body for one in answers), (change, answers)
