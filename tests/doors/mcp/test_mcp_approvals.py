"""Calls that wait for a person: asked through the client where that can be, else a ticket and a way to resume."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest
from mcp_house import RECIPE, McpHouse, furnish, write_recipe
from mcp_web import Web
from starlette.applications import Starlette

from doorward.app import open_house
from doorward.config.home import Home
from doorward.config.settings import McpSettings, Settings
from doorward.core.model import Credential
from doorward.doors.mcp.http import HttpEndpoint

CAN = {"elicitation": {}}
PERSON = Credential(owner=True)


def app(house: McpHouse, person: Credential | None = PERSON) -> Starlette:
    """The endpoint of a door that holds the credential of a person, as the one on the owner's machine does."""
    endpoint = HttpEndpoint(house.door, person_of=lambda headers: person)
    wrapped = Starlette()
    wrapped.add_route("/mcp/{room}", endpoint)
    return wrapped


def write(path: str) -> dict[str, Any]:
    return {"name": "file_write", "arguments": {"path": path, "content": "hello"}}


def workspace(house: McpHouse, path: str) -> Any:
    return house.home.path / "workspace" / path


async def states(house: McpHouse) -> list[str]:
    found = await house.owner("approval/list", limit=1)
    return [one["state"] for one in found.result["items"]]


async def newest(house: McpHouse) -> str:
    """The ticket of the call that was parked last."""
    found = await house.owner("approval/list", limit=1)
    return str(found.result["items"][0]["id"])


async def test_without_a_person_to_ask_the_answer_says_how_to_go_on(house: McpHouse):
    web = await house.web(capabilities=CAN)
    answer = await web.ask("tools/call", write("parked.txt"))
    result = answer.result
    assert result["isError"] is True
    ticket = result["_meta"]["doorward/ticket"]
    assert f"doorward approvals approve {ticket}" in answer.said
    assert "resume_approved" in answer.said
    early = await web.call("resume_approved", ticket=ticket)
    assert early.result["_meta"]["doorward/code"] == "not_approved"
    await house.owner("approval/approve", id=ticket)
    assert not workspace(house, "parked.txt").exists()
    done = await web.call("resume_approved", ticket=ticket)
    assert "isError" not in done.result
    assert workspace(house, "parked.txt").read_text() == "hello"
    again = await web.call("resume_approved", ticket=ticket)
    assert again.result["_meta"]["doorward/code"] == "not_approved"


async def test_a_ticket_is_of_no_use_to_another_caller(house: McpHouse):
    mine, other = await house.web(), await house.web()
    ticket = (await mine.ask("tools/call", write("mine.txt"))).result["_meta"]["doorward/ticket"]
    await house.owner("approval/approve", id=ticket)
    stolen = await other.call("resume_approved", ticket=ticket)
    assert stolen.result["_meta"]["doorward/code"] == "not_approved"
    assert not workspace(house, "mine.txt").exists()


async def test_an_agent_cannot_approve_what_it_asked_for(house: McpHouse):
    web = await house.web(access="root")
    ticket = (await web.ask("tools/call", write("own.txt"))).result["_meta"]["doorward/ticket"]
    for name, arguments in (
        ("approval_approve", {"id": ticket}),
        ("run_command", {"command": "approval/approve", "params": {"id": ticket}}),
        ("file_write", {"path": "own.txt", "content": "hello", "approved": True}),
        ("resume_approved", {"ticket": ticket, "approved": True}),
    ):
        answer = await web.call(name, **arguments)
        assert "error" in answer.last or answer.result["isError"], name
    assert await states(house) == ["pending"]
    assert not workspace(house, "own.txt").exists()


async def test_in_a_session_the_person_is_asked_on_the_stream_of_the_call(house: McpHouse):
    web = await house.web(app=app(house), capabilities=CAN)
    await web.initialize()
    call = await web.begin("tools/call", write("asked.txt")).begun()
    question = await call.event()
    assert question is not None
    assert question["method"] == "elicitation/create"
    assert 'file/write {"content": "hello", "path": "asked.txt"}' in question["params"]["message"]
    form = question["params"]["requestedSchema"]
    assert (form["properties"]["scope"]["enum"], "required" in form) == (["once", "session"], False)
    assert not workspace(house, "asked.txt").exists()
    taken = await web.whole(web.answers(question["id"], {"action": "accept", "content": {}}))
    assert taken.status == 202
    (last,) = await call.events()
    assert "isError" not in last["result"], last
    assert workspace(house, "asked.txt").read_text() == "hello"
    *_, approved = await house.ledger("approval/approve")
    assert (approved["caller"], approved["kind"], approved["door"]) == ("owner", "human", "mcp")


