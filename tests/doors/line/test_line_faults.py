"""What a line client may do wrong: every line gets an answer, and nobody can hold the door."""

from __future__ import annotations

import asyncio
import json
import random
import socket
import struct

import pytest

from json_texts import FORBIDDEN
from waiting import until

QUICK = '{"id":"ok","method":"call_tool","params":{"tool":"stage_quick","args":{"name":"after"}}}'


REQUESTS = (
    QUICK,
    '{"id":7,"method":"list_tools","params":{}}',
    '{"id":"8","method":"initialize","params":{"room":"lab"}}',
    '{"id":"9","method":"get_execution_status","params":{"execution_id":"none"}}',
    '{"id":"10","method":"cancel_execution","params":{"execution_id":"none"}}',
    '{"id":"11","method":"call_tool","params":{"tool":"stage_quick","args":{"name":"b"},"summary":true}}',
)
MALFORMED = [
    ("{", None, "not valid JSON"),
    ('{"id":"1","method":"call_tool"', None, "not valid JSON"),
    ("[]", None, "A request must be a JSON object; given []."),
    ("null", None, "A request must be a JSON object; given null."),
    ("{}", None, "`id` must be a string of 1 to 128 characters or an integer; given none."),
    ('{"id":null,"method":"list_tools"}', None, "given null."),
    ('{"id":true,"method":"list_tools"}', None, "given true."),
    ('{"id":1.5,"method":"list_tools"}', None, "given 1.5."),
    ('{"id":"","method":"list_tools"}', None, "given ''."),
    (json.dumps({"id": "x" * 200, "method": "list_tools"}), None, "a string of 1 to 128 characters"),
    ('{"id":NaN,"method":"list_tools"}', None, "NaN is not a JSON number"),
    ('{"id":1,"id":2,"method":"list_tools"}', None, "the key 'id' appears twice"),
    ('{"id":1,"method":"list_tools","params":' + "[" * 100 + "]" * 100 + "}", None, "nests too deeply"),
    ('{"id":1}', 1, "given none."),
    ('{"id":1,"method":"invalid_method","params":{}}', 1, "Unknown method; valid: initialize, list_tools"),
    ('{"id":1,"method":5}', 1, "given 5."),
    ('{"id":1,"method":"list_tools","params":[]}', 1, "`params` must be an object; given []."),
    ('{"id":1,"Method":"list_tools"}', 1, "Unknown key 'Method'. A request has id, method, params, token, room."),
    ('{"id":1,"method":"list_tools","params":{"x":1}}', 1, "Unknown parameter 'x'. list_tools takes no parameters."),
    ('{"id":1,"method":"initialize","params":{"tokn":"x"}}', 1, "Unknown parameter 'tokn'. initialize takes token"),
    ('{"id":1,"method":"call_tool","params":{}}', 1, "call_tool needs a `tool`"),
    ('{"id":1,"method":"call_tool","params":{"tool":"","args":{}}}', 1, "or a `ticket`; given an empty name."),
    ('{"id":1,"method":"call_tool","params":{"tool":5}}', 1, "`tool` must be a string; given 5."),
    ('{"id":1,"method":"call_tool","params":{"tool":"x","args":[]}}', 1, "`args` must be an object; given []."),
    ('{"id":1,"method":"call_tool","params":{"tool":"x","approved":true}}', 1, "Unknown parameter 'approved'"),
    ('{"id":1,"method":"get_execution_status","params":{}}', 1, "needs an `execution_id`"),
    ('{"id":1,"method":"cancel_execution","params":{"execution_id":[]}}', 1, "needs an `execution_id`"),
]


async def test_a_malformed_line_is_answered_and_the_next_one_is_read(line):
    async with line() as house:
        wire = await house.wire()
        await wire.asked(0, "initialize")
        for text, id, says in MALFORMED:
            wire.raw(text)
            answer = await wire.line()
            assert (answer["id"], answer["type"], answer["error"]["code"]) == (id, "error", "bad_params"), text
            assert says in answer["error"]["message"], text
            assert (answer["error"]["status"], answer["error"]["effect"]) == ("refused", "none"), text
            wire.raw(QUICK)
            assert (await wire.answer("ok"))["type"] == "response"
    assert len(house.stage.seen) == len(MALFORMED)


async def test_no_line_that_json_forbids_runs_anything(line):
    async with line() as house:
        wire = await house.wire()
        await wire.asked(0, "initialize")
        texts = [text for text in FORBIDDEN if b"\n" not in text and text.strip()]
        for text in texts:
            wire.raw(b'{"id":1,"method":"call_tool","params":{"tool":"stage_quick","args":{"name":' + text + b"}}}")
        answers = [await wire.line() for _ in texts]
    assert len(texts) > 20
    assert {(one["id"], one["type"]) for one in answers} == {(None, "error")}
    assert house.stage.seen == []


async def test_every_mangled_line_gets_exactly_one_answer(line):
    """Requests with bytes changed, left out, put in and cut off, the same ones in every run."""
    chance = random.Random(7)
    async with line() as house:
        wire = await house.wire()
        await wire.asked(0, "initialize")
        sent = []
        for _ in range(600):
            text = bytearray(chance.choice(REQUESTS).encode())
            for _ in range(chance.randint(1, 4)):
                place = chance.randrange(len(text) + 1)
                text[place : place + chance.randint(0, 3)] = chance.randbytes(chance.randint(0, 2))
            mangled = bytes(text).replace(b"\n", b" ")
            if mangled.strip():
                sent.append(mangled)
                wire.raw(mangled)
        answers = [await wire.line() for _ in sent]
        after = await wire.called("after", "stage_quick", {"name": "after"})
    assert {one["type"] for one in answers} <= {"response", "error"}
    assert "broken" not in {one.get("error", {}).get("code") for one in answers}
    assert after["type"] == "response"


