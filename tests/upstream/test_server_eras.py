"""Real server processes of both eras: negotiated, called, asked, cancelled and listened to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from faulty import PATIENCE, Yard, echo, yard
from scripted import turns

from doorward.core.errors import CommandFailed, Unreachable
from doorward.upstream.calls import CallHooks, QuestionAnswer, ServerQuestion

ERAS = {"handshake": "2025-11-25", "stateless": "2026-07-28", "both": "2026-07-28"}


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Yard]:
    async with yard(tmp_path) as made:
        yield made


@pytest.mark.parametrize("era", ERAS)
async def test_a_server_of_any_era_is_understood_and_everything_passes(place: Yard, era: str) -> None:
    server = place.server("--era", era, "--resources", "--progress", "3", "--log", "--large", "200000")
    await place.until(lambda: server.state == "ready")
    assert server.info.protocol == ERAS[era]
    assert server.info.instructions == "Be kind."
    assert server.info.server == {"name": "fault", "version": "1"}
    assert [server.resources, server.resource_templates] == [
        ({"uri": "test://one", "name": "one"},),
        ({"uriTemplate": "test://{which}", "name": "any"},),
    ]
    assert [prompt["name"] for prompt in server.prompts] == ["greet"]
    steps: list[Any] = []
    hooks = CallHooks(
        progress=lambda fraction, words: steps.append((fraction, words)),
        log=lambda level, line: steps.append((level, line)),
    )
    result = await server.call("echo", {"text": "hi"}, hooks, PATIENCE)
    assert result.content == [{"type": "text", "text": "x" * 200_000}]
    assert [words for _, words in steps] == ["step 1", "step 2", "step 3", "mind the gap"]
    assert [fraction for fraction, _ in steps[:3]] == pytest.approx([1 / 3, 2 / 3, 1.0])
    assert (await server.read("test://two"))["contents"][0]["text"] == "text of test://two"
    assert (await server.prompt("greet", {"who": "you"}))["messages"][0]["content"]["text"] == "hello you"
    completed = await server.complete({"type": "ref/prompt", "name": "greet"}, {"name": "who", "value": "y"})
    assert completed["completion"]["values"] == ["y!"]
    assert server.confinement
    stats = server.stats()
    assert stats.processes >= 1
    assert stats.memory_bytes > 1_000_000
    assert stats.faults == 0


@pytest.mark.parametrize("version", ["2025-06-18", "2025-03-26", "2024-11-05"])
async def test_older_versions_are_spoken_too(place: Yard, version: str) -> None:
    server = place.server("--version", version)
    assert await echo(server) == "hello"
    assert server.info.protocol == version


async def test_one_that_only_knows_versions_nobody_speaks_is_told_so(place: Yard) -> None:
    with pytest.raises(Unreachable, match="requests protocol version '1999-01-01'"):
        await echo(place.server("--version", "1999-01-01"))


async def test_one_that_dies_of_the_newer_era_is_greeted_at_its_next_start(place: Yard) -> None:
    server = place.server("--dies-of-discover")
    await place.until(lambda: server.state == "waiting")
    assert await echo(server) == "hello"
    assert server.stats().starts == 2


@pytest.mark.parametrize("era", ["handshake", "stateless"])
@pytest.mark.parametrize("kind", ["form", "url"])
async def test_what_a_server_asks_reaches_whoever_called_and_the_answer_goes_back(
    place: Yard, era: str, kind: str
) -> None:
    wanted: list[ServerQuestion] = []

    async def person(asked: ServerQuestion) -> QuestionAnswer:
        wanted.append(asked)
        return QuestionAnswer(action="accept", content={"name": "x"})

    server = place.server("--era", era, "--ask", kind, "--ask-twice-as-long")
    result = await server.call("echo", {}, CallHooks(ask=person), PATIENCE)
    answer = json.loads(result.content[0]["text"])
    state = {"state": "s"} if era == "stateless" else {}
    assert answer == {"action": "accept", **({"content": {"name": "x"}} if kind == "form" else {}), **state}
    assert [(one.server, one.kind) for one in wanted] == [("faulty", kind)]
    assert wanted[0].params["url" if kind == "url" else "requestedSchema"]


async def test_roots_are_never_given(place: Yard) -> None:
    older = await place.server("--ask", "roots").call("echo", {}, None, PATIENCE)
    assert "-32601" in older.content[0]["text"]
    newer = place.server("--ask", "roots", "--era", "stateless", id="newer")
    with pytest.raises(CommandFailed, match="roots/list: this client answers only"):
        await newer.call("echo", {}, None, PATIENCE)


async def test_a_newer_server_that_is_never_content_costs_one_error(place: Yard) -> None:
    server = place.server("--ask", "form", "--era", "stateless", "--ask-forever")
    with pytest.raises(CommandFailed, match="asked for input 10 times without a result"):
        await server.call("echo", {}, None, PATIENCE)


@pytest.mark.parametrize("era", ["handshake", "stateless"])
async def test_a_server_that_says_that_its_tools_changed_is_asked_again(place: Yard, era: str) -> None:
    folder = place.home / "servers" / "faulty"
    folder.mkdir(parents=True)
    names = folder / "tools"
    names.write_text("echo")
    server = place.server("--era", era, "--tools-from", str(names), "--change")
    await place.until(lambda: server.state == "ready")
    names.write_text("echo another")
    await echo(server)
    await place.until(lambda: len(server.definitions) == 2)
    assert [one.name for one in server.definitions] == ["echo", "another"]


async def test_a_server_hears_that_a_call_was_cancelled(place: Yard) -> None:
    server = place.server("--report-cancelled", "--no-answer")
    await place.until(lambda: server.state == "ready")
    call = asyncio.ensure_future(echo(server))
    await turns()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    heard = json.loads((await server.read("test://cancelled"))["contents"][0]["text"])
    assert len(heard["called"]) == 1
    assert heard["cancelled"] == heard["called"]


async def test_many_calls_at_once_each_get_their_own_answer(place: Yard) -> None:
    server = place.server()
    answers = await asyncio.gather(*(echo(server, f"{number}") for number in range(500)))
    assert answers == [f"{number}" for number in range(500)]


async def test_a_server_that_does_not_read_is_no_place_for_ever_more(place: Yard) -> None:
    server = place.server("--deaf")
    await place.until(lambda: server.state == "ready")
    calls = [asyncio.ensure_future(echo(server, "x" * 1_000_000, 0.5)) for _ in range(40)]
    ends = await asyncio.gather(*calls, return_exceptions=True)
    kinds = {type(end).__name__ for end in ends}
    assert kinds == {"TimedOut", "Unreachable"}
    assert any("does not read what it is sent" in str(end) for end in ends)
