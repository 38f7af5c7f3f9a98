"""The bytes of unanswered requests have a budget: many unfinished bodies at once neither fill the memory nor shut out
others."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from doorward.config.settings import LineSettings, ServerSettings, Settings
from doorward.core.byte_budget import ByteBudget
from doorward.core.errors import Overloaded, TooFast
from doorward.doors.line.door import open_line_door
from listening import Client, Listening, get, house, listening
from waiting import until

MIB = 1_048_576
LIMITS = ServerSettings(inflight_bytes=4 * MIB, inflight_bytes_each=MIB, inflight_bytes_strangers=MIB)
PATHS = ("/api/run", "/api/run/room/list", "/api/rooms/general/files?file=x", "/mcp", "/api/console/login")


async def begin_body(here: Listening, path: str, token: str, size: int) -> Client:
    """Send a whole head, and a body without its last byte."""
    client = await here.connect()
    fields = ["Host: localhost", "Content-Type: application/json", f"Content-Length: {size + 1}"]
    fields += [f"Authorization: Bearer {token}"] if token else []
    head = "\r\n".join([f"POST {path} HTTP/1.1", *fields, "", ""]).encode()
    await client.send(head + b" " * size)
    return client


@pytest.mark.parametrize("seed", range(3))
async def test_unfinished_bodies_stay_within_the_budget_and_ordinary_requests_succeed(
    seed: int, opened: Callable[..., Any], tmp_path: Path
) -> None:
    chance = random.Random(seed)
    async with opened(changes=Settings(server=LIMITS)) as driver, listening(house(driver), tmp_path / "s") as here:
        budget: ByteBudget = driver.house.services.intake
        tokens = [await driver.token(name) for name in ("ann", "bob", "cid", "dan", "eve", "fay")]
        good = tokens.pop()
        clients = []
        for turn in range(60):
            token = chance.choice([*tokens, "", f"bogus-{turn}"])
            size = chance.choice([1, 1_000, 40_000, 300_000, 900_000])
            clients.append(await begin_body(here, chance.choice(PATHS), token, size))
            if turn % 10 == 9:
                answer = await here.ask(get("/api/me", f"Authorization: Bearer {good}"))
                assert answer.status == 200, answer
                assert budget.held <= budget.total
        await until(lambda: budget.held > MIB)
        metrics = (await here.ask(get("/metrics"))).body.decode().splitlines()
        assert float(next(line for line in metrics if line.startswith("doorward_inflight_bytes ")).split()[1]) > MIB
        for client in clients:
            client.hang_up()
        await until(lambda: budget.held == 0)
        assert 2 * MIB < budget.peak <= budget.total


async def test_a_caller_with_too_many_bytes_is_told_to_wait(opened: Callable[..., Any], tmp_path: Path) -> None:
    async with opened(changes=Settings(server=LIMITS)) as driver, listening(house(driver), tmp_path / "s") as here:
        token, other = await driver.token("ann"), await driver.token("bob")
        first = await begin_body(here, "/api/run", token, 900_000)
        await until(lambda: driver.house.services.intake.held >= 900_000)
        refused = await (await begin_body(here, "/api/run", token, 900_000)).answer()
        assert (refused.status, refused.json["code"]) == (429, "too_fast")
        assert "retry-after: 5" in refused.head.lower()
        assert "server.inflight_bytes_each" in refused.json["detail"]
        stranger = await (await begin_body(here, "/elsewhere", "", 2 * MIB)).answer()
        assert stranger.status == 413
        served = await begin_body(here, "/api/run", other, 900_000)
        for client in (first, served):
            await client.send(b" ")
            assert (await client.answer()).status == 400, "both bodies were read and are not JSON"


def test_the_oldest_stranger_gives_way_and_callers_do_not() -> None:
    budget = ByteBudget(total=1_000, each=600, strangers=100)
    gone: list[str] = []
    caller = budget.open_account(lambda _: gone.append("caller"))
    caller.authenticate("ann")
    caller.add(500)
    strangers = {name: budget.open_account(lambda _, name=name: gone.append(name)) for name in "abc"}
    for account in strangers.values():
        account.add(40)
    assert gone == ["a"]
    strangers["b"].authenticate("bob")
    with pytest.raises(TooFast, match="at most 600 bytes"):
        caller.add(200)
    strangers["b"].add(430)
    assert gone == ["a", "c"], "strangers give way to callers too"
    with pytest.raises(Overloaded, match="at most 1000 bytes"):
        budget.open_account(gone.append).add(101)
    for account in (caller, *strangers.values()):
        account.release()
    assert budget.held == 0


async def test_unfinished_lines_of_the_line_door_count_and_are_dropped(opened: Callable[..., Any]) -> None:
    line = LineSettings(port=0, open=False, request_bytes=300_000)
    async with opened(changes=Settings(server=LIMITS, line=line)) as driver:
        budget: ByteBudget = driver.house.services.intake
        async with open_line_door(driver.house.gate, driver.house.services) as (host, port):
            wires = [await asyncio.open_connection(host, port) for _ in range(5)]
            for _, writer in wires:
                writer.write(b'{"id":1,"method":"list_tools","params":{"x":"' + b"x" * 250_000)
            told = await wires[0][0].readline()
            assert b'"overloaded"' in told
            await until(lambda: 250_000 < budget.held <= budget.strangers)
            for _, writer in wires:
                writer.transport.abort()
            await until(lambda: budget.held == 0)
