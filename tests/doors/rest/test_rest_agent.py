"""`POST /api/agent/ai`: the keeper over HTTP, in three forms, and clients that leave."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import httpx2
import pytest
from rest_server import Running, running

from doorward.agents.models.model import AnswerPiece, Prompt, TextPiece
from doorward.client import Answer, Client, KeeperStep
from doorward.config.settings import KeeperSettings, Settings
from keeper_house import Kept, run
from waiting import PATIENCE

PATH = "/api/agent/ai"
LINES = "application/x-ndjson"
EVENTS = "text/event-stream"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    changes = Settings(keeper=KeeperSettings(model="scripted"))
    with running(tmp_path_factory.mktemp("agent") / "home", changes=changes) as one:
        yield one


@pytest.fixture(scope="module")
def keeper(server: Running) -> Kept:
    return Kept(server.house)


@pytest.fixture(scope="module")
def token(server: Running) -> str:
    return server.token("laptop", kind="human", access="root")


@pytest.fixture(scope="module")
def person(server: Running, token: str) -> Iterator[httpx2.Client]:
    with server.client(token) as client:
        yield client


def events(response: httpx2.Response) -> list[tuple[str, dict[str, Any]]]:
    found = []
    for block in response.text.split("\n\n"):
        name, _, data = block.partition("\ndata: ")
        if data:
            found.append((name.removeprefix("event: "), json.loads(data)))
    return found


def test_the_answer_has_the_form_that_other_programs_know(keeper: Kept, person: httpx2.Client) -> None:
    keeper.says([run("data/list", collection="rooms")], "There is one room.")
    response = person.post(PATH, json={"prompt": "how many rooms do we have"})
    answer = response.json()
    assert response.status_code == 200
    assert answer["success"] is True
    assert answer["response"] == "There is one room."
    assert [set(one) for one in answer["toolCalls"]] == [{"name", "input", "output", "status", "execution"}]
    assert "error" not in answer
    assert response.headers["Doorward-Call"]


def test_the_same_comes_as_events_and_as_lines(keeper: Kept, person: httpx2.Client) -> None:
    kinds = ["started", "session", "thinking", "tool_started", "tool_finished", "thinking", "text", "answer"]
    told: dict[str, list[dict[str, Any]]] = {}
    for form in (EVENTS, LINES):
        keeper.says([run("data/list", collection="rooms")], "There is one room.")
        response = person.post(PATH, json={"prompt": "how many rooms do we have"}, headers={"Accept": form})
        assert response.headers["content-type"].startswith(form)
        if form == LINES:
            told[form] = [json.loads(line) for line in response.text.splitlines() if line]
        else:
            told[form] = [data for _, data in events(response)]
            assert [name for name, _ in events(response)] == kinds
        assert [one["type"] for one in told[form]] == kinds
        assert told[form][-1]["answer"]["response"] == "There is one room."
        assert told[form][-1]["answer"]["success"] is True


def test_what_happens_is_there_before_the_next_thing_happens(keeper: Kept, person: httpx2.Client) -> None:
    heard = threading.Event()

    async def patient(prompt: Prompt) -> AsyncGenerator[AnswerPiece, None]:
        await asyncio.to_thread(heard.wait)
        yield TextPiece("Now I know that you heard.")

    keeper.says(patient)
    with person.stream("POST", PATH, json={"prompt": "tell me at once"}, headers={"Accept": LINES}) as response:
        lines = response.iter_lines()
        first = [json.loads(next(lines))["type"] for _ in range(3)]
        heard.set()
        rest = [json.loads(line)["type"] for line in lines if line]
    assert first == ["started", "session", "thinking"]
    assert rest[-1] == "answer"


@pytest.mark.parametrize("form", ["application/json", EVENTS, LINES])
def test_whoever_hangs_up_stops_the_keeper(server: Running, keeper: Kept, person: httpx2.Client, form: str) -> None:
    begun, over = threading.Event(), threading.Event()

    async def long(prompt: Prompt) -> AsyncGenerator[AnswerPiece, None]:
        try:
            begun.set()
            await asyncio.Event().wait()
            yield TextPiece("never")
        finally:
            over.set()

    keeper.says(long)
    url = httpx2.URL(server.url)
    body = json.dumps({"prompt": "take your time"}).encode()
    head = (
        f"POST {PATH} HTTP/1.1\r\nHost: {url.host}\r\nAuthorization: {person.headers['authorization']}\r\n"
        f"Accept: {form}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection((url.host, url.port or 80)) as connection:
        connection.sendall(head.encode() + body)
        assert begun.wait(PATIENCE)
    assert over.wait(PATIENCE)


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 400, "bad_params"),
        ({"prompt": ""}, 400, "bad_params"),
        ({"prompt": "x" * 20_001}, 400, "bad_params"),
        ({"prompt": "hello", "sessionId": "not-a-session-of-mine"}, 404, "not_found"),
        ({"prompt": "hello", "room": "atlantis"}, 403, "not_permitted"),
        ({"prompt": "hello", "model": "nobody:none"}, 400, "bad_params"),
        ({"prompt": "hello", "approved": True}, 400, "bad_params"),
        ({"prompt": 3}, 400, "bad_params"),
    ],
)
def test_what_is_no_request_is_a_problem(
    keeper: Kept, person: httpx2.Client, body: dict[str, Any], status: int, code: str
) -> None:
    response = person.post(PATH, json=body)
    assert (response.status_code, response.json()["code"]) == (status, code), response.text
    assert response.headers["content-type"] == "application/problem+json"


def test_nobody_is_let_in_without_a_token(server: Running) -> None:
    with server.client() as stranger:
        assert stranger.post(PATH, json={"prompt": "hello"}).status_code == 401
    with server.client("garbage") as stranger:
        answer = stranger.post(PATH, json={"prompt": "hello"}, headers={"Accept": EVENTS})
        assert answer.status_code == 401


def test_a_limit_is_an_answer_that_is_no_success(keeper: Kept, person: httpx2.Client) -> None:
    keeper.limits(turns=2)
    keeper.says(again=[run("data/list", collection="rooms")])
    response = person.post(PATH, json={"prompt": "go round in circles"})
    assert response.status_code == 200
    assert (response.json()["success"], response.json()["ended"]) == (False, "turn_limit")
    keeper.says(again=[run("data/list", collection="rooms")])
    told = events(person.post(PATH, json={"prompt": "go round"}, headers={"Accept": EVENTS}))
    assert (told[-1][0], told[-1][1]["answer"]["ended"]) == ("answer", "turn_limit")
    keeper.limits()


def test_the_same_key_gives_the_same_answer_and_runs_nothing(keeper: Kept, person: httpx2.Client) -> None:
    model = keeper.says("Once.", "Twice.")
    first, second = (
        person.post(PATH, json={"prompt": "say how often"}, headers={"Idempotency-Key": "once"}) for _ in range(2)
    )
    assert first.json() == second.json()
    assert len(model.shown) == 1
    streamed = person.post(PATH, json={"prompt": "x"}, headers={"Idempotency-Key": "k", "Accept": EVENTS})
    assert streamed.status_code == 400


def test_what_waits_is_approved_over_rest_and_goes_on(server: Running, keeper: Kept, person: httpx2.Client) -> None:
    server.owner("file/write", path="tmp/old.txt", content="old")
    keeper.says([run("file/delete", path="tmp/old.txt")], "It is gone.")
    answer = person.post(PATH, json={"prompt": "delete old.txt in tmp"}).json()
    ticket = answer["toolCalls"][0]["ticket"]
    assert answer["ended"] == "waiting"
    assert person.post(f"/api/approvals/{ticket}/approve", json={}).status_code == 200
    rest = person.post(PATH, json={"sessionId": answer["sessionId"], "ticket": ticket}).json()
    assert (rest["success"], rest["response"]) == (True, "It is gone.")


def test_the_client_for_programs_asks_and_follows(server: Running, keeper: Kept, token: str) -> None:
    with Client(server.url, token=token) as doorward:
        keeper.says([run("data/list", collection="rooms")], "There is one room.")
        answer = doorward.ai("how many rooms do we have")
        assert answer.success
        assert answer.tool_calls[0].input == {"command": "data/list", "params": {"collection": "rooms"}}
        keeper.says("Because.")
        told = list(doorward.ai_stream("why", session=answer.session_id))
    assert isinstance(told[-1], Answer)
    assert told[-1].session_id == answer.session_id
    assert [one.kind for one in told if isinstance(one, KeeperStep)] == ["started", "session", "thinking", "text"]