async def test_a_yes_for_the_session_covers_that_file_until_the_session_ends(house: McpHouse):
    web = await house.web(app=app(house), capabilities=CAN)
    await web.initialize()
    call = await web.begin("tools/call", write("kept.txt")).begun()
    question = await call.event()
    assert question is not None
    assert 'file/write where path is "kept.txt" and content is any text' in question["params"]["message"]
    await web.whole(web.answers(question["id"], {"action": "accept", "content": {"scope": "session"}}))
    await call.events()
    again = await web.ask("tools/call", write("kept.txt"))
    assert "isError" not in again.result
    other = await web.begin("tools/call", write("other.txt")).begun()
    asked = await other.event()
    assert asked is not None
    assert asked["method"] == "elicitation/create"
    await web.whole(web.answers(asked["id"], {"action": "decline"}))
    await other.events()


@pytest.mark.parametrize(
    ("action", "code", "state"),
    [
        ("decline", "not_approved", "denied"),
        ("cancel", "approval_needed", "pending"),
        (None, "approval_needed", "pending"),
    ],
)
async def test_anything_but_yes_runs_nothing(house: McpHouse, action: str | None, code: str, state: str):
    web = await house.web(app=app(house), capabilities=CAN)
    await web.initialize()
    call = await web.begin("tools/call", write("no.txt")).begun()
    question = await call.event()
    assert question is not None
    await web.whole(web.answers(question["id"], {"action": action} if action else {}))
    (last,) = await call.events()
    assert last["result"]["isError"] is True
    assert last["result"]["_meta"]["doorward/code"] == code
    assert await states(house) == [state]
    assert not workspace(house, "no.txt").exists()


async def test_a_client_that_answers_with_an_error_leaves_it_parked(house: McpHouse):
    web = await house.web(app=app(house), capabilities=CAN)
    await web.initialize()
    call = await web.begin("tools/call", write("no.txt")).begun()
    question = await call.event()
    assert question is not None
    body = b'{"jsonrpc":"2.0","id":"%b","error":{"code":-1,"message":"no screen"}}' % question["id"].encode()
    assert (await web.whole(web.raw(body, web.headers(**web.session)))).status == 202
    (last,) = await call.events()
    assert last["result"]["_meta"]["doorward/code"] == "approval_needed"


async def test_a_question_without_an_answer_expires_with_the_approval_which_is_a_no(home: Home):
    async with open_house(home, families=furnish(home)) as opened:
        house = McpHouse(opened)
        await house.move_in()
        commands = {**RECIPE["strategy"]["aiCommands"], "requireApproval": {"file/write": {"timeoutSeconds": 2}}}
        write_recipe(house.home, {**RECIPE, "strategy": {"aiCommands": commands}})
        await house.services.recipes.load()
        web = await house.web(app=app(house), capabilities=CAN)
        await web.initialize()
        call = await web.begin("tools/call", write("late.txt")).begun()
        question, taken_back, last = await call.events()
        assert taken_back["method"] == "notifications/cancelled"
        assert taken_back["params"]["requestId"] == question["id"]
        assert last["result"]["_meta"]["doorward/code"] == "not_approved"
        assert "expired without a decision" in last["result"]["content"][0]["text"]
        late = await web.whole(web.answers(question["id"], {"action": "accept"}))
        assert late.status == 202
        assert await states(house) == ["expired"]
        assert not workspace(house, "late.txt").exists()


async def test_the_question_about_a_call_that_its_client_cancels_is_taken_back(house: McpHouse):
    web = await house.web(app=app(house), capabilities=CAN)
    await web.initialize()
    before = web.next_id()
    call = await web.begin("tools/call", write("given-up.txt")).begun()
    question = await call.event()
    assert question is not None
    await web.whole(web.tell("notifications/cancelled", {"requestId": before + 1}))
    (taken_back,) = await call.events()
    assert (taken_back["method"], taken_back["params"]["requestId"]) == ("notifications/cancelled", question["id"])
    late = await web.whole(web.answers(question["id"], {"action": "accept"}))
    assert late.status == 202
    assert not workspace(house, "given-up.txt").exists()


@pytest.mark.parametrize(("verdict", "code"), [("approve", "ok"), ("deny", "not_approved")])
async def test_what_is_decided_elsewhere_takes_the_question_back_and_counts_at_once(
    house: McpHouse, verdict: str, code: str
):
    web, name = await house.web(app=app(house), capabilities=CAN), f"elsewhere-{verdict}.txt"
    await web.initialize()
    call = await web.begin("tools/call", write(name)).begun()
    question = await call.event()
    assert question is not None
    await house.owner(f"approval/{verdict}", id=await newest(house))
    taken_back, last = await call.events()
    assert taken_back["method"] == "notifications/cancelled"
    assert taken_back["params"]["requestId"] == question["id"]
    assert last["result"]["_meta"]["doorward/code"] == code
    assert "ticket" not in last["result"]["content"][0]["text"]
    assert workspace(house, name).exists() is (verdict == "approve")
    late = await web.whole(web.answers(question["id"], {"action": "accept"}))
    assert late.status == 202
    assert await states(house) == ["used" if verdict == "approve" else "denied"]


