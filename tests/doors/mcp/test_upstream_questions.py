"""Questions of other servers reach a person: at the client where that can be, else wherever that person looks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from mcp_house import McpHouse, write_recipe
from mcp_web import Answer, Web
from starlette.applications import Starlette
from upstream_door import open_door, recipe, server

from doorward.core.events import QuestionAnswered, QuestionAsked
from doorward.core.model import Credential, Outcome, Request
from doorward.doors.mcp.elicitation import Elicitation
from doorward.doors.mcp.http import HttpEndpoint
from doorward.gate.executions.notices import QuestionNotice
from waiting import PATIENCE

ELICITS, SAMPLES = {"elicitation": {}}, {"sampling": {}}
PERSON = Credential(owner=True)
AGENT = Credential(owner=True, speak_as="helper")
ASKS = {"name": "notes_asks", "arguments": {}}


@pytest.fixture(scope="module", params=["sessions upstream", "stateless upstream"])
async def house(
    request: pytest.FixtureRequest, anyio_backend: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[McpHouse]:
    """The servers speak either era; what our own clients see is the same."""
    flags = ["--stateless"] if request.param.startswith("stateless") else []
    servers = [server("notes", *flags, sampling=True), server("mum", *flags, autoApprove=["samples"])]
    async with open_door(tmp_path_factory.mktemp("questions"), *servers) as house:
        yield house


def app(house: McpHouse, person: Credential | None = PERSON) -> Starlette:
    """The endpoint of a door that holds the credential of a person, as the one on the owner's machine does."""
    wrapped = Starlette()
    wrapped.add_route("/mcp/{room}", HttpEndpoint(house.door, person_of=lambda headers: person))
    return wrapped


async def client(house: McpHouse, capabilities: dict[str, Any], person: Credential | None = PERSON) -> Web:
    return await house.web(room="annex", kind="service", app=app(house, person), capabilities=capabilities)


class Heard:
    """The questions that come up, as events tell of them."""

    def __init__(self, house: McpHouse) -> None:
        self.asked: asyncio.Queue[QuestionAsked] = asyncio.Queue()
        self.answered: asyncio.Queue[QuestionAnswered] = asyncio.Queue()
        self.leave = [
            house.services.events.subscribe(self.asked.put_nowait, QuestionAsked),
            house.services.events.subscribe(self.answered.put_nowait, QuestionAnswered),
        ]


@pytest.fixture
async def heard(house: McpHouse) -> AsyncIterator[Heard]:
    heard = Heard(house)
    async with asyncio.timeout(PATIENCE):
        yield heard
    for leave in heard.leave:
        leave()


def told(answer: Answer) -> Any:
    """What the server says that it was answered."""
    return json.loads(answer.said)


async def test_without_sessions_the_call_goes_on_where_it_was_when_the_answer_comes(house: McpHouse):
    web = await client(house, ELICITS)
    first = (await web.ask("tools/call", ASKS)).result
    assert first["resultType"] == "input_required"
    asked = first["inputRequests"]["question"]
    assert asked["method"] == "elicitation/create"
    assert "The MCP server 'notes' asks, to continue mcp/notes/asks:" in asked["params"]["message"]
    assert "Who\\u202e are you?" in asked["params"]["message"]
    assert asked["params"]["requestedSchema"]["properties"]["name"]["title"] == "Na\\u202eme"
    given = {"question": {"action": "accept", "content": {"name": "Ada"}}}
    again = {**ASKS, "requestState": first["requestState"], "inputResponses": given}
    assert told(await web.ask("tools/call", again)) == {"action": "accept", "content": {"name": "Ada"}}
    replayed = await web.ask("tools/call", again)
    assert "has ended" in replayed.error["message"]
    (row,) = (await house.ledger("mcp/answer"))[-1:]
    assert (row["caller"], row["kind"]) == ("owner", "human")
    assert "Ada" not in json.dumps(await house.ledger("mcp/answer"), default=str)