@pytest.mark.parametrize(
    "first",
    [
        b"not valid json\n",
        b"POST / HTTP/1.1\r\nHost: 127.0.0.1:9000\r\nContent-Type: text/plain\r\n\r\n" + QUICK.encode() + b"\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\n" + QUICK.encode() + b"\n",
        b"\x00\x03\x00\x08\x21\x12\xa4\x42\n" + QUICK.encode() + b"\n",
        b"\xef\xbb\xbf" + QUICK.encode() + b"\n",
        b"\xff\xfe\x00",
    ],
    ids=["words", "a web page", "TLS", "STUN", "a mark", "junk without a line break"],
)
async def test_whoever_does_not_begin_with_a_request_is_told_so_and_not_read_on(line, first):
    """A page in a browser of the owner's could else send requests with the owner's voice."""
    async with line() as house:
        wire = await house.wire()
        wire.writer.write(first)
        answers = await wire.rest()
    assert len(answers) == 1
    assert answers[0]["error"]["code"] == "bad_params"
    assert ("uses TLS" in answers[0]["error"]["message"]) == first.startswith(b"\x16\x03")
    assert house.stage.seen == []


async def test_a_line_that_is_too_long_is_said_once_and_the_next_one_is_read(line):
    async with line(request_bytes=1_000) as house:
        wire = await house.wire()
        for size in (1_001, 100_000, 1_000_000):
            wire.raw('{"id":"' + "x" * size + '"}')
            answer = await wire.line()
            assert answer["error"]["message"] == "The line is too long. A request may have at most 1000 bytes."
            wire.raw(QUICK)
            assert (await wire.answer("ok"))["type"] == "response"
        exact = QUICK + " " * (1_000 - len(QUICK))
        wire.raw(exact)
        fits = await wire.answer("ok")
    assert fits["type"] == "response"


async def test_one_client_too_many_is_told_so_and_finds_room_when_another_leaves(line):
    async with line(clients=2) as house:
        inside = [await house.wire() for _ in range(2)]
        for wire in inside:
            await wire.asked(1, "initialize")
        refused = await (await house.wire()).rest()
        await inside[0].close()
        for _ in range(1_000):
            wire = await house.wire()
            wire.send(1, "initialize")
            if (await wire.line())["type"] == "response":
                break
            await wire.close()
        else:
            raise AssertionError("there was no room again")
    assert refused[0]["error"]["code"] == "overloaded"
    assert refused[0]["error"]["message"] == "All 2 client connections are in use."


async def test_a_silent_connection_is_closed_but_not_while_its_call_runs(line):
    async with line(idle_seconds=1.0) as house:
        silent, busy = await house.wire(), await house.wire()
        busy.call("1", "stage_hold", {"name": "a"}, notify="none")
        await house.stage.on("a")
        closed = await silent.rest()
        house.stage.end("a")
        answer = await busy.answer("1")
        last = await busy.rest()
    assert closed[0]["error"]["message"] == "No request for 1 s. The connection is closed."
    assert answer["type"] == "response"
    assert last[0]["error"]["code"] == "timed_out"


async def test_whoever_leaves_a_line_unfinished_is_closed(line):
    async with line(arrival_seconds=0.1) as house:
        half, long = await house.wire(), await house.wire()
        half.writer.write(b'{"id":"1","met')
        long.writer.write(b"{" + b"x" * 20_000)
        closed = await half.rest()
        too_long = await long.rest()
    assert closed[0]["error"]["message"] == "A line was incomplete after 0.1 s. The connection is closed."
    assert [one["error"]["code"] for one in too_long] == ["bad_params", "timed_out"]
    assert {(one["error"]["status"], one["error"]["effect"]) for one in closed + too_long} == {("refused", "none")}


async def test_a_client_that_never_reads_is_closed_and_its_calls_are_cancelled(line):
    async with line(arrival_seconds=0.2, unread_bytes=65_536) as house:
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        sock.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(sock, ("127.0.0.1", house.port))
        hold = b'{"id":"h","method":"call_tool","params":{"tool":"stage_hold","args":{"name":"h"}}}\n'
        large = b'{"id":%d,"method":"call_tool","params":{"tool":"stage_large","args":{"howMany":300}}}\n'
        await loop.sock_sendall(sock, hold)
        await house.stage.on("h")
        await loop.sock_sendall(sock, b"".join(large % number for number in range(300)))
        await until(lambda: not house.stage.running)
        good = await (await house.wire()).called(1, "stage_quick", {"name": "good"})
        records = await house.records("stage/hold")
        sock.close()
    assert good["type"] == "response"
    assert records[-1] == ("failed", "cancelled")


@pytest.mark.parametrize("how", ["reset", "closed"])
async def test_whoever_hangs_up_in_the_middle_of_a_call_cancels_it_and_it_is_recorded(line, how):
    async with line(quiet_seconds=0.0, progress_seconds=0.01) as house:
        wire = await house.wire()
        wire.call("1", "stage_hold", {"name": "a"})
        await house.stage.on("a")
        sock = wire.writer.get_extra_info("socket")
        if how == "reset":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        await wire.close()
        await until(lambda: not list(house.house.services.executions))
        records = await house.records("stage/hold")
    assert records == [("started", ""), ("failed", "cancelled")]


async def test_questions_about_executions_are_not_taken_without_end(line):
    async with line() as house:
        wire = await house.wire()
        for n in range(40):
            wire.send(n, "get_execution_status", {"execution_id": "none"})
        answers = [await wire.line() for _ in range(40)]
    assert {one["error"]["code"] for one in answers} == {"not_found", "overloaded"}
    assert sorted(one["id"] for one in answers) == list(range(40))
