"""Streams over REST: a command as it runs, an execution that is followed, events; and clients that leave."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from rest_server import Running, running

import talker
from doorward.config.settings import RestSettings, Settings
from talking import Stage, stage

SSE = {"Accept": "text/event-stream"}
RECIPE = {
    "recipeId": "talking",
    "displayName": "Talking",
    "strategy": {
        "aiCommands": {
            "enabled": True,
            "whitelist": ["talk/*", "execution/*", "event/*", "room/*"],
            "maxCommandsPerMinute": 10_000,
        }
    },
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("streams") / "home", families=[talker.family]) as one:
        one.owner("recipe/put", id="talking", text=json.dumps(RECIPE))
        one.owner("room/create", name="lab", recipe="talking")
        yield one


@pytest.fixture(scope="module")
def person(server: Running) -> Iterator[httpx2.Client]:
    with server.client(server.token("laptop", kind="human", access="root")) as client:
        yield client


@pytest.fixture
def on_stage() -> Iterator[Stage]:
    with stage() as one:
        yield one


class Stream:
    """Server-sent events as they come."""

    def __init__(self, response: httpx2.Response) -> None:
        self.response = response
        self._lines = response.iter_lines()

    def next(self) -> tuple[str, Any, str]:
        """The name, the data and the id of the next event; the name is empty at the end."""
        name, data, id = "", None, ""
        for line in self._lines:
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                data = json.loads(line.removeprefix("data: "))
            elif line.startswith("id: "):
                id = line.removeprefix("id: ")
            elif not line and name:
                return name, data, id
        return "", None, ""

    def until(self, wanted: str) -> tuple[str, Any, str]:
        while (one := self.next())[0] not in (wanted, ""):
            pass
        return one

    def rest(self) -> list[tuple[str, Any, str]]:
        return list(iter(self.next, ("", None, "")))


@contextlib.contextmanager
def streamed(client: httpx2.Client, method: str, path: str, **more: Any) -> Iterator[Stream]:
    headers = {**SSE, **more.pop("headers", {})}
    with client.stream(method, path, headers=headers, **more) as response:
        yield Stream(response)


def ask(on_stage: Stage, note: str = "") -> dict[str, Any]:
    return {"command": "talk/live", "params": {"port": on_stage.port, "note": note}, "room": "lab"}


def ended(server: Running, execution: str) -> dict[str, Any]:
    """How an execution ended, once its record is there."""
    live = server.house.services.executions.get(execution)
    if live is not None:
        server.wait(live.wait_closed())
    return dict(server.owner("execution/status", execution=execution))


def test_a_command_tells_what_goes_on_and_then_its_outcome(person: httpx2.Client, on_stage: Stage) -> None:
    with streamed(person, "POST", "/api/run", json=ask(on_stage)) as stream:
        told = on_stage.talker()
        started = stream.next()
        told.tell("stdout", "hello\nworld\n")
        output = stream.next()
        told.tell("progress", 0.5, "half way")
        told.tell("end", 0)
        rest = stream.rest()
    assert stream.response.headers["content-type"].startswith("text/event-stream")
    assert stream.response.headers["cache-control"] == "no-store"
    assert started[0] == "started"
    assert output[:2] == ("output", {"type": "output", "stream": "stdout", "text": "hello\nworld\n"})
    assert [one[0] for one in rest] == ["progress", "outcome"]
    assert rest[-1][1]["outcome"]["call"] == started[1]["execution"]


def test_a_refusal_is_told_in_the_stream_too(person: httpx2.Client) -> None:
    with streamed(person, "POST", "/api/commands/no_such/run", json={}) as stream:
        ((name, data, _),) = stream.rest()
    assert (name, data["outcome"]["code"]) == ("outcome", "unknown_command")


def test_a_stream_takes_no_idempotency_key(person: httpx2.Client) -> None:
    answer = person.post("/api/run", json={"command": "room/list"}, headers={**SSE, "Idempotency-Key": "k"})
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_params")


@pytest.mark.parametrize("accept", ["text/event-stream", "application/json"])
def test_whoever_hangs_up_cancels_what_it_asked_for_and_the_record_says_so(
    server: Running, person: httpx2.Client, on_stage: Stage, accept: str
) -> None:
    url = httpx2.URL(server.url)
    body = json.dumps(ask(on_stage)).encode()
    head = (
        f"POST /api/run HTTP/1.1\r\nHost: {url.host}\r\nAuthorization: {person.headers['authorization']}\r\n"
        f"Accept: {accept}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection((url.host, url.port)) as sock:
        sock.sendall(head.encode() + body)
        told = on_stage.talker()
        (live,) = person.get("/api/executions?live=true").json()["items"]
    assert told.ended()
    assert ended(server, live["execution"])["code"] == "cancelled"


def test_whoever_hung_up_learns_by_its_key_which_call_that_was(
    server: Running, person: httpx2.Client, on_stage: Stage
) -> None:
    url, wanted = httpx2.URL(server.url), ask(on_stage)
    body = json.dumps(wanted).encode()
    head = (
        f"POST /api/run HTTP/1.1\r\nHost: {url.host}\r\nAuthorization: {person.headers['authorization']}\r\n"
        f"Idempotency-Key: left\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection((url.host, url.port)) as sock:
        sock.sendall(head.encode() + body)
        told = on_stage.talker()
        (live,) = person.get("/api/executions?live=true").json()["items"]
    assert told.ended()
    ended(server, live["execution"])
    again = {"code": "key_in_use"}
    while again["code"] == "key_in_use":
        again = person.post(
            "/api/run", content=body, headers={"Idempotency-Key": "left", "Content-Type": "application/json"}
        ).json()
    assert (again["code"], again["call"]) == ("not_kept", live["execution"])
    assert "disconnected" in again["detail"]


def test_an_execution_is_followed_from_an_offset_to_its_end_and_leaving_stops_nobody(
    server: Running, person: httpx2.Client, on_stage: Stage
) -> None:
    with streamed(person, "POST", "/api/run", json=ask(on_stage)) as asker:
        told = on_stage.talker()
        execution = asker.next()[1]["execution"]
        told.tell("stdout", "first ")
        path = f"/api/executions/{execution}/stream"
        with streamed(person, "GET", path) as leaver:
            assert leaver.next()[1]["state"] == "running"
            assert leaver.next()[1]["text"] == "first "
        with streamed(person, "GET", path, params={"offset": 3}) as follower:
            state, before = follower.next(), follower.next()
            told.tell("stderr", "second ")
            live = follower.next()
            told.tell("stdout", "third")
            told.tell("end", 0)
            rest = follower.rest()
        assert asker.rest()[-1][1]["outcome"]["status"] == "done"
    assert (state[0], state[1]["state"]) == ("state", "running")
    assert (before[1]["text"], before[2]) == ("st ", "6")
    assert (live[1], live[2]) == ({"type": "output", "stream": "stderr", "text": "second "}, "13")
    assert [(name, data.get("text"), id) for name, data, id in rest] == [("output", "third", "18"), ("end", None, "")]
    assert rest[-1][1]["state"] == "completed"
    with streamed(person, "GET", path, headers={"Last-Event-ID": "13"}) as late:
        again = late.rest()
    assert [(name, data.get("text")) for name, data, _ in again] == [
        ("state", None),
        ("output", "third"),
        ("end", None),
    ]


def test_an_execution_of_which_nothing_is_kept_has_a_state_and_an_end(server: Running, person: httpx2.Client) -> None:
    call = person.get("/api/rooms").headers["doorward-call"]
    with streamed(person, "GET", f"/api/executions/{call}/stream") as stream:
        assert [name for name, _, _ in stream.rest()] == ["state", "end"]
    missing = person.get("/api/executions/01k9x2m4q7ab3cde/stream", headers=SSE)
    plain = person.get(f"/api/executions/{call}/stream", headers={"Accept": "application/json"})
    assert (missing.status_code, missing.json()["code"]) == (404, "not_found")
    assert plain.status_code == 406


def test_events_come_as_they_happen_and_go_on_after_a_break(server: Running, person: httpx2.Client) -> None:
    only = {"only": "chat:message-received"}
    with streamed(person, "GET", "/api/events", params=only) as stream:
        ready = stream.next()
        server.owner("room/say", name="lab", text="one")
        first = stream.next()
    server.owner("room/say", name="lab", text="two")
    server.owner("room/say", name="lab", text="three")
    with streamed(person, "GET", "/api/events", params=only, headers={"Last-Event-ID": first[2]}) as stream:
        again, *missed = stream.next(), stream.next(), stream.next()
        server.owner("room/say", name="lab", text="four")
        last = stream.next()
    assert (ready[0], ready[1]["missed"]) == ("ready", False)
    assert first[0] == "chat:message-received"
    assert first[1]["data"]["room"] == "lab"
    assert again[0] == "ready"
    assert [one[0] for one in (*missed, last)] == ["chat:message-received"] * 3
    numbers = [int(one[2].rpartition("-")[2]) for one in (first, *missed, last)]
    assert numbers == sorted(set(numbers))


@pytest.mark.parametrize("last", ["1m7hhc8av3zxz0xn-3", "nonsense", "-1", "x-99999999999999999999"])
def test_a_place_that_is_not_kept_any_more_is_said_to_be_missed(person: httpx2.Client, last: str) -> None:
    with streamed(person, "GET", "/api/events", headers={"Last-Event-ID": last}) as stream:
        name, data, _ = stream.next()
    assert (name, data["missed"]) == ("ready", True)


def test_events_show_only_rooms_that_a_caller_may_see(server: Running) -> None:
    server.owner("room/create", name="attic", recipe="talking")
    with server.client(server.token("listener", rooms=["lab", "general"])) as agent:
        outside = agent.get("/api/events", headers=SSE)
        with streamed(agent, "GET", "/api/events", params={"room": "lab", "only": "chat"}) as stream:
            assert stream.next()[0] == "ready"
            server.owner("room/say", name="attic", text="not for you")
            server.owner("room/say", name="lab", text="for you")
            assert stream.next()[1]["data"]["room"] == "lab"
    assert (outside.status_code, outside.json()["rule"]) == (403, "built-in: agents act in rooms")


def test_an_agent_that_comes_back_for_events_again_and_again_is_no_loop(server: Running) -> None:
    with server.client(server.token("returning", rooms=["lab"])) as agent:
        for _ in range(6):
            with streamed(agent, "GET", "/api/events", params={"only": "chat"}) as stream:
                assert stream.next()[0] == "ready"


def test_a_stream_ends_when_its_token_is_revoked(server: Running) -> None:
    made = server.owner("token/create", name="short", kind="human", access="root")
    with (
        server.client(made["token"]) as client,
        streamed(client, "GET", "/api/events", params={"only": "chat"}) as stream,
    ):
        assert stream.next()[0] == "ready"
        server.owner("token/revoke", id=made["id"])
        server.owner("room/say", name="lab", text="anybody there?")
        rest = [(name, data.get("code")) for name, data, _ in stream.rest()]
    assert rest[-1] == ("error", "not_authenticated")


def test_streams_are_bounded_in_number(tmp_path: Path) -> None:
    with running(tmp_path / "home", changes=Settings(rest=RestSettings(event_clients=1))) as server:
        token = server.token("laptop", kind="human")
        with server.client(token) as client, server.client(token) as other:
            with streamed(client, "GET", "/api/events") as stream:
                stream.next()
                full = other.get("/api/events", headers=SSE)
            assert (full.status_code, full.json()["code"]) == (503, "overloaded")
            assert "retry-after" in full.headers
