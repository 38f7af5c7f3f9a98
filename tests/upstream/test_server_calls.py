"""Calls to a server that is not there yet, not there any more, or does not answer; and what is counted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from scripted import Scripted, tool, turns
from watched import Watched

from doorward.core.errors import CommandFailed, TimedOut, Unreachable
from doorward.upstream.config import ServerConfig
from doorward.upstream.server import ServerClient

Make = Callable[..., Watched]


@pytest.fixture
async def watched(clock: Any) -> AsyncIterator[Make]:
    made: list[Watched] = []

    def make(*tools: dict[str, Any], modern: bool = False) -> Watched:
        made.append(Watched(Scripted(*(tools or (tool("a"),)), modern=modern), clock))
        return made[-1]

    yield make
    for one in made:
        await one.server.stop()
        assert all(wire.closed for wire in one.script.wires)


async def test_after_five_failures_calls_fail_at_once_and_one_attempt_decides(watched: Make) -> None:
    it = watched()
    it.script.refuses = Unreachable("No way in.")
    it.server.start()
    await turns(20)
    for state in ("waiting", "waiting", "waiting", "waiting", "broken"):
        assert it.server.state == state
        if state == "waiting":
            await it.timers.ring()
    with pytest.raises(Unreachable, match=r"No way in\. The next attempt is in 8 seconds\.") as caught:
        await it.call()
    assert caught.value.retry_after == 8.0
    it.script.refuses = None
    await it.timers.ring()
    assert await it.call() == "a"
    assert (it.server.state, it.server.problem) == ("ready", "")


async def test_whoever_calls_while_it_starts_waits_for_it_and_hears_why_it_does_not(
    watched: Make,
) -> None:
    it = watched()
    it.script.mute = {"initialize"}
    it.server.start()
    early = asyncio.ensure_future(it.call())
    await turns(20)
    assert not early.done()
    it.wire.receiver.lost(Unreachable("It fell on its way."))
    with pytest.raises(Unreachable, match=r"It fell on its way\. The next attempt is in"):
        await early
    it.script.mute = set()
    late = asyncio.ensure_future(it.call())
    await turns()
    assert not late.done()
    await it.timers.ring()
    assert await late == "a"


async def test_a_caller_does_not_wait_for_a_start_longer_than_its_time(watched: Make) -> None:
    it = watched()
    it.script.mute = {"initialize"}
    it.server.start()
    with pytest.raises(TimedOut, match=r"did not become ready within 0\.02 seconds"):
        await it.call(0.02)


async def test_a_session_that_is_over_is_replaced_at_once_and_its_call_is_made_again(
    watched: Make,
) -> None:
    it = watched()
    await it.ready()
    it.script.mute = {"tools/call"}
    calling = asyncio.ensure_future(it.call())
    await turns()
    it.script.mute = set()
    gone = Unreachable("The session is over.")
    it.wire.receiver.unanswered(it.wire.asked("tools/call")[0]["id"], gone, again=True)
    it.wire.receiver.lost(gone, again=True)
    assert await calling == "a"
    assert len(it.script.wires) == 2
    assert it.timers.waits == [30.0]  # no wait but that for the next ping


async def test_calls_that_are_never_answered_open_the_breaker_and_one_answer_closes_it(
    watched: Make,
) -> None:
    it = watched()
    await it.ready()
    it.script.mute = {"tools/call"}
    for _ in range(5):
        with pytest.raises(TimedOut):
            await it.call(0.001)
    sent = len(it.wire.asked("tools/call"))
    with pytest.raises(Unreachable, match="did not answer its last calls; the next attempt is in 30 seconds") as caught:
        await it.call()
    assert caught.value.retry_after == 30.0
    assert len(it.wire.asked("tools/call")) == sent
    it.clock.advance(31)
    trying = asyncio.ensure_future(it.call())
    await turns()
    with pytest.raises(Unreachable, match="next attempt is in 1 second"):
        await it.call()
    it.wire.answer(it.wire.asked("tools/call")[-1], {"content": [{"type": "text", "text": "back"}]})
    assert await trying == "back"
    it.script.mute = set()
    assert await it.call() == "a"


async def test_a_caller_who_gives_up_decides_nothing_about_the_server(watched: Make) -> None:
    it = watched()
    await it.ready()
    it.script.mute = {"tools/call"}
    for _ in range(5):
        with pytest.raises(TimedOut):
            await it.call(0.001)
    it.clock.advance(31)
    trying = asyncio.ensure_future(it.call())
    await turns()
    trying.cancel()
    await asyncio.wait([trying])
    it.script.mute = set()
    assert await it.call() == "a"


async def test_a_disabled_or_stopped_server_says_so(watched: Make, clock: Any) -> None:
    it = watched()
    disabled = ServerClient(
        ServerConfig(id="off", name="off", enabled=False), it.script.connect, clock, lambda _: None, timer=it.timers
    )
    disabled.start()
    assert disabled.state == "disabled"
    with pytest.raises(Unreachable, match="The server off is disabled"):
        await disabled.call("a", {}, None, 1.0)
    assert it.server.state == "stopped"
    with pytest.raises(Unreachable, match="The server it is not running"):
        await it.call()
    await it.ready()
    await it.server.stop()
    await it.server.stop()
    assert it.server.state == "stopped"
    await it.ready()
    assert await it.call() == "a"


@pytest.mark.parametrize(
    ("result", "says"),
    [
        ({"content": "text"}, "without a list of `content`"),
        ({"content": None}, "without a list of `content`"),
        ({"content": ["text"]}, "entry 0 must be an object with a `type`; given 'text'"),
        (
            {"content": [{"type": "text", "text": "x"}, {"text": "x"}]},
            "entry 1 must be .* given an object with 'text'",
        ),
    ],
)
async def test_an_answer_without_content_is_no_answer(watched: Make, result: dict[str, Any], says: str) -> None:
    it = watched()
    await it.ready()
    it.script.mute = {"tools/call"}
    calling = asyncio.ensure_future(it.call())
    await turns()
    it.wire.answer(it.wire.asked("tools/call")[0], result)
    with pytest.raises(Unreachable, match=says):
        await calling


async def test_what_is_counted(watched: Make) -> None:
    it = watched()
    server = await it.ready()
    await it.call()
    it.script.mute = {"tools/call"}
    with pytest.raises(TimedOut):
        await it.call(0.001)
    failing = asyncio.ensure_future(it.call())
    await turns()
    it.wire.fail(it.wire.asked("tools/call")[-1], -32602, "Unknown tool")
    with pytest.raises(CommandFailed, match="Unknown tool"):
        await failing
    it.wire.receiver.received(b"what?")
    stats = server.stats()
    assert (stats.calls, stats.failures, stats.timeouts, stats.faults, stats.restarts) == (3, 1, 1, 1, 0)
    assert stats.p50_ms is not None
    assert "did not answer" in stats.last_error
    assert stats.up_since is not None


async def test_subscriptions_are_made_again_after_a_new_start(watched: Make) -> None:
    it = watched()
    it.script.capabilities = {"tools": {}, "resources": {"subscribe": True}}
    it.script.mute = {"resources/list", "resources/templates/list"}
    server = it.server
    told: list[str] = []
    leave = server.on_update(told.append)
    server.start()
    await turns(20)
    for method in ("resources/list", "resources/templates/list"):
        it.wire.answer(it.wire.asked(method)[0], {"resources": [], "resourceTemplates": []})
        await turns(20)
    await server.subscribe(frozenset({"a://b", "a://c"}))
    await server.subscribe(frozenset({"a://b"}))
    assert [one["params"]["uri"] for one in it.wire.asked("resources/subscribe")] == ["a://b", "a://c"]
    assert [one["params"]["uri"] for one in it.wire.asked("resources/unsubscribe")] == ["a://c"]
    it.wire.say({"method": "notifications/resources/updated", "params": {"uri": "a://b"}})
    leave()
    it.wire.say({"method": "notifications/resources/updated", "params": {"uri": "a://b"}})
    assert told == ["a://b"]
    it.wire.receiver.lost(Unreachable("It fell."))
    await turns(20)
    await it.timers.ring()
    for method in ("resources/list", "resources/templates/list"):
        it.wire.answer(it.wire.asked(method)[0], {"resources": [], "resourceTemplates": []})
        await turns(20)
    assert [one["params"]["uri"] for one in it.wire.asked("resources/subscribe")] == ["a://b"]
    assert server.state == "ready"


async def test_a_server_that_answers_neither_calls_nor_a_ping_is_started_anew_and_trusted_again(watched: Make) -> None:
    it = watched()
    await it.ready()
    it.script.mute = {"tools/call", "ping"}
    for _ in range(5):
        with pytest.raises(TimedOut):
            await it.call(0.001)
    await turns()
    first = it.wire
    first.receiver.unanswered(first.asked("ping")[0]["id"], TimedOut("No answer."))
    await turns(20)
    assert it.server.problem == "The server it answers neither calls nor pings."
    it.script.mute = set()
    await it.timers.ring()
    assert await it.call() == "a"
    assert it.wire is not first
