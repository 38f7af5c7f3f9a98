"""Pipelined requests: no work for answers that nobody reads, and no client waits for the pipelines of others."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from doorward.config.settings import ServerSettings
from doorward.core.byte_budget import ByteBudget
from doorward.doors.http.server import ServerConnections
from listening import bare, get, listening
from waiting import until

ANSWER = b"x" * 2_000
MANY = 5_000


async def test_no_more_requests_are_handled_than_a_client_reads_answers_to(tmp_path: Path) -> None:
    handled: list[str] = []

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        handled.append(scope["path"])
        length = (b"content-length", str(len(ANSWER)).encode())
        await send({"type": "http.response.start", "status": 200, "headers": [length]})
        await send({"type": "http.response.body", "body": ANSWER})

    async with listening(bare(answer, ServerSettings()), tmp_path / "s") as here:
        client = await here.connect(takes=4_096)
        sending = asyncio.ensure_future(client.send(get("/pipelined") * MANY))
        client.reader._transport.pause_reading()  # type: ignore[attr-defined]
        previous = -1
        while previous != handled.count("/pipelined"):
            previous = handled.count("/pipelined")
            for _ in range(30):
                assert (await here.ask(get("/other"))).status == 200
        pipelined = handled.count("/pipelined")
        assert 0 < pipelined < 200, "about as many as the buffers of one connection hold"
        client.reader._transport.resume_reading()  # type: ignore[attr-defined]
        for _ in range(500):
            assert (await client.answer()).body == ANSWER
        await until(lambda: handled.count("/pipelined") >= 500)
        client.hang_up()
        await sending


async def test_few_pipelined_requests_are_started_in_one_iteration_of_the_event_loop() -> None:
    state = ServerConnections(ServerSettings(), 100, ByteBudget(10**6, 10**6, 10**6))
    turns: list[int] = []
    connections: list[Any] = [
        SimpleNamespace(take_turn=lambda number=number: turns.append(number)) for number in range(50)
    ]
    for connection in connections:
        state.queue_turn(connection)
    assert turns == []
    iterations = 0
    while len(turns) < 50:
        before = len(turns)
        await asyncio.sleep(0)
        iterations += 1
        assert len(turns) - before <= 8
    assert turns == list(range(50)), "each in its turn"
    assert iterations >= 50 // 8
