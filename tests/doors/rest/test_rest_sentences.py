"""What REST says when a request is wrong: what is wrong, what would be valid, and in the words of JSON and HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from rest_door import Rest


async def test_a_room_that_is_not_there_is_refused_and_not_shown_empty(rest: Rest):
    agent = await rest.agent()
    answer = await agent.get("/api/commands", params={"room": "nope"})
    assert (answer.status_code, answer.json()["detail"]) == (
        403,
        "There is no room 'nope' that you may act in. Your rooms: general.",
    )
    assert (await agent.get("/api/commands", params={"room": "general"})).json()["total"] > 0


async def test_the_page_shows_the_address_that_it_is_read_at(rest: Rest):
    page = (await rest.open.get("/docs", headers={"Host": "localhost:9999"})).text
    assert "http://localhost:9999/api/me" in page
    assert "{here}" not in page
    assert "8642" not in page


@pytest.mark.parametrize(
    ("body", "said"),
    [("", "must have `command`"), ("{}", "must have `command`"), ("null", "given null"), ("true", "given true")],
)
async def test_a_body_without_a_command_is_told_what_is_missing(rest: Rest, body: str, said: str):
    person = await rest.person()
    answer = await person.post("/api/run", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert said in answer.json()["detail"]


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("/api/run", {"comand": "undo"}, "Unknown field 'comand'. The body takes command, params,"),
        ("/api/run", {"command": 5}, "The field `command` must be a string; given an integer."),
        ("/api/run", {"command": "undo", "params": []}, "`params` must be an object or null; given a list."),
        ("/api/explain", {"room": "general"}, "needs `command`. It takes command, room; given room."),
        ("/api/explain", {"command": ""}, "`command` must be a string of at least 1 characters."),
        ("/api/auth/login", {"user": "u" * 64, "password": "p"}, "`user` must be a string of at most 63 characters."),
        ("/api/auth/login", {"user": "u", "password": 1.5}, "`password` must be a string; given a number."),
        ("/api/auth/refresh", {}, "needs `refreshToken`. It takes refreshToken; given none."),
    ],
)
async def test_a_body_that_does_not_fit_is_told_which_field_and_what_would(rest: Rest, path: str, body: Any, said: str):
    person = await rest.person()
    problem = (await person.post(path, json=body)).json()
    assert (problem["status"], problem["outcome"], problem["effect"]) == (400, "refused", "none")
    assert said in problem["detail"]


async def test_a_search_for_nothing_lists_everything(rest: Rest):
    agent = await rest.agent()
    every, nothing = [
        (await agent.get("/api/commands", params={"room": "general", "limit": 3, **more})).json()
        for more in ({}, {"search": " "})
    ]
    assert nothing == every
    assert every["total"] > 3


async def test_a_password_in_the_header_is_told_that_a_token_is_needed(rest: Rest):
    answer = await rest.open.get("/api/me", headers={"Authorization": "Basic YTpi"})
    assert answer.status_code == 401
    assert "`Bearer TOKEN`" in answer.json()["detail"]
    assert "YTpi" not in answer.text


async def test_a_command_without_parameters_says_that_none_are_valid(rest: Rest):
    person = await rest.person()
    answer = await person.post("/api/run", json={"command": "system/shutdown", "params": {"zz": 1}})
    assert "Unknown parameter 'zz'. " in answer.json()["detail"]
    assert "documented" not in answer.json()["detail"]


@pytest.mark.parametrize("only", ["zz", "zz,,", ",,", "approval,,chat", "approval:never"])
async def test_events_that_do_not_exist_are_not_waited_for(rest: Rest, only: str):
    person = await rest.person()
    answer = await person.get("/api/events", params={"only": only})
    assert answer.status_code == 400
    assert "approval:requested" in answer.json()["detail"]


@pytest.mark.parametrize("path", ["/API/me", "//api//rooms", "/api/zz", "/nowhere", "/mcp/a/b", "/docs/x"])
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
async def test_every_unknown_path_is_a_problem(rest: Rest, path: str, method: str):
    scope: dict[str, Any] = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "scheme": "http",
        "http_version": "1.1",
        "headers": [(b"host", b"127.0.0.1")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    await rest.app(scope, receive, send)
    assert sent[0]["status"] == 404
    assert (b"content-type", b"application/problem+json") in sent[0]["headers"]
