"""Places at the line door when all are taken, and that the last words of a connection arrive."""

from __future__ import annotations

import asyncio
import random
import socket

import pytest

from waiting import PATIENCE

QUICK = b'{"id":"1","method":"call_tool","params":{"tool":"stage_quick","args":{"name":"a"}}}\n'

HELD = (
    b"",
    b'{"id":1,"meth',
    b'{"id":1,"method":"list_tools","params":{}}\n',
    b'{"id":1,"method":"initialize","params":{"token":"nonsense"}}\n',
)
"""What strangers send before they wait."""


async def test_whoever_has_been_silent_longest_gives_way_to_a_newcomer(line):
    async with line(clients=2, give_way_seconds=0.05) as house:
        first, second = await house.wire(), await house.wire()
        await first.called(1, "stage_quick", {"name": "a"})
        await second.called(1, "stage_quick", {"name": "b"})
        newcomer = await _taken_in(house)
        told = await first.rest()
        still = await second.called(2, "stage_quick", {"name": "c"})
        also = await newcomer.called(2, "stage_quick", {"name": "d"})
    assert [one["error"]["code"] for one in told] == ["overloaded"]
    assert told[0]["error"]["message"].startswith("No request for ")
    assert told[0]["error"]["message"].endswith(" s, and another client needs the place. The connection is closed.")
    assert still["type"] == also["type"] == "response"


@pytest.mark.parametrize("seed", range(2))
async def test_strangers_who_hold_connections_do_not_shut_out_authenticated_clients(line, seed):
    chance = random.Random(seed)
    async with line(open=False, clients=10, idle_seconds=PATIENCE, arrival_seconds=PATIENCE) as house:
        token = await house.driver.token("ann")
        first = await house.wire()
        assert (await first.asked(1, "initialize", {"token": token}))["type"] == "response"
        for _ in range(10):
            for _ in range(chance.randint(1, 12)):
                (await house.wire()).writer.write(chance.choice(HELD))
            known = await house.wire()
            assert (await known.asked(1, "initialize", {"token": token}))["type"] == "response", "it gets a place"
            await known.close()
        assert (await first.asked(2, "list_tools"))["type"] == "response", "it has kept its place"


async def test_nobody_whose_call_runs_or_who_just_spoke_gives_way(line):
    async with line(clients=2, give_way_seconds=600.0) as house:
        busy, fresh = await house.wire(), await house.wire()
        busy.call(1, "stage_hold", {"name": "a"}, notify="none")
        await house.stage.on("a")
        await fresh.asked(1, "initialize")
        refused = await (await house.wire()).rest()
    async with line(clients=1, give_way_seconds=0.001, again=True) as house:
        busy = await house.wire()
        busy.call(1, "stage_hold", {"name": "a"}, notify="none")
        await house.stage.on("a")
        also_refused = [await (await house.wire()).rest() for _ in range(3)]
        house.stage.end("a")
        answer = await busy.answer(1)
    assert [one["error"]["message"] for one in refused] == ["All 2 client connections are in use."]
    assert [len(one) for one in also_refused] == [1, 1, 1]
    assert answer["type"] == "response"


@pytest.mark.parametrize("sent", [b"", QUICK, QUICK * 100], ids=["nothing", "a request", "many requests"])
async def test_whoever_is_refused_hears_why_whatever_it_sent_meanwhile(line, sent):
    """Closing with something unread resets a connection, and the reset overtakes what was said."""
    async with line(clients=1) as house:
        inside = await house.wire()
        await inside.asked(1, "initialize")
        heard = await asyncio.gather(*[asyncio.to_thread(_refused, house.port, sent) for _ in range(8)])
    assert [text.count(b'"code":"overloaded"') for text in heard] == [1] * 8
    assert house.stage.seen == []


async def test_whoever_is_closed_in_the_middle_of_sending_hears_why(line):
    async with line(idle_seconds=0.2) as house:
        late = await asyncio.to_thread(_late, house.port)
        web = await asyncio.to_thread(_refused, house.port, b"POST / HTTP/1.1\r\n\r\n" + QUICK * 1_000)
    assert late.count(b'"code":"timed_out"') == 1
    assert web.count(b'"code":"bad_params"') == 1


async def test_whoever_is_told_to_go_and_goes_on_sending_is_not_listened_to_for_ever(line):
    async with line(clients=1) as house:
        await (await house.wire()).asked(1, "initialize")
        ended = await asyncio.to_thread(_sends_on, house.port)
    assert ended


async def test_a_place_is_free_again_as_soon_as_its_client_was_told_to_go(line):
    async with line(clients=1, idle_seconds=1.0) as house:
        stays = await house.wire()
        await stays.asked(1, "initialize")
        closed = await stays.line()
        answer = await (await house.wire()).asked(1, "initialize")
    assert closed["error"]["code"] == "timed_out"
    assert answer["type"] == "response"


async def _taken_in(house):
    """Somebody who comes until there is room."""
    while True:
        wire = await house.wire()
        wire.send("i", "initialize")
        if (await wire.line())["type"] == "response":
            return wire
        await wire.close()


def _refused(port: int, sent: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), 30) as sock:
        try:
            sock.sendall(sent)
        except (BrokenPipeError, ConnectionResetError):
            raise AssertionError("the connection was reset") from None
        return _heard(sock)


def _late(port: int) -> bytes:
    """A client that asks just when it is closed for its silence."""
    with socket.create_connection(("127.0.0.1", port), 30) as sock:
        first = sock.recv(1_000)
        sock.sendall(QUICK)
        return first + _heard(sock)


def _heard(sock: socket.socket) -> bytes:
    pieces = []
    while piece := sock.recv(65_536):
        pieces.append(piece)
    return b"".join(pieces)


def _sends_on(port: int) -> bool:
    with socket.create_connection(("127.0.0.1", port), 30) as sock:
        for _ in range(10_000):
            try:
                sock.sendall(b"x" * 65_536)
            except (BrokenPipeError, ConnectionResetError):
                return True
    return False