@pytest.mark.parametrize(
    ("verdict", "responses", "runs"),
    [
        ("approve", {"approval": {"action": "accept"}}, True),
        ("approve", {"approval": {"action": "cancel"}}, True),
        ("approve", {}, True),
        ("approve", {"approval": {"action": "decline"}}, False),
        ("deny", {"approval": {"action": "accept"}}, False),
        ("deny", {"approval": {"action": "decline"}}, False),
        ("deny", {}, False),
    ],
)
async def test_without_sessions_what_was_decided_elsewhere_counts_when_the_client_comes_back(
    house: McpHouse, verdict: str, responses: Any, runs: bool
):
    web = await house.web(app=app(house), capabilities=CAN)
    workspace(house, "back.txt").unlink(missing_ok=True)
    first = (await web.ask("tools/call", write("back.txt"))).result
    ticket = await newest(house)
    await house.owner(f"approval/{verdict}", id=ticket)
    again = {**write("back.txt"), "requestState": first["requestState"], "inputResponses": responses}
    answer = await web.ask("tools/call", again)
    assert answer.result["_meta"]["doorward/code"] == ("ok" if runs else "not_approved")
    assert workspace(house, "back.txt").exists() is runs
    if verdict == "approve" and not runs:
        assert "declined in the client" in answer.said
        assert f"resume_approved with the ticket {ticket}" in answer.said


async def test_without_sessions_the_person_is_asked_by_a_result(house: McpHouse):
    web = await house.web(app=app(house), capabilities=CAN)
    first = await web.ask("tools/call", write("mrtr.txt"))
    assert first.headers["content-type"] == "application/json"
    result = first.result
    assert result["resultType"] == "input_required"
    assert result["inputRequests"]["approval"]["method"] == "elicitation/create"
    assert "mrtr.txt" in result["inputRequests"]["approval"]["params"]["message"]
    again = {**write("mrtr.txt"), "requestState": result["requestState"]}
    done = await web.ask("tools/call", {**again, "inputResponses": {"approval": {"action": "accept"}}})
    assert "isError" not in done.result, done.last
    assert workspace(house, "mrtr.txt").read_text() == "hello"
    twice = await web.ask("tools/call", {**again, "inputResponses": {"approval": {"action": "accept"}}})
    assert twice.result["_meta"]["doorward/code"] == "not_approved"


@pytest.mark.parametrize(
    ("responses", "code", "state"),
    [
        ({"approval": {"action": "decline"}}, "not_approved", "denied"),
        ({"approval": {"action": "cancel"}}, "approval_needed", "pending"),
        ({"approval": "accept"}, "approval_needed", "pending"),
        ({"other": {"action": "accept"}}, "approval_needed", "pending"),
        ({}, "approval_needed", "pending"),
    ],
)
async def test_anything_but_yes_runs_nothing_without_sessions_either(
    house: McpHouse, responses: Any, code: str, state: str
):
    web = await house.web(app=app(house), capabilities=CAN)
    first = (await web.ask("tools/call", write("no.txt"))).result
    again = {**write("no.txt"), "requestState": first["requestState"], "inputResponses": responses}
    told = (await web.ask("tools/call", again)).result["_meta"]
    assert told["doorward/code"] == code
    assert ("doorward/ticket" in told) is (state == "pending")
    assert await states(house) == [state]
    assert not workspace(house, "no.txt").exists()


async def test_a_state_is_good_only_as_it_was_given(house: McpHouse):
    served = app(house)
    web, other = await house.web(app=served, capabilities=CAN), await house.web(app=served, capabilities=CAN)
    state = (await web.ask("tools/call", write("state.txt"))).result["requestState"]
    yes = {"inputResponses": {"approval": {"action": "accept"}}}
    raw = bytearray(base64.urlsafe_b64decode(state))
    raw[-5] ^= 1
    tampered = base64.urlsafe_b64encode(bytes(raw)).decode()
    for client, call in (
        (web, {**write("state.txt"), "requestState": tampered}),
        (web, {**write("state.txt"), "requestState": f"{state}-tampered"}),
        (web, {**write("state.txt"), "requestState": f"{state}="}),
        (web, {**write("state.txt"), "requestState": f"!{state}"}),
        (web, {**write("state.txt"), "requestState": "x"}),
        (web, {**write("state.txt"), "requestState": "é"}),
        (web, {**write("state.txt"), "requestState": state[:40]}),
        (web, {**write("another.txt"), "requestState": state}),
        (web, {"name": "probe_number", "requestState": state}),
        (web, {**write("state.txt"), "requestState": 5}),
        (other, {**write("state.txt"), "requestState": state}),
    ):
        answer = await client.ask("tools/call", {**call, **yes})
        assert (answer.status, answer.error["code"]) == (400, -32602), call
    assert await states(house) == ["pending"]
    assert not workspace(house, "state.txt").exists()


