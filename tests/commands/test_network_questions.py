"""A room whose recipe says `ask`: a program that connects to a host waits until a person answers."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
from room_house import make_room, run

from doorward.config import settings
from doorward.core.events import ApprovalRequested
from doorward.core.model import Credential, Outcome, Request
from doorward.gate.executions.notices import ProgressNotice
from waiting import until
from web_host import Host, answer_names

pytestmark = pytest.mark.anyio

NAMES = {"files.example.org": "127.0.0.1", "other.example.org": "127.0.0.1", "inner.example.org": "10.1.2.3"}
LOCAL = settings.Settings(upstream=settings.UpstreamSettings(private_addresses=("127.0.0.1",)))


@pytest.fixture(autouse=True)
def names(monkeypatch: pytest.MonkeyPatch) -> None:
    answer_names(monkeypatch, NAMES)


@pytest.fixture
async def host() -> AsyncIterator[Host]:
    async with Host.opened() as found:
        yield found


class Asking:
    """A room that asks, its agent's programs, and the person who answers."""

    def __init__(self, driver: Any, host: Host) -> None:
        self.driver = driver
        self.url = f"http://files.example.org:{host.port}/"
        self.tickets: asyncio.Queue[str] = asyncio.Queue()
        self.progress: list[str] = []
        driver.house.services.events.subscribe(lambda one: self.tickets.put_nowait(one.approval), ApprovalRequested)

    def start(self, script: str, credential: Credential | None = None, session: str = "s1") -> asyncio.Task[Outcome]:
        request = Request(
            command="bash",
            credential=credential or Credential(owner=True, speak_as="helper"),
            door="test",
            room="web",
            params={"command": script},
            session=session,
        )
        return asyncio.create_task(self.driver.house.gate.handle(request, self._note))

    def _note(self, notice: Any) -> None:
        if isinstance(notice, ProgressNotice):
            self.progress.append(notice.message)

    async def ticket(self) -> str:
        return await asyncio.wait_for(self.tickets.get(), 60)

    async def show(self, ticket: str) -> dict[str, Any]:
        return (await self.driver.owner("approval/show", id=ticket)).result

    async def approve(self, ticket: str, **how: Any) -> None:
        await self.driver.owner("approval/approve", id=ticket, **how)


@pytest.fixture
async def asking(opened: Any, host: Host) -> AsyncIterator[Asking]:
    async with opened(changes=LOCAL) as driver:
        await make_room(driver, "web", "ask")
        yield Asking(driver, host)


async def test_an_approved_program_reaches_the_host_until_it_ends_and_the_next_one_asks_again(
    asking: Asking, host: Host
) -> None:
    twice = asking.start(f"curl -sS {asking.url} & curl -sS {asking.url}; wait; curl -sS {asking.url}")
    ticket = await asking.ticket()
    shown = await asking.show(ticket)
    assert shown["command"] == "network/connect"
    assert shown["params"]["host"] == "files.example.org"
    assert re.fullmatch(rf"bash: curl .* wants to reach files\.example\.org:{host.port}\.", shown["difference"])
    assert f"waits for approval to reach files.example.org:{host.port}" in asking.progress[-1]
    assert host.requests == []
    await asking.approve(ticket)
    done = await asyncio.wait_for(twice, 60)
    assert (done.status, done.result["stdout"]) == ("done", "from the host\n" * 3), done
    assert asking.tickets.empty()
    ledger = [one for one in await asking.driver.ledger() if one["command"] == "network/connect"]
    assert [one["status"] for one in ledger] == ["parked", "", "done"]
    assert "curl" in ledger[0]["params"]
    again = asking.start(f"curl -sS {asking.url}")
    assert await asking.ticket() != ticket
    again.cancel()
    await asyncio.wait([again])