async def test_with_sessions_the_person_is_asked_beside_the_call(house: McpHouse):
    web = await client(house, ELICITS)
    await web.initialize()
    for given in ({"action": "accept", "content": {"name": "Ada"}}, {"action": "decline"}, {"action": "cancel"}):
        call = await web.begin("tools/call", ASKS).begun()
        asked = await call.event()
        assert asked is not None
        assert asked["method"] == "elicitation/create"
        await web.whole(web.answers(asked["id"], given))
        last = await call.event()
        assert last is not None
        assert json.loads(last["result"]["content"][0]["text"]) == given


async def test_an_answer_that_does_not_fit_the_form_is_asked_for_again(house: McpHouse):
    web = await client(house, ELICITS)
    await web.initialize()
    call = await web.begin("tools/call", ASKS).begun()
    first = await call.event()
    assert first is not None
    await web.whole(web.answers(first["id"], {"action": "accept", "content": {"name": 73_310_073}}))
    again = await call.event()
    while again is not None and again.get("method") == "notifications/message":
        assert "73310073" not in json.dumps(again), "what a person filled in is in no log"
        again = await call.event()
    assert again is not None
    assert "The form: field name must" in again["params"]["message"]
    await web.whole(web.answers(again["id"], {"action": "decline"}))
    last = await call.event()
    assert last is not None
    assert json.loads(last["result"]["content"][0]["text"]) == {"action": "decline"}
    stateless = await client(house, ELICITS)
    first = (await stateless.ask("tools/call", ASKS)).result
    bad = {"question": {"action": "accept", "content": {"nome": "Ada"}}}
    second = (
        await stateless.ask("tools/call", {**ASKS, "requestState": first["requestState"], "inputResponses": bad})
    ).result
    message = second["inputRequests"]["question"]["params"]["message"]
    assert message.startswith("The form has no field 'nome'; its fields: name.")
    good = {"question": {"action": "decline"}}
    done = await stateless.ask("tools/call", {**ASKS, "requestState": second["requestState"], "inputResponses": good})
    assert told(done) == {"action": "decline"}


@pytest.mark.parametrize(
    ("capabilities", "person"),
    [({}, PERSON), (ELICITS, None), (ELICITS, Credential(owner=True, speak_as="bot"))],
    ids=["a client that shows no questions", "no person there", "an agent in a person's place"],
)
async def test_where_nobody_can_be_asked_the_question_waits_for_a_person_elsewhere(
    house: McpHouse, heard: Heard, capabilities: dict[str, Any], person: Credential | None
):
    web = await client(house, capabilities, person)
    asking = asyncio.create_task(web.ask("tools/call", ASKS, progressToken="p"))
    question = (await heard.asked.get()).question
    (waiting,) = (await house.owner("mcp/questions")).result["items"]
    assert (waiting["id"], waiting["server"], waiting["message"]) == (question, "notes", "Who\\u202e are you?")
    assert (waiting["caller"], waiting["room"], waiting["command"]) == (
        f"bot-{house._names}",
        "annex",
        "mcp/notes/asks",
    )
    await house.owner("mcp/answer", question=question, action="accept", content={"name": "Eve"})
    answer = await asking
    assert told(answer) == {"action": "accept", "content": {"name": "Eve"}}
    said = [one["params"].get("message", "") for one in answer.messages if "progress" in str(one.get("method"))]
    assert any(f"doorward approvals answer {question}" in one for one in said)
    assert (await house.owner("mcp/questions")).result["items"] == []


async def test_no_agent_sees_or_answers_a_question(house: McpHouse, heard: Heard):
    web = await house.web(room="annex", access="root")
    asking = asyncio.create_task(web.ask("tools/call", ASKS))
    question = (await heard.asked.get()).question
    other = await house.web(room="annex", access="root")
    params = {"question": question, "action": "accept", "content": {"name": "Mallory"}}
    for one in (web, other):
        assert (await one.call("mcp_questions")).result["_meta"]["doorward/code"] == "not_permitted"
        assert (await one.call("mcp_answer", **params)).result["_meta"]["doorward/code"] == "not_permitted"
    await house.owner("mcp/answer", question=question, action="decline")
    assert told(await asking) == {"action": "decline"}


