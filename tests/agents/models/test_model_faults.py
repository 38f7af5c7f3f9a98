"""What a provider can do wrong, and what the room is told of it. Every fault runs on both wires."""

from __future__ import annotations

import asyncio
import gzip
import ssl
from collections.abc import AsyncIterator

import pytest
import trustme
from raw_provider import (
    KEY,
    PATIENCE,
    STREAM,
    Line,
    RawProvider,
    answers,
    asked,
    begin,
    call,
    end,
    raw_provider,
    said,
    status,
    words,
)

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["openai", "anthropic"])
async def raw(request: pytest.FixtureRequest) -> AsyncIterator[RawProvider]:
    async with raw_provider(request.param) as provider:
        yield provider


async def test_an_answer_comes_in_pieces_with_its_cost(raw: RawProvider) -> None:
    raw.script = answers("Hi ", "there.")
    answer = await asked(raw.models(), "raw:m")
    assert (answer.text, answer.failed) == ("Hi there.", None)
    assert answer.spent is not None
    assert (answer.spent.input_tokens, answer.spent.output_tokens) == (400, 7)


async def test_a_provider_that_is_not_there_is_down(raw: RawProvider) -> None:
    models = raw.models()
    raw.port = 0
    async with raw_provider(raw.kind) as gone:
        models = gone.models()
    answer = await asked(models, "raw:m")
    assert answer.failed is not None
    assert answer.failed.fault == "down"
    assert answer.failed.message == "The provider of raw:m cannot be reached: nothing answers at its address."


async def test_a_certificate_that_nobody_vouches_for_is_not_trusted() -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(tls)
    async with raw_provider("openai", tls) as raw:
        answer = await asked(raw.models(), "raw:m")
        assert raw.heard == []
    assert answer.failed is not None
    assert answer.failed.fault == "not_allowed"
    assert "does not trust the certificate" in answer.failed.message


async def test_a_provider_that_never_begins_is_slow(raw: RawProvider) -> None:
    raw.script = Line.hung_up
    answer = await asked(raw.models(first_seconds=0.05), "raw:m")
    assert answer.failed is not None
    assert answer.failed.fault == "slow"
    assert "did not begin to answer within 0.05 seconds (the setting models.providers." in answer.failed.message


async def test_a_provider_that_falls_silent_is_slow_and_what_came_is_kept(raw: RawProvider) -> None:
    async def script(line: Line) -> None:
        await line.send(STREAM, begin(line.kind), words(line.kind, "Well"))
        await line.hung_up()

    raw.script = script
    answer = await asked(raw.models(piece_seconds=0.05), "raw:m")
    assert answer.failed is not None
    assert (answer.failed.fault, answer.text) == ("slow", "Well")
    assert "sent nothing for" in answer.failed.message
    async with asyncio.timeout(PATIENCE):
        await raw.left.wait()


async def test_an_answer_that_goes_on_and_on_is_ended_as_a_whole(raw: RawProvider) -> None:
    async def script(line: Line) -> None:
        more = words(line.kind, "and on ") * 50
        await line.send(STREAM, begin(line.kind))
        while await line.send(more):
            pass

    raw.script = script
    answer = await asked(raw.models(answer_seconds=0.2, most_bytes=1_000_000_000), "raw:m")
    assert answer.failed is not None
    assert answer.failed.fault == "slow"
    assert "did not finish its answer within 0.2 seconds" in answer.failed.message


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        (400, "bad_answer"),
        (401, "not_allowed"),
        (403, "not_allowed"),
        (404, "unknown"),
        (413, "bad_answer"),
        (429, "rate_limited"),
        (500, "down"),
        (502, "down"),
        (503, "down"),
        (529, "rate_limited"),
    ],
)
async def test_each_status_has_its_fault_and_secrets_stay_out(raw: RawProvider, code: int, fault: str) -> None:
    raw.script = status(
        code, {"type": "error", "error": {"message": f"no \u202e{KEY} " + "x" * 5_000, "type": "oddity"}}
    )
    answer = await asked(raw.models(), "raw:m")
    assert answer.failed is not None
    assert answer.failed.fault == fault
    assert "127.0.0.1" not in answer.failed.message
    assert "\u202e" not in answer.failed.message
    assert len(answer.failed.message) < 400
    assert len(raw.heard) == 1, "nothing is tried twice here"


