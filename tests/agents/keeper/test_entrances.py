"""The same words get the same work and the same figures at every entrance (R10.1)."""

from __future__ import annotations

import asyncio
import json
import queue
import re
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from typing import Any

import pytest
from entrances import HALL, Doors, Told, open_doors

from doorward.agents.models.model import AnswerPiece, Prompt, TextPiece
from doorward.cli.shell_transport import ShellTransport
from doorward.core.events import CommandExecuted, Event
from doorward.gate.executions.notices import Notice, StepNotice
from keeper_house import Kept, run
from waiting import PATIENCE

ASKED = {
    "how many rooms do we have": "2",
    "count users by access level": "root",
    "show me the schema for the orders table": "amount",
    "find all python files and show their sizes": "main.py",
    "what records have changed in the last day": "orders",
}
"""What is asked, and a word that the right answer has."""
ORDERS = {"type": "object", "properties": {"amount": {"type": "number"}, "status": {"type": "string"}}}


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doors]:
    with open_doors(tmp_path_factory.mktemp("entrances") / "home") as made:
        made.owner("recipe/put", id="hall", text=json.dumps(HALL))
        made.owner("room/create", name="hall", recipe="hall")
        homer = {"personaId": "homer", "displayName": "Homer", "rooms": ["hall", "general"], "model": "house"}
        made.owner("persona/put", id="homer", text=json.dumps(homer))
        made.owner("user/create", id="anna", access="edit")
        made.owner("collection/define", name="orders", schema=ORDERS)
        for number, status in enumerate(("open", "paid", "paid")):
            made.owner("data/create", collection="orders", data={"amount": 10.5 * number, "status": status})
        made.owner("file/write", path="src/main.py", content="print('hello')\n" * 7)
        made.owner("file/write", path="tests/test_main.py", content="assert True\n")
        yield made


@pytest.fixture
def keeper(doors: Doors) -> Iterator[Kept]:
    """The keeper thinks with a script meanwhile, and asks it twice at most."""
    services = doors.house.services
    before, desk = services.settings, services.keeper
    keeper = Kept(doors.house)
    keeper.limits(turns=2)
    yield keeper
    services.settings, services.keeper = before, desk


def figures(text: str) -> list[str]:
    return re.findall(r"\d+(?:[.,:]\d+)*", text)


def same(words: str) -> str:
    return " ".join(words.split())


