"""What a server may ask in the middle of a call, in either era, and who answers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from scripted import NEW, SECRET, Asked, Message, Wire, calling, opened, turns

from doorward.core.errors import CommandFailed, TimedOut, Unreachable
from doorward.upstream.calls import CallHooks, QuestionAnswer
from doorward.upstream.session import ServerError


@pytest.mark.parametrize("kind", ["form", "url"])
async def test_a_question_of_the_older_era_reaches_the_only_call_and_its_answer_goes_back(kind: str) -> None:
    session, wire, _ = await opened()
    person = Asked(QuestionAnswer(action="accept", content={"name": "x"}))
    task = calling(session, hooks=CallHooks(ask=person))
    await turns()
    about = {"message": "Who?", "requestedSchema": {}} if kind == "form" else {"message": "Look", "url": "https://a/"}
    wire.say({"id": "q", "method": "elicitation/create", "params": {"mode": kind, **about}})
    await turns()
    assert [(wanted.server, wanted.kind) for wanted in person.wanted] == [("it", kind)]
    content = {"content": {"name": "x"}} if kind == "form" else {}
    assert wire.sent[1] == {"jsonrpc": "2.0", "id": "q", "result": {"action": "accept", **content}}
    wire.answer(wire.sent[0], {})
    await task


async def test_a_question_is_cancelled_when_nobody_can_be_asked_or_nobody_knows_whose_it_is() -> None:
    session, wire, _ = await opened()
    question = {"method": "elicitation/create", "params": {"message": "Who?", "requestedSchema": {}}}
    person = Asked()
    wire.say({"id": 1, **question})
    await turns()
    first = calling(session, hooks=CallHooks())
    await turns()
    wire.say({"id": 2, **question})
    await turns()
    second = calling(session, hooks=CallHooks(ask=person))
    await turns()
    wire.say({"id": 3, **question})
    await turns()
    answers = {message["id"]: message["result"] for message in wire.sent if "result" in message}
    assert answers == {number: {"action": "cancel"} for number in (1, 2, 3)}
    assert person.wanted == []
    first.cancel(), second.cancel()


def _of(person: Asked, *who: str) -> list[CallHooks]:
    return [CallHooks(ask=person, person=("local", one), log=lambda *_: None) for one in who]


async def test_a_question_among_several_calls_for_one_person_reaches_that_person_until_the_last_is_over() -> None:
    session, wire, _ = await opened()
    person = Asked(QuestionAnswer(action="accept", content={"name": "x"}))
    person.waits = asyncio.Event()
    older, newer = [calling(session, hooks=hooks, within=0.5) for hooks in _of(person, "ada", "ada")]
    await turns()
    wire.say({"id": 1, "method": "elicitation/create", "params": {"message": "Who?", "requestedSchema": {}}})
    await turns()
    wire.answer(wire.sent[1], {"content": []})
    await newer
    with pytest.raises(TimedOut):  # by then the older one would be over as well, were nobody asked
        await calling(session, within=1.0)
    person.waits.set()
    await turns()
    assert len(person.wanted) == 1
    assert [one["result"] for one in wire.sent if "result" in one] == [{"action": "accept", "content": {"name": "x"}}]
    wire.answer(wire.sent[0], {"content": []})
    await older


async def test_a_question_among_calls_for_several_people_is_put_to_none_and_each_is_told() -> None:
    session, wire, heard = await opened()
    person = Asked()
    hooks = _of(person, "ada", "bob")
    calls = [calling(session, hooks=one) for one in hooks]
    await turns()
    for number in (1, 2):
        wire.say({"id": number, "method": "elicitation/create", "params": {"message": "Who?", "requestedSchema": {}}})
    await turns()
    assert [one["result"] for one in wire.sent if "result" in one] == [{"action": "cancel"}] * 2
    assert person.wanted == []
    (remark,) = hooks[0].remarks
    assert hooks[1].remarks == [remark]
    assert "calls of several people are running" in remark
    assert ("fault", remark) in heard.notes
    for one in calls:
        one.cancel()


async def test_what_a_server_asks_a_model_among_several_calls_is_refused_whoever_they_are_for() -> None:
    session, wire, _ = await opened(sampling=True)
    person = Asked()
    calls = [calling(session, hooks=hooks) for hooks in _of(person, "ada", "ada")]
    await turns()
    wire.say({"id": 1, "method": "sampling/createMessage", "params": {"messages": []}})
    await turns()
    assert [one["error"]["code"] for one in wire.sent if "error" in one] == [-1]
    assert person.wanted == []
    for one in calls:
        one.cancel()


async def test_secrets_that_the_server_was_given_are_hidden_in_its_questions() -> None:
    session, wire, _ = await opened()
    person = Asked(QuestionAnswer(action="cancel"))
    task = calling(session, hooks=CallHooks(ask=person))
    await turns()
    form = {"type": "object", "properties": {"a": {"type": "string", "description": f"not {SECRET}"}}}
    about = {"message": f"Is {SECRET} right?", "requestedSchema": form}
    wire.say({"id": 1, "method": "elicitation/create", "params": about})
    await turns()
    (wanted,) = person.wanted
    assert wanted.message == "Is [redacted] right?"
    assert SECRET not in repr(wanted)
    assert wanted.params["requestedSchema"]["properties"]["a"] == {"type": "string", "description": "not [redacted]"}
    task.cancel()


async def test_the_time_of_a_call_stands_still_while_a_person_thinks() -> None:
    session, wire, _ = await opened()
    person = Asked(QuestionAnswer(action="decline"))
    person.waits = asyncio.Event()
    task = calling(session, hooks=CallHooks(ask=person), within=0.5)
    await turns()
    wire.say({"id": 1, "method": "elicitation/create", "params": {"message": "Who?", "requestedSchema": {}}})
    with pytest.raises(TimedOut):  # another call, just as patient, made later
        await calling(session, within=0.5)
    assert not task.done()
    person.waits.set()
    await turns()
    wire.answer(wire.sent[0], {"content": []})
    assert await task == {"content": []}


async def test_a_question_is_taken_back_with_its_call_or_by_the_server() -> None:
    session, wire, _ = await opened()
    person = Asked(QuestionAnswer(action="accept"), QuestionAnswer(action="accept"))
    person.waits = asyncio.Event()
    question = {"method": "elicitation/create", "params": {"message": "Who?", "requestedSchema": {}}}
    task = calling(session, hooks=CallHooks(ask=person))
    await turns()
    wire.say({"id": 1, **question})
    await turns()
    wire.say({"method": "notifications/cancelled", "params": {"requestId": 1}})
    wire.say({"id": 2, **question})
    await turns()
    wire.answer(wire.sent[0], {})
    await task
    await turns()
    person.waits.set()
    await turns()
    assert len(person.wanted) == 2
    answers = [(one["id"], one["result"]) for one in wire.sent if "result" in one]
    assert answers == [(2, {"action": "cancel"})], "what a server took back itself it is not told of"


@pytest.mark.parametrize("ended", ["while somebody thinks", "before anybody does", "with the connection"])
async def test_a_server_is_told_that_nobody_answers_once_the_call_of_its_question_is_over(ended: str) -> None:
    session, wire, heard = await opened(sampling=True)
    person = Asked()
    person.waits = asyncio.Event()
    call = calling(session, hooks=CallHooks(ask=person))
    await turns()
    wire.say({"id": "who", "method": "elicitation/create", "params": {"message": "Who?", "requestedSchema": {}}})
    wire.say({"id": "what", "method": "sampling/createMessage", "params": {"messages": []}})
    if ended != "before anybody does":
        await turns()
    if ended == "with the connection":
        session.lost(Unreachable("It ended."))
    else:
        call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    await turns()
    told = {one["id"]: one.get("result") or one["error"]["code"] for one in wire.sent if "method" not in one}
    assert told == ({} if ended == "with the connection" else {"who": {"action": "cancel"}, "what": -1})
    assert [what for what, _ in heard.notes if what == "fault"] == []


async def test_one_call_brings_at_most_ten_questions() -> None:
    session, wire, _ = await opened()
    person = Asked(*[QuestionAnswer(action="decline") for _ in range(20)])
    task = calling(session, hooks=CallHooks(ask=person))
    await turns()
    for number in range(12):
        wire.say({"id": number, "method": "elicitation/create", "params": {"message": "?", "requestedSchema": {}}})
        await turns()
    refused = [message["error"]["message"] for message in wire.sent if "error" in message]
    assert refused == ["One call may ask at most 10 questions."] * 2
    assert len(person.wanted) == 10
    task.cancel()


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("roots/list", {}, -32601),
        ("sampling/createMessage", {"messages": []}, -32601),
        ("elicitation/create", {"mode": "mind-reading", "message": "?"}, -32602),
        ("elicitation/create", {"message": 7, "requestedSchema": {}}, -32602),
        ("elicitation/create", {"message": "?"}, -32602),
        ("elicitation/create", {"mode": "url", "message": "?"}, -32602),
        ("elicitation/create", {"message": "?" * 20_000, "requestedSchema": {}}, -32602),
        ("something/else", {}, -32601),
    ],
)
async def test_what_a_server_may_not_ask_is_refused(method: str, params: dict[str, Any], code: int) -> None:
    session, wire, _ = await opened()
    person = Asked()
    task = calling(session, hooks=CallHooks(ask=person))
    await turns()
    wire.say({"id": 5, "method": method, "params": params})
    await turns()
    assert (wire.sent[1]["id"], wire.sent[1]["error"]["code"]) == (5, code)
    assert person.wanted == []
    task.cancel()


async def test_a_ping_is_answered() -> None:
    _, wire, _ = await opened()
    wire.say({"id": "p", "method": "ping"})
    assert wire.sent == [{"jsonrpc": "2.0", "id": "p", "result": {}}]


async def test_sampling_is_carried_only_where_the_operator_allows_it_and_somebody_has_a_model() -> None:
    session, wire, _ = await opened(sampling=True)
    result = {"role": "assistant", "content": {"type": "text", "text": "Paris"}, "model": "m"}
    person = Asked(QuestionAnswer(action="accept", content=result), QuestionAnswer(action="decline"))
    task = calling(session, hooks=CallHooks(ask=person))
    await turns()
    for number in (1, 2):
        wire.say({"id": number, "method": "sampling/createMessage", "params": {"messages": []}})
        await turns()
    assert wire.sent[1]["result"] == result
    assert wire.sent[2]["error"]["code"] == -1
    assert [wanted.kind for wanted in person.wanted] == ["sampling"] * 2
    task.cancel()
    await asyncio.wait([task])
    other = calling(session, hooks=CallHooks())
    await turns()
    wire.say({"id": 3, "method": "sampling/createMessage", "params": {"messages": []}})
    await turns()
    assert wire.sent[-1]["error"]["code"] == -1
    other.cancel()


async def test_in_the_newer_era_every_request_says_all_about_itself_and_a_server_cannot_ask() -> None:
    session, wire, _ = await opened(NEW, sampling=True)
    task = calling(session, hooks=CallHooks(log=lambda level, line: None, level="warning"))
    await turns()
    about = wire.sent[0]["params"]["_meta"]
    prefix = "io.modelcontextprotocol/"
    assert about[f"{prefix}protocolVersion"] == NEW
    assert about[f"{prefix}clientInfo"]["name"] == "doorward"
    assert about[f"{prefix}clientCapabilities"] == {"elicitation": {"form": {}, "url": {}}, "sampling": {}}
    assert about[f"{prefix}logLevel"] == "warning"
    wire.say({"id": 1, "method": "elicitation/create", "params": {"message": "?", "requestedSchema": {}}})
    assert session.faults == 1
    assert len(wire.sent) == 1
    task.cancel()


async def test_what_a_server_of_the_newer_era_wants_to_know_is_found_out_and_sent_with_its_state_unchanged() -> None:
    session, wire, _ = await opened(NEW)
    person = Asked(QuestionAnswer(action="accept", content={"name": "x"}), QuestionAnswer(action="decline"))
    task = calling(session, "t", CallHooks(ask=person))
    await turns()
    elicit = {"method": "elicitation/create", "params": {"message": "Who?", "requestedSchema": {}}}
    state = 'opaque \u2028 "state"'
    wire.answer(
        wire.sent[0],
        {"resultType": "input_required", "inputRequests": {"a": elicit, "b": elicit}, "requestState": state},
    )
    await turns()
    first, second = wire.asked("tools/call")
    assert first["id"] != second["id"]
    assert second["params"]["requestState"] == state
    assert second["params"]["name"] == "t"
    assert second["params"]["inputResponses"] == {
        "a": {"action": "accept", "content": {"name": "x"}},
        "b": {"action": "decline"},
    }
    wire.answer(second, {"resultType": "input_required", "requestState": "more time"})
    wire.heard_from_us.clear()
    await wire.heard_from_us.wait()
    third = wire.asked("tools/call")[2]
    assert third["params"]["requestState"] == "more time"
    assert "inputResponses" not in third["params"]
    wire.answer(third, {"resultType": "complete", "content": []})
    assert (await task)["content"] == []


@pytest.mark.parametrize(
    ("result", "error", "sentence"),
    [
        ({"resultType": "input_required"}, Unreachable, "does not say which"),
        ({"resultType": "input_required", "inputRequests": [1]}, Unreachable, "sent invalid `inputRequests`"),
        (
            {"resultType": "input_required", "inputRequests": {"a": {"method": 1}}},
            Unreachable,
            "an invalid input request",
        ),
        ({"resultType": "input_required", "requestState": 7}, Unreachable, "valid: a text"),
        ({"resultType": "riddle"}, Unreachable, "unknown result type 'riddle'"),
        (
            {"resultType": "input_required", "inputRequests": {"a": {"method": "roots/list"}}},
            CommandFailed,
            "requires input before it answers",
        ),
        (
            {"resultType": "input_required", "inputRequests": {"a": {"method": "sampling/createMessage"}}},
            CommandFailed,
            "sampling is not enabled",
        ),
    ],
)
async def test_a_wish_for_input_that_is_none_costs_one_error(
    result: dict[str, Any], error: type[Exception], sentence: str
) -> None:
    session, wire, _ = await opened(NEW)
    task = calling(session, hooks=CallHooks(ask=Asked()))
    await turns()
    wire.answer(wire.sent[0], result)
    with pytest.raises(error, match=sentence):
        await task


async def test_a_server_that_is_never_content_is_given_up_after_ten_rounds() -> None:
    session, wire, _ = await opened(NEW)
    elicit = {"method": "elicitation/create", "params": {"message": "Who?", "requestedSchema": {}}}
    wire.reply = lambda wire, asked: wire.answer(
        asked, {"resultType": "input_required", "inputRequests": {"a": elicit}}
    )
    with pytest.raises(CommandFailed, match="asked for input 10 times"):
        await calling(session, hooks=CallHooks())
    assert len(wire.asked("tools/call")) == 11


async def test_a_person_goes_where_an_older_server_sends_them_and_the_call_is_made_again() -> None:
    place = {"mode": "url", "message": "Log in there", "url": "https://example.com/", "elicitationId": "1"}
    for given, data, calls in (
        (QuestionAnswer(action="accept"), {"elicitations": [place]}, 2),
        (QuestionAnswer(action="decline"), {"elicitations": [place]}, 1),
        (QuestionAnswer(action="accept"), {"elicitations": [{**place, "mode": "form"}]}, 1),
        (QuestionAnswer(action="accept"), {"elicitations": "there"}, 1),
    ):
        session, wire, _ = await opened()
        person = Asked(given)

        def reply(wire: Wire, asked: Message, data: Message = data) -> None:
            if len(wire.asked("tools/call")) == 2:
                wire.answer(asked, {"content": []})
            else:
                wire.fail(asked, -32042, "This request needs more information.", data)

        wire.reply = reply
        (end,) = await asyncio.gather(calling(session, hooks=CallHooks(ask=person)), return_exceptions=True)
        assert len(wire.asked("tools/call")) == calls
        assert isinstance(end, dict) is (calls == 2)
        assert isinstance(end, dict | ServerError)
