"""Clients that do not read: the work for them ends and is recorded, nothing piles up, and others do not notice."""

from __future__ import annotations

import asyncio
from typing import Any

from mcp_house import McpHouse
from mcp_web import PATIENCE, Exchange, Web


class Stuck:
    """An application whose client takes the head of the answer and one event, and then reads no more."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self._never = asyncio.Event()
        self.events = 0
        self.full = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def slow(message: dict[str, Any]) -> None:
            self.events += bool(message.get("body"))
            if self.events > 1:
                self.full.set()
                await self._never.wait()
            await send(message)

        await self._app(scope, receive, slow)


def _is_end_of_talk(event: Any) -> bool:
    return event.name == "ai:command-executed" and event.command == "probe/talk"


async def test_a_call_ends_and_is_recorded_though_its_client_reads_nothing(house: McpHouse, web: Web):
    recorded = asyncio.Event()
    end = house.services.events.subscribe(lambda event: recorded.set() if _is_end_of_talk(event) else None)
    stuck = Stuck(web.app)
    talk = {"name": "probe_talk", "arguments": {"lines": 3_000}}
    body, headers = web.stateless("tools/call", talk, progressToken=1)
    exchange = Exchange(stuck, "POST", web.path, headers, body)
    async with asyncio.timeout(PATIENCE):
        await stuck.full.wait()
        await recorded.wait()
    end()
    assert stuck.events == 2, "what cannot be sent does not pile up"
    assert (await web.call("probe_number")).result["structuredContent"] == {"result": 42}
    await exchange.hang_up()
    *_, row = await house.ledger("probe/talk")
    assert row["status"] == "done"


async def test_a_listener_that_reads_nothing_is_sent_nothing_more(house: McpHouse, web: Web):
    stuck = Stuck(web.app)
    body, headers = web.stateless("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    exchange = Exchange(stuck, "POST", web.path, headers, body)
    await (await exchange.begun()).event()
    for _ in range(1_000):
        house.announce("tools")
        await asyncio.sleep(0)
    assert stuck.events == 2
    await exchange.hang_up()
