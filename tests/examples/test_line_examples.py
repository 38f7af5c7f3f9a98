"""The examples for the line door, run against a real house (R8.2)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import runpy
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from doorward.config.settings import LineSettings, Settings
from doorward.core.events import ApprovalRequested, Event
from doorward.doors.line.door import open_line_door as door_opened
from waiting import PATIENCE

EXAMPLES = Path(__file__).parents[2] / "examples"
DAY = 86_400


@pytest.fixture
def examples(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """The names of both files; the agent imports the client, as it does when it is run as a script."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    yield runpy.run_path(str(EXAMPLES / "agent.py"))
    sys.modules.pop("line_client", None)


class Place:
    def __init__(self, driver: Any, port: int) -> None:
        self.driver = driver
        self.port = port
        self.workspace = driver.house.home.path / "workspace"

    async def script(self, name: str, *words: str) -> tuple[int, str, str]:
        """Run one of the files as people do."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(EXAMPLES / name),
            "--port",
            str(self.port),
            *words,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await asyncio.wait_for(process.communicate(), PATIENCE)
        return process.returncode or 0, out.decode(), err.decode()


@pytest.fixture
def place(opened: Callable[..., Any]) -> Callable[[], contextlib.AbstractAsyncContextManager[Place]]:
    """A house as it ships, with a few files in its workspace and its line door open on any port."""

    @contextlib.asynccontextmanager
    async def open_place() -> AsyncIterator[Place]:
        async with (
            opened(changes=Settings(line=LineSettings(port=0, calls=1_000))) as driver,
            door_opened(driver.house.gate, driver.house.services) as (_, port),
        ):
            made = Place(driver, port)
            (made.workspace / "src").mkdir(parents=True)
            (made.workspace / "tmp").mkdir()
            (made.workspace / "src" / "door.py").write_text("print('open')\n")
            (made.workspace / "notes.txt").write_text("one\n")
            for name, age in (("old.log", 40), ("new.log", 1)):
                file = made.workspace / "tmp" / name
                file.write_text("x")
                then = time.time() - age * DAY
                os.utime(file, (then, then))
            yield made

    return open_place


def requests(examples: dict[str, Any], port: int, *asked: str, wait: float = 0.0) -> tuple[list[str], list[str]]:
    """The answers of the agent to requests, and everything it said on the way."""
    said: list[str] = []
    with examples["LineClient"]("127.0.0.1", port) as client:
        agent = examples["Agent"](client, said.append, wait)
        return [agent.do(one) for one in asked], said


async def test_the_client_shows_every_operation(place):
    async with place() as house:
        code, out, err = await house.script("line_client.py")
    assert (code, err) == (0, "")
    assert "Connected to Doorward" in out
    assert "pwd gives /workspace" in out
    assert "echo gives test; rm -rf /" in out
    assert "ls and wc: 3 entries in the workspace" in out
    assert "[tool_started] sleep has started." in out
    assert "[tool_completed] sleep completed" in out
    assert "find . -name '*.txt' -type f" in out
    assert "which gives: ./notes.txt" in out
    assert "ls: bad_params:" in out
    assert "sudo: unknown_command:" in out
    assert "bash: approval_needed: bash is waiting for approval." in out


async def test_the_agent_answers_questions_by_choosing_tools(place, examples):
    async with place() as house:
        answers, said = await asyncio.to_thread(
            requests,
            examples,
            house.port,
            "Find all Python files and show their sizes",
            "What's in my home directory?",
            "What's the current time?",
            "Find all text files in current directory",
        )
    sizes, listing, now, texts = answers
    steps = [line.split(",")[0] for line in said if line.startswith("Step")]
    assert steps == ["Step 1: find", "Step 2: stat", "Step 1: ls", "Step 1: date", "Step 1: find"]
    assert sizes == "14 src/door.py"
    assert "notes.txt" in listing
    assert str(time.gmtime().tm_year) in now
    assert texts == "./notes.txt"


async def test_the_agent_deletes_only_what_a_person_agreed_to(place, examples):
    requested: asyncio.Queue[ApprovalRequested] = asyncio.Queue()

    def note(event: Event) -> None:
        if isinstance(event, ApprovalRequested):
            requested.put_nowait(event)

    async with place() as house:
        house.driver.house.services.events.subscribe(note)
        asking = asyncio.create_task(
            asyncio.to_thread(requests, examples, house.port, "Delete files older than 30 days in tmp", wait=60.0)
        )
        question = await asyncio.wait_for(requested.get(), PATIENCE)
        kept = (house.workspace / "tmp" / "old.log").exists()
        await house.driver.owner("approval/approve", id=question.approval)
        _, said = await asking
        left = sorted(path.name for path in (house.workspace / "tmp").iterdir())
    told = "\n".join(said)
    assert kept
    assert left == ["new.log"]
    assert "rm changes things, and a person decides" in told
    assert f"`doorward approvals approve {question.approval}` says yes" in told
    assert "A person agreed." in told


async def test_without_an_approval_the_agent_changes_nothing_and_says_so(place):
    async with place() as house:
        code, out, err = await house.script("agent.py", "Delete files older than 30 days in tmp")
        left = sorted(path.name for path in (house.workspace / "tmp").iterdir())
    assert (code, err) == (1, "")
    assert "Nobody has decided yet, so nothing was changed." in out
    assert left == ["new.log", "old.log"]


async def test_the_agent_does_not_take_a_folder_in_the_workspace_for_one_outside(place):
    async with place() as house:
        code, out, err = await house.script("agent.py", "Delete files older than 30 days in /tmp")
        left = sorted(path.name for path in (house.workspace / "tmp").iterdir())
    assert (code, err) == (1, "")
    assert "The workspace is all that I may touch, and /tmp is not in it." in out
    assert "Step 2" not in out
    assert left == ["new.log", "old.log"]


async def test_the_agent_says_that_it_knows_no_tool_instead_of_running_one_that_does_not_fit(place, examples):
    asked = ("tell me a joke", "sing a song for my mother", "who is the president of France")
    async with place() as house:
        answers, said = await asyncio.to_thread(requests, examples, house.port, *asked)
    assert answers == [f"I know no tool for this: {one}" for one in asked]
    assert not [line for line in said if "suggests" in line]


async def test_without_words_the_agent_says_what_to_give(place):
    async with place() as house:
        code, _, err = await house.script("agent.py", " ")
    assert code == 2
    assert 'give a request in words, such as "What\'s in my home directory?"; nothing was given' in err


async def test_what_the_agent_has_no_plan_for_it_asks_doorward_about(place, examples):
    async with place() as house:
        answers, said = await asyncio.to_thread(requests, examples, house.port, "count the lines of notes.txt")
    assert any(
        line.startswith("I have no plan for this; Doorward suggests: file_read --path=notes.txt") for line in said
    )
    assert answers


async def test_both_examples_say_when_nobody_listens(place):
    async with place() as house:
        gone = house
    client, agent = await gone.script("line_client.py"), await gone.script("agent.py", "What's the time?")
    assert (client[0], agent[0]) == (1, 1)
    assert "Start: USHELL_MCP_ENABLED=1 doorward up" in client[2]
    assert "Traceback" not in client[2] + agent[2]


async def test_the_client_says_when_something_else_listens(examples):
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(b"HTTP/1.1 400 Bad Request\r\n")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(ConnectionError, match=r"This is no line door; it answered b'HTTP"):
            await asyncio.to_thread(examples["LineClient"], "127.0.0.1", port)
