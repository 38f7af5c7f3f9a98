"""What requests get: results, outcomes, tickets, and problems that say what is wrong."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest

from doorward.core.errors import concrete_errors
from doorward.core.model import Credential, Outcome
from doorward.doors.http import problems
from doorward.doors.http.problems import HTTP_STATUS
from doorward.doors.rest import request_reader
from doorward.doors.rest.gate_client import outcome_response


async def test_running_a_command_gives_the_whole_outcome(rest: Any) -> None:
    person = await rest.person()
    ran = await person.post("/api/run", json={"command": "data-list", "params": {"collection": "rooms"}})
    named = await person.post("/api/commands/data/list/run", json={"collection": "rooms"})
    wire = await person.post("/api/commands/data_list/run", json={"collection": "rooms"})
    assert [one.status_code for one in (ran, named, wire)] == [200] * 3
    assert ran.json()["command"] == named.json()["command"] == wire.json()["command"] == "data/list"
    assert ran.json()["text"].startswith("Found 1 items")
    assert ran.headers["doorward-call"] == ran.json()["call"]
    assert ran.headers["cache-control"] == "no-store"


async def test_a_dry_run_changes_nothing_and_explain_records_nothing(rest: Any) -> None:
    person = await rest.person()
    body = {"name": "lab", "recipe": "admin"}
    tried = await person.post("/api/commands/room/create/run?dryRun=true", json=body)
    also = await person.post("/api/run", json={"command": "room/create", "params": body, "dryRun": True})
    before = len(await rest.driver.ledger())
    told = await person.post("/api/explain", json={"command": "file/write", "room": "general"})
    assert (tried.json()["code"], also.json()["code"]) == ("dry_run", "dry_run")
    assert (await person.get("/api/rooms/lab")).status_code == 404
    assert told.json()["approval"]["quorum"] == 1
    assert [row["command"] for row in (await rest.driver.ledger())[before:]] == ["room/show"]


async def test_what_needs_approval_is_parked_and_resumed_with_its_ticket(rest: Any) -> None:
    person, agent = await rest.person(), await rest.agent(access="full")
    ask = {"command": "file/write", "params": {"path": "a.txt", "content": "hello"}, "room": "general"}
    parked = await agent.post("/api/run", json=ask)
    ticket = parked.json()["ticket"]
    early = await agent.post("/api/run", json={"ticket": ticket})
    by_agent = await agent.post(f"/api/approvals/{ticket}/approve?room=general")
    listed = await person.get("/api/approvals?pending=true")
    shown = await person.get(f"/api/approvals/{ticket}")
    approved = await person.post(f"/api/approvals/{ticket}/approve")
    resumed = await agent.post("/api/run", json={"ticket": ticket})
    again = await agent.post("/api/run", json={"ticket": ticket})
    assert (parked.status_code, parked.json()["code"]) == (202, "approval_needed")
    assert (early.status_code, early.json()["code"]) == (403, "not_approved")
    assert by_agent.status_code == 403
    assert [item["id"] for item in listed.json()["items"]] == [ticket]
    assert "a.txt" in shown.json()["shown"]
    assert approved.json()["state"] == "approved"
    assert (resumed.status_code, resumed.json()["status"]) == (200, "done")
    assert again.json()["code"] == "not_approved"
    assert (rest.driver.house.home.path / "workspace" / "a.txt").read_text() == "hello"


async def test_commands_are_listed_exactly_as_offered_and_searched(rest: Any) -> None:
    agent = await rest.agent()
    gate = rest.driver.house.gate
    offered = [one.name for one in gate.offered(gate.caller(_credential(agent)), "general")]
    found, cursor = [], ""
    while cursor is not None:
        params = {"room": "general", "limit": 20, **({"cursor": cursor} if cursor else {})}
        page = (await agent.get("/api/commands", params=params)).json()
        found += [item["name"] for item in page["items"]]
        cursor = page["next"]
    searched = (
        await agent.get("/api/commands", params={"room": "general", "search": "read a file", "limit": 1})
    ).json()
    nothing = (await agent.get("/api/commands")).json()
    assert found == sorted(offered)
    assert page["total"] == len(offered)
    assert [item["name"] for item in searched["items"]] == ["file/read"]
    assert nothing == {"items": [], "total": 0, "next": None}


async def test_me_says_whom_a_token_speaks_for(rest: Any) -> None:
    agent = await rest.agent("cursor", rooms=["general"], access="read")
    assert (await agent.get("/api/me")).json() == {
        "tenant": "local",
        "id": "cursor",
        "kind": "ai",
        "access": "read",
        "onBehalfOf": "owner",
        "rooms": ["general"],
    }


async def test_an_agent_acts_in_a_room_only(rest: Any) -> None:
    agent = await rest.agent()
    outside, inside = await agent.get("/api/rooms"), await agent.get("/api/rooms?room=general")
    assert (outside.status_code, outside.json()["rule"]) == (403, "built-in: agents act in rooms")
    assert inside.status_code == 200


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer x", "Basic eDp5", "Bearer a b", "bearer\teyJ"])
async def test_without_a_good_token_nothing_is_read_and_the_refusal_is_recorded(rest: Any, header: str | None) -> None:
    headers = {} if header is None else {"Authorization": header}
    answer = await rest.open.post("/api/rooms", content=_never(), headers={**headers, "Content-Type": "text/plain"})
    row = (await rest.driver.ledger())[-1]
    assert (answer.status_code, answer.json()["code"]) == (401, "not_authenticated")
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert (row["command"], row["status"], row["caller"]) == ("room/create", "refused", "anonymous")


async def test_a_token_in_the_query_counts_for_nothing(rest: Any) -> None:
    token = await rest.driver.token("laptop", kind="human")
    answer = await rest.open.get("/api/rooms", params={"access_token": token})
    assert answer.status_code == 401
    assert token not in str(await rest.driver.ledger())


@pytest.mark.parametrize(
    ("method", "path", "more", "status", "code"),
    [
        ("GET", "/api/romos", {}, 404, "no_such_path"),
        ("GET", "/api", {}, 404, "no_such_path"),
        ("GET", "/api/rooms/", {}, 404, "no_such_path"),
        ("GET", "/api/rooms/a%0Ab/c", {}, 404, "no_such_path"),
        ("DELETE", "/api/rooms", {}, 405, "method_not_allowed"),
        ("BREW", "/api/rooms", {}, 405, "method_not_allowed"),
        ("GET", "/api/rooms", {"headers": {"Accept": "text/html"}}, 406, "not_acceptable"),
        ("GET", "/api/rooms", {"headers": {"Accept": "application/json;q=0, */*;q=0"}}, 406, "not_acceptable"),
        ("POST", "/api/rooms", {"content": b"a=b", "headers": {"Content-Type": "text/plain"}}, 415, None),
        ("POST", "/api/rooms", {"content": b"{}"}, 415, "unsupported_media_type"),
        ("POST", "/api/rooms", {"json": {}, "headers": {"Content-Encoding": "gzip"}}, 415, None),
        (
            "POST",
            "/api/rooms",
            {"json": {}, "headers": {"Content-Type": "application/json; charset=latin-1"}},
            415,
            None,
        ),
        ("POST", "/api/rooms", {"json": [1]}, 400, "bad_params"),
        ("POST", "/api/rooms", {"json": {"name": "x"}}, 400, "bad_params"),
        ("POST", "/api/run", {"json": {"command": "room/list", "owner": True}}, 400, "bad_params"),
        ("POST", "/api/run", {"json": {"command": 3}}, 400, "bad_params"),
        ("POST", "/api/run?dryRun=true", {"json": {"command": "room/list"}}, 400, "bad_params"),
        ("POST", "/api/commands/room/list/run?dryRun=1", {"json": {}}, 400, "bad_params"),
        ("GET", "/api/commands?limit=0", {}, 400, "bad_params"),
        ("GET", "/api/commands?limit=٣", {}, 400, "bad_params"),
        ("POST", "/api/run", {"json": {"command": "no/such"}}, 404, "unknown_command"),
    ],
)
async def test_a_request_that_is_none_gets_a_problem(
    rest: Any, method: str, path: str, more: dict[str, Any], status: int, code: str | None
) -> None:
    person = await rest.person()
    answer = await person.request(method, path, **more)
    problem = answer.json()
    assert answer.status_code == problem["status"] == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert code is None or problem["code"] == code
    assert problem["type"] == f"/docs#{problem['code']}"
    assert problem["detail"].endswith(".")


async def test_a_wrong_path_names_the_nearest_and_a_wrong_method_those_there_are(rest: Any) -> None:
    wrong = await rest.open.get("/api/execution")
    method = await rest.open.delete("/api/rooms")
    options = await rest.open.options("/api/rooms")
    assert "/api/executions" in wrong.json()["detail"]
    assert method.headers["allow"] == options.headers["allow"] == "GET, POST, HEAD, OPTIONS"
    assert (options.status_code, options.content) == (204, b"")
    assert "access-control-allow-origin" not in options.headers


async def test_head_is_get_without_a_body(rest: Any) -> None:
    person = await rest.person()
    got, head = await person.get("/api/recipes"), await person.head("/api/recipes")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == got.headers["content-length"]


async def test_a_body_that_is_announced_too_large_is_refused_unread(rest: Any) -> None:
    person = await rest.person()
    for path in ("/api/run", "/api/rooms", "/api/auth/login"):
        headers = {"Content-Type": "application/json", "Content-Length": str(1 << 30)}
        answer = await person.post(path, content=_never(), headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
        assert answer.headers["connection"] == "close"


async def test_a_body_that_grows_too_large_is_read_no_further(rest: Any) -> None:
    sent = 0

    async def pieces() -> Any:
        nonlocal sent
        while True:
            sent += 1
            yield b" " * 1_000

    answer = await rest.open.post("/api/auth/login", content=pieces(), headers={"Content-Type": "application/json"})
    assert answer.status_code == 413
    assert sent < 50


async def test_a_body_that_does_not_come_is_not_waited_for(rest: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_reader, "LONGEST_ARRIVAL", 0.01)

    async def nothing() -> Any:
        yield b"{"
        await asyncio.Event().wait()

    person = await rest.person()
    answer = await person.post("/api/run", content=nothing(), headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (408, "too_slow")
    assert "got 1 bytes" in answer.json()["detail"]


async def test_a_limit_says_when_to_try_again(rest: Any) -> None:
    agent = await rest.agent()
    answers = [await agent.get("/api/recipes?room=general") for _ in range(3)]
    looping = answers[-1]
    assert (looping.status_code, looping.json()["code"]) == (429, "looping")
    assert looping.headers["retry-after"] == str(math.ceil(looping.json()["retryAfter"]))


def test_every_code_has_a_title_and_every_problem_its_own_status() -> None:
    assert set(problems.PROBLEM_TITLES) == {leaf.code for leaf in concrete_errors()}
    assert not set(problems.HTTP_PROBLEMS) & set(HTTP_STATUS)


@pytest.mark.parametrize("leaf", concrete_errors(), ids=lambda leaf: leaf.code)
def test_whatever_goes_wrong_is_told_as_a_problem_with_all_the_gate_says(leaf: Any) -> None:
    outcome = Outcome(
        status="failed",
        code=leaf.code,
        message="It went wrong.",
        call="c1",
        command="a/b",
        retry=leaf.retry,
        effect=leaf.effect,
        hint="Do this.",
        rule="r",
        retry_after=0.2,
        result={"exitCode": 1},
    )
    answer = outcome_response(outcome)
    assert answer.status_code == HTTP_STATUS[leaf.code]
    assert answer.headers["retry-after"] == "1"
    body = bytes(answer.body)
    for word in (b'"hint":"Do this."', b'"rule":"r"', b'"call":"c1"', b'"retryAfter":0.2', b'"exitCode":1'):
        assert word in body


def _credential(client: Any) -> Credential:
    return Credential(token=client.headers["authorization"].removeprefix("Bearer "))


async def _never() -> Any:
    raise AssertionError("the body was read")
    yield b""
