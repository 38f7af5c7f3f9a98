"""The client that doors are measured with, and the servers they are compared with."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from bench.mcp_requests import NEW, OLD, calling
from bench.serving import Served, served
from bench.volley import Shot, Volley, is_whole

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"


@pytest.fixture(scope="module")
def bare() -> Iterator[Served]:
    with served("bench.asgi_server") as server:
        yield server


def test_a_server_answers_until_whoever_started_it_is_done_and_then_ends() -> None:
    with (
        served("bench.asgi_server") as server,
        Volley(server.address, Shot((_get(b"/"),), False), 1) as volley,
    ):
        assert volley.calls(3) > 0
    assert not os.path.exists(f"/proc/{server.process}")


def test_a_module_that_does_not_come_up_is_not_waited_for() -> None:
    with pytest.raises(RuntimeError, match="it ended before it was up"), served("bench.nothing_of_the_kind"):
        pass


def test_processor_time_of_a_server_is_counted(bare: Served) -> None:
    with Volley(bare.address, calling(bare, NEW, echoed=False), 4) as volley:
        before = bare.cpu()
        volley.calls(200)
        assert bare.cpu() > before


def test_an_answer_that_does_not_fit_is_no_measure(bare: Served) -> None:
    with Volley(bare.address, calling(bare, NEW), 2) as volley, pytest.raises(RuntimeError, match="3 failed"):
        volley.calls(4)  # the same answer to all, which is right for the first


def test_for_a_while_errors_are_counted_and_the_rest_goes_on(bare: Served) -> None:
    with Volley(bare.address, calling(bare, NEW), 2) as volley:
        answers = volley.during(0.05)
    assert answers.errors == len(answers.latencies) - 1 > 0


def test_every_call_has_a_number_of_its_own_wherever_one_stands() -> None:
    server = Served(1, {"port": 1, "token": "secret"})
    new, old = calling(server, NEW), calling(server, OLD, "session")
    assert len(new.parts) == len(old.parts) == 3
    head = b"7".join(old.parts).partition(b"\r\n\r\n")[0]
    assert b"Authorization: Bearer secret\r\n" in head
    assert b"Mcp-Session-Id: session\r\n" in head


@pytest.mark.parametrize(
    ("answer", "whole"),
    [
        (HEAD, False),
        (HEAD + b"Content-Length: 2\r\n\r\n", False),
        (HEAD + b"content-length:2\r\n\r\n{", False),
        (HEAD + b"Content-Length: 2\r\n\r\n{}", True),
        (HEAD + b"transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n", False),
        (HEAD + b"transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", True),
    ],
)
def test_an_answer_is_whole_by_its_length_or_its_last_chunk(answer: bytes, whole: bool) -> None:
    assert is_whole(answer) is whole


def _get(path: bytes) -> bytes:
    return b"GET " + path + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
