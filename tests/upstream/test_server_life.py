"""The life of one server: negotiated, listed, pinged, listed again, and started anew when it ended."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from scripted import Scripted, tool, turns
from watched import CONFIG, Timers, Watched

from doorward.core.errors import TimedOut, Unreachable
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


async def test_an_older_server_is_asked_in_the_newer_era_first_and_then_greeted(
    watched: Make,
) -> None:
    it = watched()
    server = await it.ready()
    methods = [message["method"] for message in it.wire.sent]
    assert methods == ["server/discover", "initialize", "notifications/initialized", "tools/list"]
    assert it.wire.sent[1]["params"]["protocolVersion"] == "2025-11-25"
    assert it.wire.version == server.info.protocol == "2025-11-25"
    assert await it.call() == "a"


async def test_a_newer_server_is_never_greeted_and_is_listened_to(watched: Make) -> None:
    it = watched(modern=True)
    server = await it.ready()
    methods = [message["method"] for message in it.wire.sent]
    assert methods == ["server/discover", "tools/list", "subscriptions/listen"]
    assert it.wire.sent[2]["params"]["notifications"] == {"toolsListChanged": True}
    assert it.wire.version == server.info.protocol == "2026-07-28"


async def test_what_a_server_spoke_is_remembered_for_its_next_start(watched: Make) -> None:
    it = watched()
    await it.ready()
    it.wire.receiver.lost(Unreachable("It fell."))
    await turns(20)
    await it.timers.ring()
    assert [message["method"] for message in it.wire.sent][:1] == ["initialize"]


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ({"protocolVersion": "1999-01-01", "capabilities": {}}, "requests protocol version '1999-01-01'"),
        ({"capabilities": {}}, "requests protocol version 'None'"),
    ],
)
async def test_a_version_that_nobody_knows_is_no_basis(watched: Make, answer: dict[str, Any], sentence: str) -> None:
    it = watched()
    it.script.mute = {"initialize"}
    it.server.start()
    await turns(20)
    it.wire.answer(it.wire.asked("initialize")[0], answer)
    await turns(20)
    assert sentence in it.server.problem
    assert "valid: 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05" in it.server.problem


async def test_a_server_of_a_newer_era_still_is_told_that_there_is_nothing_in_common(
    watched: Make,
) -> None:
    it = watched(modern=True)
    it.script.mute = {"server/discover"}
    it.server.start()
    await turns(20)
    it.wire.fail(it.wire.asked("server/discover")[0], -32022, "Unsupported", {"supported": ["2031-01-01"]})
    await turns(20)
    assert "have no protocol version in common" in it.server.problem
    assert it.wire.asked("initialize") == []


async def test_an_end_is_followed_by_longer_and_longer_waits_and_a_long_life_forgets_them(
    watched: Make,
) -> None:
    it = watched()
    await it.ready()
    waits = []
    for _ in range(3):
        it.wire.receiver.lost(Unreachable("It fell."))
        await turns(20)
        assert (it.server.state, it.server.problem) == ("waiting", "It fell.")
        waits += it.timers.waits
        await it.timers.ring()
        assert it.server.state == "ready"
    it.clock.advance(3_600)
    it.wire.receiver.lost(Unreachable("It fell again."))
    await turns(20)
    assert [*waits, *it.timers.waits] == [0.5, 1.0, 2.0, 0.5]
    assert it.server.stats().restarts == 3


async def test_chance_takes_off_up_to_half_of_a_wait(clock: Any) -> None:
    script = Scripted()
    script.refuses = Unreachable("No.")
    timers = Timers(clock)
    server = ServerClient(CONFIG, script.connect, clock, lambda _: None, chance=lambda: 0.999, timer=timers)
    server.start()
    await turns(20)
    assert timers.waits == [pytest.approx(0.25, abs=0.001)]
    await server.stop()


async def test_a_server_that_throws_away_every_session_is_not_tried_without_a_pause(
    watched: Make,
) -> None:
    it = watched()
    await it.ready()
    for _ in range(2):
        it.wire.receiver.lost(Unreachable("The session is over."), again=True)
        await turns(20)
    assert it.server.state == "waiting"
    assert len(it.script.wires) == 2


async def test_an_idle_server_is_pinged_and_one_that_misses_two_pings_is_started_anew(
    watched: Make,
) -> None:
    it = watched()
    server = await it.ready()
    await it.timers.ring()
    assert it.wire.asked("ping") == []  # it has said something since the last time
    await it.timers.ring()
    assert len(it.wire.asked("ping")) == 1
    it.script.mute = {"ping"}
    first = it.wire
    await it.timers.ring()
    for _ in range(2):
        await it.timers.ring()
        for message in first.asked("ping"):
            first.receiver.unanswered(message["id"], TimedOut("No answer."))
        await turns(20)
    assert server.problem == "The server it did not answer 2 pings."
    assert first.closed == 1
    it.script.mute = set()
    await it.timers.ring()
    assert await it.call() == "a"


async def test_a_server_at_work_is_not_pinged_and_an_error_is_a_sign_of_life(watched: Make) -> None:
    it = watched()
    server = await it.ready()
    it.script.mute = {"tools/call", "ping"}
    calling = asyncio.ensure_future(it.call())
    await turns()
    for _ in range(3):
        await it.timers.ring()
    assert it.wire.asked("ping") == []
    it.wire.answer(it.wire.asked("tools/call")[0], {"content": []})
    await turns()
    with pytest.raises(IndexError):
        await calling
    for _ in range(3):
        await it.timers.ring()
        await it.timers.ring()
        it.wire.fail(it.wire.asked("ping")[-1], -32601, "no such method")
        await turns(20)
    assert server.state == "ready"
    assert len(it.wire.asked("ping")) == 3


async def test_changes_of_its_lists_become_one_new_list_and_what_did_not_change_stays(
    watched: Make,
) -> None:
    it = watched(tool("a"), tool("b"))
    server = await it.ready()
    before = server.definitions
    told = len(it.states)
    for _ in range(5):
        it.wire.say({"method": "notifications/tools/list_changed"})
    await turns()
    await it.timers.ring()
    assert len(it.wire.asked("tools/list")) == 2
    assert server.definitions is before
    assert len(it.states) == told
    it.script.tools[1] = tool("b", description="other")
    it.wire.say({"method": "notifications/tools/list_changed"})
    await turns()
    await it.timers.ring()
    assert server.definitions[0].digest == before[0].digest
    assert server.definitions[1].digest != before[1].digest
    assert it.states[told:] == ["ready"]


async def test_the_order_of_keys_does_not_change_a_definition(watched: Make) -> None:
    it = watched({"name": "a", "inputSchema": {"type": "object", "properties": {}}})
    server = await it.ready()
    before = server.definitions[0].digest
    it.script.tools = [{"inputSchema": {"properties": {}, "type": "object"}, "name": "a"}]
    it.wire.say({"method": "notifications/tools/list_changed"})
    await turns()
    await it.timers.ring()
    assert server.definitions[0].digest == before


async def test_a_list_that_fails_later_leaves_what_was_known(watched: Make) -> None:
    it = watched()
    server = await it.ready()
    it.script.mute = {"tools/list"}
    it.wire.say({"method": "notifications/tools/list_changed"})
    await turns()
    await it.timers.ring()
    it.wire.fail(it.wire.asked("tools/list")[-1], -32603, "not now")
    await turns(20)
    assert [one.name for one in server.definitions] == ["a"]
    assert server.state == "ready"
    assert "not now" in server.stats().last_error


async def test_a_stream_of_changes_that_ends_is_opened_anew_and_one_that_is_refused_is_not(
    watched: Make,
) -> None:
    it = watched(modern=True)
    await it.ready()
    it.wire.answer(it.wire.asked("subscriptions/listen")[0], {})
    await turns()
    await it.timers.ring()
    assert len(it.wire.asked("tools/list")) == 2
    assert len(it.wire.asked("subscriptions/listen")) == 2
    it.wire.fail(it.wire.asked("subscriptions/listen")[1], -32601, "no")
    await turns(20)
    assert len(it.wire.asked("subscriptions/listen")) == 2
    assert it.timers.waits == [30.0]


async def test_a_listener_that_breaks_does_not_end_the_server(clock: Any, caplog: pytest.LogCaptureFixture) -> None:
    def breaks(server: ServerClient) -> None:
        raise RuntimeError("no")

    server = ServerClient(CONFIG, Scripted(tool("a")).connect, clock, breaks)
    server.start()
    await turns(20)
    assert server.state == "ready"
    await server.stop()
    assert "raised an exception" in caplog.text