async def test_a_model_that_was_asked_too_often_is_left_alone_and_its_sisters_are_not(raw: RawProvider) -> None:
    time = [1_000.0]
    models = raw.models(now=lambda: time[0])
    busy = {"error": {"message": "slow down", "type": "rate_limit_error"}}
    for nonsense in ("-5", "inf", "nan", "soon", "1e999"):
        raw.script = status(429, busy, retry_after=nonsense)
        answer = await asked(models, "raw:m")
        assert answer.failed is not None
        assert (answer.failed.fault, answer.failed.retry_after) == ("rate_limited", None)
    raw.heard.clear()
    raw.script = status(429, busy, retry_after="7")
    first = await asked(models, "raw:m")
    time[0] += 4
    raw.script = answers("Back.")
    again = await asked(models, "raw:m")
    assert first.failed is not None
    assert again.failed is not None
    assert (first.failed.fault, first.failed.retry_after) == ("rate_limited", 7)
    assert 'is rate limiting requests; try again in 7 seconds; it says: "slow down".' in first.failed.message
    assert (again.failed.fault, again.failed.retry_after) == ("rate_limited", 3)
    assert again.failed.message.endswith("is rate limiting requests; try again in 3 seconds.")
    assert len(raw.heard) == 1
    assert "Rate limited: 'raw:m' for 3 seconds" in models.providers()[1]["problem"]
    assert (await asked(models, "raw:another")).text == "Back."
    time[0] += 3
    assert (await asked(models, "raw:m")).text == "Back."
    raw.script = status(429, busy, retry_after="86400")
    await asked(models, "raw:m")
    raw.script = answers("Back.")
    time[0] += 60
    assert (await asked(models, "raw:m")).text == "Back."


async def test_an_answer_of_a_thousand_calls_is_ended_before_they_are_collected(raw: RawProvider) -> None:
    kind = raw.kind
    calls = [call(kind, number, f"c{number}", "data_list", "{}") for number in range(1_000)]
    raw.script = said(STREAM, begin(kind), words(kind, "So "), *calls, end(kind, called=True))
    answer = await asked(raw.models(), "raw:m")
    assert answer.failed is not None
    assert (answer.failed.fault, answer.text, answer.calls) == ("cut", "So ", [])
    assert "more than 100 calls" in answer.failed.message


@pytest.mark.parametrize("whole", [True, False], ids=["ends", "breaks"])
async def test_a_stream_without_its_end_was_cut_and_half_a_call_is_none(raw: RawProvider, whole: bool) -> None:
    kind = raw.kind
    body = begin(kind) + words(kind, "So ") + call(kind, 0, "a", "data_list", '{"collection": "ro')
    if whole:
        raw.script = said(STREAM, body)
    else:
        head = STREAM.replace(b"connection: close", b"transfer-encoding: chunked")
        raw.script = said(head, f"{len(body):x}\r\n".encode(), body, b"\r\n40\r\ndata: ")
    answer = await asked(raw.models(), "raw:m")
    assert answer.failed is not None
    assert answer.failed.fault == "cut"
    assert (answer.text, answer.calls) == ("So ", [])


async def test_a_connection_that_is_closed_without_a_word_was_cut(raw: RawProvider) -> None:
    raw.script = said(b"")
    answer = await asked(raw.models(), "raw:m")
    assert answer.failed is not None
    assert answer.failed.fault == "cut"


async def test_a_redirect_is_never_followed(raw: RawProvider) -> None:
    async with raw_provider(raw.kind) as elsewhere:
        raw.script = status(307, {}, location=f"{elsewhere.url}/chat/completions")
        answer = await asked(raw.models(), "raw:m")
        assert elsewhere.heard == []
    assert answer.failed is not None
    assert answer.failed.fault == "not_allowed"
    assert "redirect" in answer.failed.message


@pytest.mark.parametrize("type", ["application/json", "text/html", "", "text/\u00e9vent"])
async def test_an_answer_that_is_no_stream_is_not_read(raw: RawProvider, type: str) -> None:
    raw.script = said(
        b"HTTP/1.1 200 OK\r\ncontent-type: " + type.encode("latin-1") + b"\r\nconnection: close\r\n\r\n<html>hi</html>"
    )
    answer = await asked(raw.models(), "raw:m")
    assert answer.failed is not None
    assert answer.failed.fault == "bad_answer"
    assert "instead of a stream of events" in answer.failed.message


async def test_a_compressed_answer_is_not_read(raw: RawProvider) -> None:
    packed = gzip.compress(begin(raw.kind) + words(raw.kind, "x" * 1_000_000) + end(raw.kind))
    raw.script = said(STREAM.replace(b"connection", b"content-encoding: gzip\r\nconnection"), packed)
    answer = await asked(raw.models(), "raw:m")
    assert answer.failed is not None
    assert answer.failed.fault == "bad_answer"
    assert raw.heard[0].headers["accept-encoding"] == "identity"