@pytest.mark.parametrize(("who", "message"), [(PERSON, "Who\\u202e are you?"), (AGENT, "")])
async def test_only_a_person_is_told_what_is_asked_while_a_call_goes_on(
    house: McpHouse, heard: Heard, who: Credential, message: str
):
    notices: list[Any] = []
    request = Request(command="mcp/notes/asks", credential=who, door="test", room="annex", params={})
    asking = asyncio.create_task(house.gate.handle(request, notices.append))
    question = (await heard.asked.get()).question
    await house.owner("mcp/answer", question=question, action="decline")
    assert (await asking).status == "done"
    assert [one.message for one in notices if type(one) is QuestionNotice] == [message]


async def test_what_nobody_could_fill_in_is_put_to_nobody(house: McpHouse):
    web = await house.web(room="annex")
    form = {"type": "object", "properties": {"na\u200bme": {"type": "string"}}}
    assert told(await web.ask("tools/call", {**ASKS, "arguments": {"requestedSchema": form}})) == {"action": "cancel"}


async def test_only_whom_it_concerns_may_answer(house: McpHouse, heard: Heard):
    await house.ask("user/create", PERSON, id="guest", access="full")
    guest = Credential(token=(await house.owner("token/create", name="g", user="guest", kind="human")).result["token"])
    asking = asyncio.create_task((await house.web(room="annex")).ask("tools/call", ASKS))
    question = (await heard.asked.get()).question

    async def answer(who: Credential, **params: Any) -> Outcome:
        return await house.ask("mcp/answer", who, question=question, **params)

    assert (await house.ask("mcp/questions", guest)).result["items"] == []
    assert (await answer(guest, action="decline")).code == "not_permitted"
    await house.owner("room/join", name="annex", member="guest", role="admin")
    assert len((await house.ask("mcp/questions", guest)).result["items"]) == 1
    assert (await answer(guest, action="accept", content={})).code == "bad_params"
    assert (await answer(guest, action="decline")).status == "done"
    assert (await answer(PERSON, action="decline")).code == "not_found"
    assert told(await asking) == {"action": "decline"}


async def test_an_address_is_shown_and_never_opened(house: McpHouse):
    web = await client(house, {"elicitation": {"form": {}, "url": {}}})
    url = {"mode": "url", "url": "https://example.org/\u202egro", "elicitationId": "1", "message": "Sign in."}
    call = {"name": "notes_asks", "arguments": url}
    first = (await web.ask("tools/call", call)).result
    asked = first["inputRequests"]["question"]["params"]
    assert "The server asks you to open this address yourself: https://example.org/\\u202egro" in asked["message"]
    assert (asked["requestedSchema"], "url" in asked) == ({"type": "object", "properties": {}}, False)
    given = {"question": {"action": "accept", "content": {"smuggled": 1}}}
    again = {**call, "requestState": first["requestState"], "inputResponses": given}
    refused = (await web.ask("tools/call", again)).result
    assert "This question has no form" in refused["inputRequests"]["question"]["params"]["message"]
    given = {"question": {"action": "accept"}}
    done = await web.ask("tools/call", {**call, "requestState": refused["requestState"], "inputResponses": given})
    assert told(done) == {"action": "accept"}