@pytest.mark.parametrize("words", ASKED)
def test_every_entrance_makes_the_same_calls_and_gives_the_same_figures(
    doors: Doors, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ways: dict[str, Callable[[], Told]] = {
        "REST": lambda: doors.rest(words),
        "REST as events": lambda: doors.events(words),
        "REST as lines": lambda: doors.lines(words),
        "MCP": lambda: doors.mcp(words),
        "terminal": lambda: doors.terminal(words),
        "shell": lambda: doors.shell(words, capsys),
        "persona": lambda: doors.persona(words),
    }
    got: dict[str, Told] = {}
    recorded: dict[str, Any] = {}
    for name, ask in ways.items():
        at = doors.place()
        got[name] = ask()
        recorded[name] = doors.recorded(at)
    first = got["REST"]
    assert first.calls
    assert ASKED[words] in first.text
    assert recorded == dict.fromkeys(ways, recorded["REST"])
    shown = {name: told.calls for name, told in got.items() if told.calls is not None}
    outermost = [one for one in recorded["REST"] if one in first.calls]
    assert shown == dict.fromkeys(shown, outermost)
    assert {name: same(got[name].text) for name in shown} == dict.fromkeys(shown, same(first.text))
    assert same(first.text) in same(got["shell"].text)
    assert figures(got["persona"].text) == figures(first.text)


def test_a_keeper_that_comes_to_no_end_says_so_at_every_door(doors: Doors, keeper: Kept) -> None:
    circles = [run("data/list", collection="rooms")]
    keeper.says(again=circles)
    with doors.http() as client:
        rest = client.post("/api/agent/ai", json={"prompt": "go round"}).json()
    keeper.says(again=circles)
    mcp = doors.mcp_result("go round")
    keeper.says(again=circles)
    typed = doors.typed("ai", "--json", "go round")
    keeper.says(again=circles)
    words = doors.typed("ai", "go round")
    for answer in (rest, mcp.structured_content, json.loads(typed.stdout)):
        assert (answer["success"], answer["ended"], len(answer["toolCalls"])) == (False, "turn_limit", 2)
        assert "asked its model 2 times, the limit" in answer["error"]
    assert mcp.is_error
    assert (typed.exit_code, words.exit_code) == (1, 1)
    assert "asked its model 2 times, the limit" in same(words.stdout + words.stderr)


class Waiting:
    """A model that says nothing until it is let, and knows when nobody waits for it any more."""

    def __init__(self) -> None:
        self.begun, self.over = threading.Event(), threading.Event()

    async def __call__(self, prompt: Prompt) -> AsyncGenerator[AnswerPiece, None]:
        self._loop, self._let = asyncio.get_running_loop(), asyncio.Event()
        self.begun.set()
        try:
            await self._let.wait()
            yield TextPiece("Now you know.")
        finally:
            self.over.set()

    def let(self) -> None:
        assert self.begun.wait(PATIENCE)
        self._loop.call_soon_threadsafe(self._let.set)


def test_over_mcp_what_happens_is_told_before_the_next_thing_happens(doors: Doors, keeper: Kept) -> None:
    model = Waiting()
    keeper.says(model)
    heard: list[str] = []

    def told(message: str) -> None:
        heard.append(message)
        if "Thinking with scripted" in message:
            model.let()

    assert doors.mcp_result("tell me at once", told).structured_content["response"] == "Now you know."
    assert any("Thinking with scripted" in one for one in heard)


def test_at_the_terminal_what_happens_is_told_before_the_next_thing_happens(doors: Doors, keeper: Kept) -> None:
    model = Waiting()
    keeper.says(model)

    def told(notice: Notice) -> None:
        if isinstance(notice, StepNotice) and notice.kind == "thinking":
            model.let()

    way = ShellTransport(doors.house.home, lambda: None, "")
    outcome = asyncio.run(way.run_watched("agent/ask", {"prompt": "tell me at once"}, told))
    assert outcome.result["response"] == "Now you know."


async def left(doors: Doors, keeper: Kept, asking: Awaitable[Any]) -> str:
    """How the request is recorded that somebody makes so, and leaves while the keeper's model is thinking."""
    model = Waiting()
    keeper.says(model)
    recorded: queue.Queue[str] = queue.Queue()

    def heard(event: Event) -> None:
        if isinstance(event, CommandExecuted) and event.command == "agent/ask":
            recorded.put(event.code)

    deaf = doors.house.services.events.subscribe(heard, CommandExecuted)
    task = asyncio.ensure_future(asking)
    assert await asyncio.to_thread(model.begun.wait, PATIENCE)
    task.cancel()
    await asyncio.wait([task])
    assert await asyncio.to_thread(model.over.wait, PATIENCE)
    code = await asyncio.to_thread(recorded.get, timeout=PATIENCE)
    deaf()
    return code


def test_whoever_leaves_the_terminal_stops_the_keeper(doors: Doors, keeper: Kept) -> None:
    async def leave() -> str:
        way = ShellTransport(doors.house.home, lambda: None, "")
        return await left(doors, keeper, way.run_watched("agent/ask", {"prompt": "take your time"}, lambda _: None))

    assert asyncio.run(leave()) == "cancelled"


def test_whoever_leaves_mcp_stops_the_keeper(doors: Doors, keeper: Kept) -> None:
    async def leave() -> str:
        return await left(doors, keeper, doors.mcp_asked("take your time"))

    assert asyncio.run(leave()) == "cancelled"
