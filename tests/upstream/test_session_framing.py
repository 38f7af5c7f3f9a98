"""A server's output is cut into lines in the same way however it arrives, and nothing that it sends is a crash."""

from __future__ import annotations

import itertools
import random
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted import calling, opened, turns
from scripted_web import Asked, Reply, scripted

from doorward.core.errors import Unreachable
from doorward.core.wire.lines import LineFramer, LineTooLong
from doorward.upstream.http_client import HttpClient
from doorward.upstream.outbound import OutboundPolicy
from mutation import mutate, mutate_line


@given(st.lists(st.binary(max_size=20).map(lambda line: line.replace(b"\n", b"")), max_size=8), st.data())
def test_however_it_is_cut_the_lines_are_the_same(lines: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(line + b"\n" for line in lines) + b"rest"
    cuts = sorted(data.draw(st.sets(st.integers(0, len(whole)), max_size=10)) | {0, len(whole)})
    framing = LineFramer(100)
    found = [line for start, end in itertools.pairwise(cuts) for line in framing.feed(whole[start:end])]
    assert found == lines
    assert framing.take_rest() == b"rest"


@pytest.mark.parametrize(
    "pieces", [[b"x" * 11 + b"\n"], [b"x" * 6, b"x" * 5], [b"x" * 6, b"x" * 5 + b"\n"], [b"a\n" + b"x" * 11]]
)
def test_a_line_over_the_limit_ends_it_as_soon_as_it_is_seen(pieces: list[bytes]) -> None:
    framing = LineFramer(10)
    *before, last = pieces
    for piece in before:
        framing.feed(piece)
    with pytest.raises(LineTooLong):
        framing.feed(last)


def test_a_line_of_exactly_the_limit_is_a_line() -> None:
    framing = LineFramer(10)
    assert framing.feed(b"x" * 10 + b"\n") == [b"x" * 10]
    assert framing.feed(b"x" * 5) == []
    assert framing.feed(b"x" * 5 + b"\n") == [b"x" * 10]


def test_an_endless_line_is_never_kept() -> None:
    framing, piece = LineFramer(1_000_000), b"x" * 65_536

    def endlessly() -> None:
        while True:
            framing.feed(bytes(bytearray(piece)))

    tracemalloc.start()
    try:
        with pytest.raises(LineTooLong):
            endlessly()
        assert tracemalloc.get_traced_memory()[1] < 4_000_000
    finally:
        tracemalloc.stop()


async def test_a_session_survives_mutated_messages_of_its_server() -> None:
    chance = random.Random(3)
    valid = [
        b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"x":"caf\xc3\xa9"}}',
        b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1.5}}',
        b'{"jsonrpc":"2.0","id":"q","method":"roots/list","params":{}}',
    ]
    for _ in range(50):
        session, wire, _ = await opened()
        for _ in range(10):
            wire.receiver.received(mutate_line(chance, chance.choice(valid)), None)
        task = calling(session)
        await turns()
        wire.answer(wire.asked("tools/call")[0], {"content": "fine"})
        assert (await task)["content"] == "fine"
        await session.close()


async def test_a_mutated_response_of_a_server_is_an_answer_or_unreachable() -> None:
    chance = random.Random(4)
    body = b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}'
    valid = [
        b"HTTP/1.1 400 Bad\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    ]
    good = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine"
    replies = [mutate(chance, chance.choice(valid)) for _ in range(60)]
    refused = 0

    async def reply_next(asked: Asked, reply: Reply) -> None:
        await reply.raw(replies.pop() if replies else good)
        reply.closes = True

    async with scripted(reply_next) as server:
        web = HttpClient(OutboundPolicy(("127.0.0.0/8",)), server.root)
        for _ in range(len(replies)):
            try:
                await (await web.request("POST", f"{server.root}/mcp", {}, b"{}")).read_all(10_000)
            except Unreachable:
                refused += 1
        replies.clear()
        assert await (await web.request("POST", f"{server.root}/mcp", {}, b"{}")).read_all(10_000) == b"fine"
        web.close()
    assert refused
