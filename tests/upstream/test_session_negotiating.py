"""Which version is spoken with a server that is silent, slow, or of another mind."""

from __future__ import annotations

import asyncio

import pytest
from scripted import NEW, OLD, Message, Wire, opened

from doorward.core.errors import Unreachable
from doorward.upstream.connection import RequestRejected
from doorward.upstream.negotiation import ServerInfo, negotiate
from doorward.upstream.session import ServerError, Session

DISCOVERED = {"supportedVersions": [NEW], "capabilities": {}}
GREETED = {"protocolVersion": OLD, "capabilities": {}, "serverInfo": {"name": "it"}}


async def agreed(session: Session, probe: float = 5.0) -> ServerInfo:
    return await negotiate(session, "", within=5.0, sampling=False, probe=probe)


def methods(wire: Wire) -> list[str]:
    return [message["method"] for message in wire.sent]


async def test_one_that_is_silent_before_the_handshake_is_greeted_after_a_while() -> None:
    session, wire, _ = await opened()

    def reply(wire: Wire, asked: Message) -> None:
        if asked["method"] == "initialize":
            wire.answer(asked, GREETED)

    wire.reply = reply
    info = await agreed(session, 0.02)
    assert (info.era, info.protocol, wire.version) == ("handshake", OLD, OLD)
    assert methods(wire) == ["server/discover", "notifications/cancelled", "initialize", "notifications/initialized"]


async def test_one_of_the_newer_era_that_was_only_slow_is_asked_once_more() -> None:
    session, wire, _ = await opened()

    def reply(wire: Wire, asked: Message) -> None:
        if asked["method"] == "initialize":
            wire.fail(asked, -32601, "Method not found")
        elif len(wire.asked("server/discover")) == 2:
            wire.answer(asked, DISCOVERED)

    wire.reply = reply
    info = await agreed(session, 0.02)
    assert (info.era, wire.version) == ("stateless", NEW)


@pytest.mark.parametrize("supported", [[OLD], [], "all of them", None])
async def test_one_that_answers_the_first_question_and_speaks_only_older_versions_is_greeted(supported: object) -> None:
    session, wire, _ = await opened()

    def reply(wire: Wire, asked: Message) -> None:
        if asked["method"] == "initialize":
            wire.answer(asked, GREETED)
        elif "id" in asked:
            wire.answer(asked, {"supportedVersions": supported, "capabilities": {}})

    wire.reply = reply
    assert (await agreed(session)).protocol == OLD


async def test_one_that_refuses_our_version_and_names_an_older_one_is_greeted() -> None:
    session, wire, _ = await opened()

    def reply(wire: Wire, asked: Message) -> None:
        if asked["method"] == "initialize":
            wire.answer(asked, GREETED)
        elif "id" in asked:
            wire.fail(asked, -32022, "Unsupported protocol version", {"supported": [OLD], "requested": NEW})

    wire.reply = reply
    assert (await agreed(session)).protocol == OLD


async def test_a_request_that_the_transport_calls_rejected_means_the_older_era_and_another_failure_does_not() -> None:
    for error, greeted in ((RequestRejected("400"), True), (Unreachable("connection refused"), False)):
        session, wire, _ = await opened()

        def reply(wire: Wire, asked: Message, error: Unreachable = error) -> None:
            if asked["method"] == "initialize":
                wire.answer(asked, GREETED)
            elif "id" in asked:
                wire.receiver.unanswered(asked["id"], error)

        wire.reply = reply
        (end,) = await asyncio.gather(agreed(session), return_exceptions=True)
        assert isinstance(end, ServerInfo) is greeted
        assert ("initialize" in methods(wire)) is greeted


async def test_an_error_of_both_eras_is_told_as_it_is() -> None:
    session, wire, _ = await opened()
    wire.reply = lambda wire, asked: wire.fail(asked, -32603, "I am not well")
    with pytest.raises(ServerError, match="I am not well"):
        await agreed(session)