async def test_a_model_is_asked_only_by_a_client_that_offers_it_and_for_a_server_that_may(house: McpHouse):
    said = {"role": "assistant", "content": {"type": "text", "text": "moo"}, "model": "cow"}
    call = {"name": "notes_samples", "arguments": {}}
    web = await house.web(room="annex", capabilities=SAMPLES)
    first = (await web.ask("tools/call", call)).result
    asked = first["inputRequests"]["question"]
    assert (asked["method"], asked["params"]["maxTokens"]) == ("sampling/createMessage", 5)
    again = {**call, "requestState": first["requestState"], "inputResponses": {"question": said}}
    assert told(await web.ask("tools/call", again)) == said
    session = await house.web(room="annex", capabilities=SAMPLES)
    await session.initialize()
    running = await session.begin("tools/call", call).begun()
    asking = await running.event()
    assert asking is not None
    await session.whole(session.answers(asking["id"], said))
    last = await running.event()
    assert last is not None
    assert json.loads(last["result"]["content"][0]["text"]) == said
    unable = await (await house.web(room="annex")).ask("tools/call", call)
    assert "No client offers its model" in unable.said
    unallowed = await web.ask("tools/call", {"name": "mum_samples", "arguments": {}})
    assert "sampling is not enabled" in unallowed.said


async def test_a_question_goes_with_its_call(house: McpHouse, heard: Heard):
    web = await client(house, ELICITS)
    await web.initialize()
    call = await web.begin("tools/call", ASKS).begun()
    asked = await call.event()
    question = (await heard.asked.get()).question
    assert asked is not None
    await call.hang_up()
    gone = await heard.answered.get()
    assert (gone.question, gone.action) == (question, "gone")
    late = await house.ask("mcp/answer", PERSON, question=question, action="decline")
    assert late.code == "not_found"
    assert (await house.owner("mcp/questions")).result["items"] == []


async def test_who_hangs_up_while_an_answer_is_brought_ends_the_call(
    house: McpHouse, heard: Heard, monkeypatch: pytest.MonkeyPatch
):
    web = await client(house, ELICITS)
    first = (await web.ask("tools/call", ASKS)).result
    question, brought = (await heard.asked.get()).question, asyncio.Event()

    async def slowly(*_: Any) -> str:
        brought.set()
        return await asyncio.get_running_loop().create_future()

    given = {"question": {"action": "accept", "content": {"name": "Ada"}}}
    again = {**ASKS, "requestState": first["requestState"], "inputResponses": given}
    monkeypatch.setattr(Elicitation, "_carried", slowly)
    call = web.open("tools/call", again)
    await brought.wait()
    await call.hang_up()
    gone = await heard.answered.get()
    assert (gone.question, gone.action) == (question, "gone")
    assert (await house.ledger("mcp/notes/asks"))[-1]["code"] == "cancelled"


async def test_a_question_that_is_answered_elsewhere_is_taken_back(house: McpHouse, heard: Heard):
    web = await client(house, ELICITS)
    await web.initialize()
    call = await web.begin("tools/call", ASKS).begun()
    asked = await call.event()
    assert asked is not None
    question = (await heard.asked.get()).question
    await house.owner("mcp/answer", question=question, action="accept", content={"name": "Eve"})
    taken_back = await call.event()
    assert taken_back is not None
    assert (taken_back["method"], taken_back["params"]["requestId"]) == ("notifications/cancelled", asked["id"])
    last = await call.event()
    assert last is not None
    assert json.loads(last["result"]["content"][0]["text"])["content"] == {"name": "Eve"}


async def test_a_held_call_is_for_its_own_caller_and_its_own_words_only(house: McpHouse):
    web, thief = await client(house, ELICITS), await client(house, ELICITS)
    first = (await web.ask("tools/call", ASKS)).result
    given = {"question": {"action": "accept", "content": {"name": "Mallory"}}}
    more = {"requestState": first["requestState"], "inputResponses": given}
    assert "another caller" in (await thief.ask("tools/call", {**ASKS, **more})).error["message"]
    other = await web.ask("tools/call", {"name": "notes_asks", "arguments": {"message": "x"}, **more})
    assert "another call" in other.error["message"]
    given["question"] = {"action": "decline"}
    assert told(await web.ask("tools/call", {**ASKS, **more})) == {"action": "decline"}