async def test_a_yes_that_comes_too_late_counts_as_no_and_a_state_is_not_good_for_long(own_house: Callable[..., Any]):
    async with own_house() as house:
        web = await house.web(app=app(house), capabilities=CAN)
        state = (await web.ask("tools/call", write("old.txt"))).result["requestState"]
        house.clock.advance(31)
        yes = {"inputResponses": {"approval": {"action": "accept"}}, "requestState": state}
        late = await web.ask("tools/call", {**write("old.txt"), **yes})
        assert late.result["_meta"]["doorward/code"] == "not_approved"
        assert "expired without a decision" in late.said
        house.clock.advance(900)  # looking could have held it for 600 s, and an approval is good for 300 s more
        answer = await web.ask("tools/call", {**write("old.txt"), **yes})
        assert "expired" in answer.error["message"]
        assert not workspace(house, "old.txt").exists()


@pytest.mark.parametrize("capabilities", [{}, {"elicitation": {"url": {}}}, {"elicitation": True}, {"sampling": {}}])
async def test_a_client_that_cannot_show_a_question_is_not_asked(house: McpHouse, capabilities: dict[str, Any]):
    web = await house.web(app=app(house), capabilities=capabilities)
    assert (await web.ask("tools/call", write("x.txt"))).result["_meta"]["doorward/code"] == "approval_needed"
    await web.initialize()
    answer = await web.request("tools/call", write("x.txt"))
    assert answer.result["_meta"]["doorward/code"] == "approval_needed"


async def test_nobody_is_asked_about_a_call_of_their_own(house: McpHouse):
    token = await house.token(kind="human")
    web = Web(app(house, Credential(token=token)), token, "/mcp/workshop", CAN)
    assert (await web.ask("tools/call", write("x.txt"))).result["_meta"]["doorward/code"] == "approval_needed"


async def test_the_credential_of_an_agent_is_no_person(house: McpHouse):
    agent = Credential(owner=True, speak_as="helper")
    web = await house.web(app=app(house, agent), capabilities=CAN)
    assert (await web.ask("tools/call", write("x.txt"))).result["_meta"]["doorward/code"] == "approval_needed"


async def test_a_person_who_may_not_decide_there_decides_nothing(house: McpHouse):
    await house.owner("user/create", id="guest", access="full")
    token = await house.token("guest-token", kind="human", user="guest")
    web = await house.web(app=app(house, Credential(token=token)), capabilities=CAN)
    await web.initialize()
    call = await web.begin("tools/call", write("x.txt")).begun()
    question = await call.event()
    assert question is not None
    await web.whole(web.answers(question["id"], {"action": "accept"}))
    (last,) = await call.events()
    assert last["result"]["_meta"]["doorward/code"] == "approval_needed"
    assert "does not count" in last["result"]["content"][0]["text"]
    assert await states(house) == ["pending"]


async def test_one_yes_of_two_leaves_the_call_waiting(own_house: Callable[..., Any]):
    async with own_house() as house:
        commands = {**RECIPE["strategy"]["aiCommands"], "requireApproval": {"file/write": {"quorum": 2}}}
        write_recipe(house.home, {**RECIPE, "strategy": {"aiCommands": commands}})
        await house.services.recipes.load()
        web = await house.web(app=app(house), capabilities=CAN)
        await web.initialize()
        call = await web.begin("tools/call", write("two.txt")).begun()
        question = await call.event()
        assert question is not None
        await web.whole(web.answers(question["id"], {"action": "accept"}))
        (last,) = await call.events()
        assert last["result"]["_meta"]["doorward/code"] == "approval_needed"
        assert "More approvals are needed." in last["result"]["content"][0]["text"]
        assert not workspace(house, "two.txt").exists()


async def test_asking_through_clients_can_be_switched_off(own_house: Callable[..., Any]):
    async with own_house(changes=Settings(mcp=McpSettings(elicitation=False))) as house:
        web = await house.web(app=app(house), capabilities=CAN)
        assert (await web.ask("tools/call", write("x.txt"))).result["_meta"]["doorward/code"] == "approval_needed"


async def test_a_client_that_leaves_while_it_is_asked_leaves_the_call_parked(house: McpHouse):
    web = await house.web(app=app(house), capabilities=CAN)
    await web.initialize()
    call = await web.begin("tools/call", write("gone.txt")).begun()
    await call.event()
    await call.hang_up()
    assert await states(house) == ["pending"]
