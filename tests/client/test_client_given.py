"""What a program gives the client that cannot be meant, and addresses at which there is no Doorward."""

from __future__ import annotations

import contextlib
import json
import math
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from played import Played, reply, run

from doorward.client import Client
from doorward.core.errors import BadParams, Conflict, Unreachable


@pytest.fixture(scope="module")
def client() -> Client:
    return Client("http://127.0.0.1:9", token="its-token", room="general")


def refusal(flow: Any) -> str:
    """The sentence with which something is refused before anything is sent."""
    played = Played(flow)
    assert isinstance(played.error, BadParams)
    return played.error.message


HOLDS_ITSELF: list[Any] = []
HOLDS_ITSELF.append(HOLDS_ITSELF)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (math.nan, "given: nan"),
        (math.inf, "given: inf"),
        (-math.inf, "given: -inf"),
        ([1.0, math.nan], "given at [1]: nan"),
        ({"a": {"b": (0.5, -math.inf)}}, "given at a.b[1]: -inf"),
        (object(), "type object"),
        ("\ud800", "surrogates"),
        ({(1, 2): 3}, "keys"),
        (HOLDS_ITSELF, "contains itself"),
    ],
    ids=[
        "nan",
        "inf",
        "minus inf",
        "in a list",
        "in an object",
        "an object",
        "half a pair",
        "a pair as key",
        "a circle",
    ],
)
@pytest.mark.parametrize("how", ["named", "params", "stream", "dry_run"])
def test_a_parameter_without_a_form_in_json_is_refused_by_name(client: Client, value: Any, said: str, how: str) -> None:
    ways: dict[str, Callable[[], Any]] = {
        "named": lambda: run(client, size=value),
        "params": lambda: run(client, params={"size": value}),
        "stream": lambda: Client.stream.flow(client, "shell/ls", size=value),
        "dry_run": lambda: Client.dry_run.flow(client, "shell/ls", size=value),
    }
    told = refusal(ways[how]())
    assert "shell/ls: the parameter 'size' cannot be written as JSON" in told
    assert said in told
    assert ".." not in told


def test_other_bodies_are_as_strict(client: Client) -> None:
    assert "'days'" in refusal(Client.create_token.flow(client, "short", days=math.nan))
    assert "'strategy'" in refusal(Client.put_recipe.flow(client, "mine", {"strategy": {"x": math.inf}}))


def test_numbers_that_json_has_are_sent_as_they_are(client: Client) -> None:
    given = {"whole": 3, "part": 0.25, "none": None, "many": (1, 2.5)}
    played = Played(run(client, params=given), reply(200, {"status": "done", "code": "ok"}))
    assert json.loads(played.sent[0].body or b"")["params"] == {**given, "many": [1, 2.5]}


@pytest.mark.parametrize("given", [None, 7, b"shell/ls", ["shell/ls"]])
def test_a_name_that_is_no_text_is_refused_in_our_words(client: Client, given: Any) -> None:
    flows = [
        Client.run.flow(client, given),
        Client.stream.flow(client, given),
        Client.dry_run.flow(client, given),
        Client.explain.flow(client, given),
        Client.describe.flow(client, given),
        Client.resume.flow(client, given),
        Client.approve.flow(client, given),
        Client.run.flow(client, "shell/ls", room=given) if given is not None else Client.room.flow(client, given),
    ]
    for flow in flows:
        told = refusal(flow)
        assert "must be a string, such as" in told
        assert "$." not in told
        assert (repr(given) if given is None or given == 7 else type(given).__name__) in told


def test_a_client_that_is_closed_says_so(flavour: Any) -> None:
    closed = flavour.make("http://127.0.0.1:9", token="t")
    closed.close()
    for ask in (lambda: closed.run("shell/ls"), lambda: list(closed.stream("shell/ls")), closed.me):
        with pytest.raises(Conflict, match=r"client of http://127\.0\.0\.1:9 is closed") as refused:
            ask()
        assert "new client" in refused.value.hint
    with pytest.raises(Conflict, match="is closed"):
        next(closed.events())
    closed.close()


@contextlib.contextmanager
def speaker(answer: bytes) -> Iterator[str]:
    """The address of something that answers whatever comes with these bytes, and hangs up."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                peer, _ = listening.accept()
                with peer:
                    peer.recv(65_536)
                    peer.sendall(answer)
                    peer.shutdown(socket.SHUT_WR)
                    while peer.recv(65_536):  # what is not read would make the hang-up a reset, and lose the answer
                        pass

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()
        listening.close()


@pytest.mark.parametrize("answer", [b"", b'{"error": "no JSON"}\n', b"SSH-2.0-x\r\n", b"\x15\x03\x01\x00\x02\x02F"])
def test_something_that_speaks_no_http_is_said_to_be_no_doorward(flavour: Any, answer: bytes) -> None:
    with (
        speaker(answer) as url,
        flavour.make(url, token="t", retries=0) as client,
        pytest.raises(Unreachable) as refused,
    ):
        client.run("shell/ls")
    assert f"The server at {url} did not answer with HTTP" in refused.value.message
    assert ".." not in refused.value.message
    assert "doorward up" in refused.value.hint
    assert "line door" in refused.value.hint


def test_an_answer_that_breaks_off_is_no_stranger(flavour: Any) -> None:
    with (
        speaker(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nabc") as url,
        flavour.make(url, token="t", retries=0) as client,
        pytest.raises(Unreachable, match="was lost before the response arrived"),
    ):
        client.run("shell/ls")
