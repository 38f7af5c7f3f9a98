"""What broken and hostile clients do to a connection: they are ended, and everybody else is served."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from doorward.config.settings import ServerSettings as Limits
from doorward.doors.http.request_cycle import authenticate_sender, send_complete_response
from doorward.doors.http.server import raise_file_limit
from listening import Client, Listening, bare, get, listening, post
from waiting import until

SHORT = Limits(head_seconds=1, body_seconds=1, idle_seconds=1, unread_seconds=1)


class Echo:
    """Answers with the method, the path, the fields it sees in the end and how many bytes came; remembers who came.

    `/early` answers before it reads, `/endless` never stops, `/waits` waits for its client to leave. Every other
    answer leaves in one piece, where the connection allows that.
    """

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.left: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        path = scope["path"]
        self.seen.append(path)
        try:
            await getattr(self, path.strip("/"), self._echo)(scope, receive, send)
        finally:
            self.left.append(path)

    async def _echo(self, scope: Any, receive: Any, send: Any) -> None:
        size, message = 0, {"more_body": True}
        while message.get("more_body"):
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            size += len(message["body"])
        names = b" ".join(name for name, _ in scope["headers"])
        await self._answer(send, f"{scope['method']} {scope['path']} {size} ".encode() + names)

    async def early(self, scope: Any, receive: Any, send: Any) -> None:
        await self._answer(send, b"enough")

    async def endless(self, scope: Any, receive: Any, send: Any) -> None:
        leaving = asyncio.ensure_future(self._gone(receive))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while not leaving.done():
            await send({"type": "http.response.body", "body": b"x" * 65_536, "more_body": True})
            await asyncio.sleep(0)

    async def waits(self, scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"begun", "more_body": True})
        await self._gone(receive)

    async def known(self, scope: Any, receive: Any, send: Any) -> None:
        authenticate_sender(scope, "somebody")
        await self._answer(send, b"known")

    async def silent(self, scope: Any, receive: Any, send: Any) -> None:
        await self._gone(receive)

    async def _gone(self, receive: Any) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    async def _answer(self, send: Any, body: bytes) -> None:
        if len(self.seen) % 2 and send_complete_response(send, 200, b"", body):
            return
        headers = [(b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})


@contextlib.asynccontextmanager
async def serving(tmp_path: Path, limits: Limits = SHORT) -> AsyncIterator[tuple[Listening, Echo]]:
    echo = Echo()
    async with listening(bare(echo, limits), tmp_path / "socket") as here:
        yield here, echo


async def test_two_thousand_slow_clients_are_all_ended_while_a_good_one_is_answered(tmp_path: Path) -> None:
    assert raise_file_limit(4_096)[0] == 4_096
    limits = Limits(head_seconds=2)
    heads = (b"", b"GET /", b"GET /slow HTTP/1.1\r\nHost: local", b"POST /slow HTTP/1.1\r\nHost: localhost\r\nX: ")

    async def drip(client: Client, head: bytes) -> bytes:
        await client.send(head)
        reading = asyncio.ensure_future(client.rest())
        while head and not (await asyncio.wait([reading], timeout=0.5))[0]:
            await client.send(b"x")
        return await reading

    async def behave(here: Listening, ended: asyncio.Event) -> int:
        client, answers = await here.connect(), 0
        while not ended.is_set():
            await client.send(get("/good"))
            assert (await client.answer()).body.startswith(b"GET /good 0 ")
            answers += 1
        return answers

    async with serving(tmp_path, limits) as (here, echo):
        clients = [await here.connect() for _ in range(2_000)]
        ended = asyncio.Event()
        good = asyncio.create_task(behave(here, ended))
        told = await asyncio.gather(*(drip(client, heads[n % len(heads)]) for n, client in enumerate(clients)))
        ended.set()
        assert await good > 0
        assert {text.partition(b"\r\n")[0] for text in told} == {b"HTTP/1.1 408 Request Timeout"}
        assert all(b"The request head was incomplete after 2 s." in text for text in told)
        assert "/slow" not in echo.seen


async def test_a_flood_of_ended_connections_is_one_line_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        async with serving(tmp_path) as (here, _):
            clients = [await here.connect() for _ in range(50)]
            for client in clients:
                await client.send(b"NOT HTTP\r\n\r\n")
            assert all([(await client.answer()).status == 400 for client in clients])
            await until(lambda: "not_http" in caplog.text)
    assert sum(int(line.partition("closed connections: ")[2].split()[0]) for line in caplog.text.splitlines()) == 50
    assert len(caplog.records) < 5


async def test_an_idle_connection_ends_and_one_that_starts_a_request_gets_time_for_it(tmp_path: Path) -> None:
    async with serving(tmp_path) as (here, _):
        idle, slow, busy = [await here.connect() for _ in range(3)]
        for client in (idle, slow):
            await client.send(get("/first"))
            assert (await client.answer()).status == 200
        await slow.send(b"GET /second HTTP/1.1\r\n")
        await busy.send(get("/waits"))
        assert await idle.rest() == b""
        assert (await slow.rest()).startswith(b"HTTP/1.1 408")
        busy.writer.write(b"")
        assert not busy.reader.at_eof(), "a client that waits for its answer is not idle"


async def test_a_body_that_does_not_come_is_refused_and_one_that_was_answered_early_is_left(tmp_path: Path) -> None:
    async with serving(tmp_path) as (here, echo):
        slow, early = await here.connect(), await here.connect()
        await slow.send(b"POST /slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nhalf")
        await early.send(b"POST /early HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nhalf")
        assert (await early.answer()).body == b"enough"
        assert await early.rest() == b""
        refused = await slow.answer()
        assert (refused.status, refused.json["code"]) == (408, "too_slow")
        assert refused.json["detail"] == "The body was incomplete after 1 s; got 4 bytes."
        assert await slow.rest() == b""
        await until(lambda: sorted(echo.left) == ["/early", "/slow"])


async def test_a_short_rest_of_what_was_answered_early_is_read_past_and_the_next_request_is_answered(
    tmp_path: Path,
) -> None:
    head = b"POST /early HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\nhalf"
    body = b"POST /body HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nhi"
    async with serving(tmp_path) as (here, _):
        short, long, polite = await here.connect(), await here.connect(), await here.connect()
        await short.send(head % 10)
        assert (await short.answer()).body == b"enough"
        await short.send(b"GET / " + body)
        assert (await short.answer()).body.startswith(b"POST /body 2 ")
        await long.send(head % 1_000_000)
        assert (await long.answer()).body == b"enough"
        await polite.send((head % 10).replace(b"\r\n\r\nhalf", b"\r\nExpect: 100-continue\r\n\r\n"))
        assert (await polite.answer()).body == b"enough"
        for one in (long, polite):
            await one.send(body)
            assert await one.rest() == b"", "nobody can tell what belongs to which request"


@pytest.mark.parametrize(
    "head",
    [
        b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 70_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 70_000,
        b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"x" * 70_000,
        b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 101 + b"\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 100_000,
        b"POST /body HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: " + b"x" * 100_000,
        b"POST /body HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1;" + b"x" * 100_000,
    ],
    ids=["target", "field", "endless field", "endless name", "many fields", "endless fields", "trailer", "chunk"],
)
async def test_a_head_that_is_too_large_is_refused(head: bytes, tmp_path: Path) -> None:
    async with serving(tmp_path) as (here, echo):
        answer = await here.ask(head)
        assert (answer.status, answer.json["code"]) == (431, "head_too_large")
        assert "at most 100 header fields and 65536 bytes" in answer.json["detail"]
        later = await here.connect()
        await later.send(get("/first"))
        assert (await later.answer()).status == 200
        await later.send(head)
        assert (await later.answer()).status == 431
        assert set(echo.seen) <= {"/first", "/body"}
        await until(lambda: len(echo.left) == len(echo.seen))


async def test_a_gigabyte_is_refused_before_it_comes(tmp_path: Path) -> None:
    head = b"POST /big HTTP/1.1\r\nHost: localhost\r\n"
    async with serving(tmp_path) as (here, echo):
        stated = await here.ask(head + b"Expect: 100-continue\r\nContent-Length: 1073741824\r\n\r\n")
        assert (stated.status, stated.json["code"]) == (413, "too_large")
        assert echo.seen == []
        client = await here.connect()
        await client.send(head + b"Transfer-Encoding: chunked\r\n\r\n")
        reading = asyncio.ensure_future(client.answer())
        chunk, sent = b"100000\r\n" + b"x" * 0x100000 + b"\r\n", 0
        while sent < 1_024 and not client.writer.transport.is_closing():
            await client.send(chunk)
            sent += 1
        assert sent < 512, "it was cut off long before its end"
        assert (await reading).status == 413
        await until(lambda: echo.left == ["/big"])


async def test_a_client_that_never_reads_is_cut_off_and_its_work_ends(tmp_path: Path) -> None:
    async with serving(tmp_path) as (here, echo):
        deaf, asks = await here.connect(takes=4_096), await here.connect(takes=4_096)
        for client in (deaf, asks):
            client.writer.transport.pause_reading()
        await deaf.send(get("/endless"))
        sending = asyncio.ensure_future(_ask_without_end(asks))
        await until(lambda: "/endless" in echo.left)
        await sending
        assert (await here.ask(get("/good"))).status == 200


async def _ask_without_end(client: Client) -> None:
    """Whole requests with small answers, none of which is read."""
    while not client.writer.transport.is_closing():
        await client.send(get("/" + "x" * 2_000) * 100)
        await asyncio.sleep(0)


async def test_more_connections_than_there_may_be_are_told_so_and_closed(tmp_path: Path) -> None:
    limits = Limits(connections=10)
    async with serving(tmp_path, limits) as (here, _):
        taken = []
        for _ in range(10):
            taken.append(client := await here.connect())
            await client.send(get("/known"))
            assert (await client.answer()).status == 200
        for _ in range(20):
            more = await here.connect()
            refused = await more.answer()
            assert (refused.status, refused.json["code"]) == (503, "too_many_connections")
            assert "retry-after: 5" in refused.head
            assert await more.rest() == b""
        private = await here.connect_private()
        await private.send(get("/owner"))
        assert (await private.answer()).status == 200, "the owner's socket is not full because the public one is"
        taken[0].hang_up()

        async def free() -> bool:
            client = await here.connect()
            await client.send(get("/good"))
            return (await client.answer()).status == 200

        await until(free)


async def test_requests_behind_one_another_are_answered_in_order_and_end_when_the_client_leaves(tmp_path: Path) -> None:
    async with serving(tmp_path) as (here, echo):
        client = await here.connect()
        await client.send(b"".join(get(f"/{number}") for number in range(50)))
        for number in range(50):
            assert (await client.answer()).body.startswith(f"GET /{number} ".encode())
        await client.send(get("/silent") + get("/never") * 5)
        await until(lambda: "/silent" in echo.seen)
        client.hang_up()
        await until(lambda: "/silent" in echo.left)
        assert "/never" not in echo.seen


async def test_requests_behind_one_that_lasts_are_left_in_the_kernel_and_answered_when_it_is_their_turn(
    tmp_path: Path,
) -> None:
    def waiting() -> int:
        return sum(isinstance(one, RequestResponseCycle) and not one.response_complete for one in gc.get_objects())

    async with serving(tmp_path, Limits(unread_seconds=5)) as (here, echo):
        flood, patient = await here.connect(), await here.connect()
        sending = asyncio.ensure_future(flood.send(get("/silent") + get("/x") * 20_000))
        await patient.send(get("/y") * 500)
        for _ in range(500):
            assert (await patient.answer()).body.startswith(b"GET /y ")
        assert 1 < waiting() < 1_000
        assert "/x" not in echo.seen
        flood.hang_up()
        await sending
        await until(lambda: "/silent" in echo.left)


async def test_a_broken_request_spoils_no_answer_before_it(tmp_path: Path) -> None:
    broken_body = b"POST /broken HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"
    for broken in (b"BROKEN\r\n\r\n", broken_body):
        async with serving(tmp_path) as (here, echo):
            client = await here.connect()
            await client.send(get("/1") + get("/2") + broken)
            assert (await client.answer()).body.startswith(b"GET /1 ")
            assert (await client.answer()).body.startswith(b"GET /2 ")
            assert await client.rest() == b""
            assert echo.seen == ["/1", "/2"]


async def test_fields_behind_the_body_do_not_pass_for_fields_of_the_head(tmp_path: Path) -> None:
    async with serving(tmp_path) as (here, _):
        answer = await here.ask(
            b"POST /x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"2\r\nhi\r\n0\r\nAuthorization: Bearer x\r\nHost: evil.example\r\n\r\n"
        )
        assert answer.body == b"POST /x 2 host transfer-encoding"


async def test_an_upgrade_is_not_taken_and_what_follows_it_is_not_read(tmp_path: Path) -> None:
    async with serving(tmp_path) as (here, echo):
        client = await here.connect()
        await client.send(get("/x", "Connection: Upgrade", "Upgrade: h2c") + get("/hidden"))
        answer = await client.answer()
        assert (answer.status, await client.rest()) == (200, b"")
        assert "connection: close" in answer.head
        assert echo.seen == ["/x"]


async def test_the_end_does_not_wait_for_streams(tmp_path: Path) -> None:
    async with serving(tmp_path, Limits(unread_seconds=5)) as (here, echo):
        stream = await here.connect()
        await stream.send(get("/waits"))
        await until(lambda: "/waits" in echo.seen)
        here.stopping.set()
        got = await stream.rest()
        assert b"begun" in got
        assert not got.endswith(b"0\r\n\r\n"), "a stream that was cut off does not look whole"
        await until(lambda: "/waits" in echo.left)


async def test_a_body_as_large_as_it_may_be_is_taken(tmp_path: Path) -> None:
    async with serving(tmp_path, Limits(largest_body=2_000)) as (here, _):
        assert (await here.ask(post("/x", "x" * 1_998))).body.startswith(b"POST /x 2000 ")
        assert (await here.ask(post("/x", "x" * 1_999))).status == 413


@pytest.mark.parametrize(
    "ask",
    [get("/x").replace(b"1.1", b"1.0"), get("/x", "Connection: close")],
    ids=["an older client", "one that says so"],
)
async def test_the_connection_of_whoever_wants_one_answer_ends_with_it(ask: bytes, tmp_path: Path) -> None:
    async with serving(tmp_path) as (here, _):
        for _ in range(2):
            client = await here.connect()
            await client.send(ask)
            answer = await client.answer()
            assert answer.body.startswith(b"GET /x ")
            assert await client.rest() == b""


async def test_whoever_asks_for_the_head_alone_gets_no_body(tmp_path: Path) -> None:
    async with serving(tmp_path) as (here, _):
        client = await here.connect()
        await client.send(b"HEAD /a HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2 + get("/b", "Connection: close"))
        heads, _, rest = (await client.rest()).partition(b"GET /b")
        assert heads.count(b"HTTP/1.1 200") == 3
        assert b"HEAD /a" not in heads
        assert rest