async def test_through_mcp_call_the_question_reaches_the_same_person(house: McpHouse):
    web = await client(house, ELICITS)
    call = {"name": "mcp_call", "arguments": {"server": "notes", "tool": "asks"}}
    first = (await web.ask("tools/call", call)).result
    given = {"question": {"action": "accept", "content": {"name": "Ada"}}}
    done = await web.ask("tools/call", {**call, "requestState": first["requestState"], "inputResponses": given})
    assert told(done) == {"action": "accept", "content": {"name": "Ada"}}


async def test_a_call_that_waits_for_an_answer_ends_when_its_time_is_over(house: McpHouse, heard: Heard):
    brief = recipe("brief", "mcp/*")
    brief["strategy"]["aiCommands"]["timeoutSeconds"] = 3
    write_recipe(house.home, brief)
    await house.services.recipes.load()
    await house.owner("room/create", name="brief", recipe="brief")
    web = await house.web(room="brief", kind="service", app=app(house), capabilities=ELICITS)
    first = (await web.ask("tools/call", ASKS)).result
    assert (await heard.answered.get()).action == "gone"
    given = {"question": {"action": "accept", "content": {"name": "late"}}}
    late = await web.ask("tools/call", {**ASKS, "requestState": first["requestState"], "inputResponses": given})
    assert late.result["_meta"]["doorward/code"] == "timed_out"
    assert (
        "was stopped at its time limit of 3 s while the server notes waited for an answer to a question." in late.said
    )
    assert "doorward approvals questions" in late.result["_meta"]["doorward/hint"]


async def test_a_call_may_need_an_approval_and_then_an_answer(house: McpHouse):
    call = {"name": "mum_asks", "arguments": {}}
    said = {"action": "accept", "content": {"name": "Ada"}}
    web = await client(house, ELICITS)
    first = (await web.ask("tools/call", call)).result
    assert "wants to run mcp/mum/asks" in first["inputRequests"]["approval"]["params"]["message"]
    yes = {"requestState": first["requestState"], "inputResponses": {"approval": {"action": "accept"}}}
    second = (await web.ask("tools/call", {**call, **yes})).result
    assert "'mum' asks" in second["inputRequests"]["question"]["params"]["message"]
    more = {"requestState": second["requestState"], "inputResponses": {"question": said}}
    assert told(await web.ask("tools/call", {**call, **more})) == said
    session = await client(house, ELICITS)
    await session.initialize()
    running = await session.begin("tools/call", call).begun()
    for words, given in (("wants to run mcp/mum/asks", {"action": "accept"}), ("'mum' asks", said)):
        asked = await running.event()
        assert asked is not None
        assert words in asked["params"]["message"]
        await session.whole(session.answers(asked["id"], given))
    last = await running.event()
    assert last is not None
    assert json.loads(last["result"]["content"][0]["text"]) == said


async def test_reading_a_resource_is_approved_through_the_client_as_a_call_is(house: McpHouse):
    read = {"uri": "mcp://mum/note:///one"}
    web = await client(house, ELICITS)
    first = (await web.ask("resources/read", read)).result
    assert "mcp/mum/resources.read" in first["inputRequests"]["approval"]["params"]["message"]
    yes = {"requestState": first["requestState"], "inputResponses": {"approval": {"action": "accept"}}}
    assert (await web.ask("resources/read", {**read, **yes})).result["contents"][0]["text"] == "first"
    session = await client(house, ELICITS)
    await session.initialize()
    running = await session.begin("prompts/get", {"name": "mum_greet", "arguments": {"who": "Ada"}}).begun()
    asked = await running.event()
    assert asked is not None
    await session.whole(session.answers(asked["id"], {"action": "decline"}))
    last = await running.event()
    assert last is not None
    assert last["error"]["data"]["code"] == "not_approved"
