"""Questions wait in memory, few at a time, and what is answered is held against what was asked."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from doorward.core.classification import Access
from doorward.core.clock import Clock
from doorward.core.errors import BadParams, Conflict, NotFound, NotPermitted
from doorward.core.events import Bus, Event
from doorward.core.model import Call, Caller
from doorward.upstream.calls import QuestionAnswer, ServerQuestion
from doorward.upstream.questions import MAX_OPEN, MAX_OPEN_PER_CALL, Question, Questions

AGENT = Caller("local", "bot", "ai", Access.FULL, "ada")
ADA, EVE = Caller("local", "ada", "human", Access.FULL), Caller("rival", "eve", "human", Access.ROOT)
FORM = {
    "type": "object",
    "properties": {"age": {"type": "integer", "minimum": 1}, "mail": {"type": "string", "description": "a\u200bb"}},
    "required": ["age"],
}
DOUBLING = {
    "type": "object",
    "properties": {"age": {"$ref": "#/$defs/p20"}},
    "$defs": {"p0": {}, **{f"p{n}": {"allOf": [{"$ref": f"#/$defs/p{n - 1}"}] * 2} for n in range(1, 21)}},
}
"""A small form for which a million looks at one value would be needed."""


class House:
    def __init__(self) -> None:
        self.events: list[Event] = []
        bus = Bus()
        bus.subscribe(self.events.append)
        self.questions = Questions(bus, Clock())
        self.told: list[Question] = []

    def call(self, id: str = "c1") -> Call:
        class Named:
            name = "mcp/notes/asks"

        named: Any = Named()
        return Call(id, AGENT, named, {}, "general", "mcp", "", "", "/", "digest")

    def ask(self, wanted: ServerQuestion | None = None, call: str = "c1") -> asyncio.Task[QuestionAnswer]:
        return asyncio.ensure_future(self.questions.ask(self.call(call), wanted or form(), self.told.append))


def form(schema: Any = FORM, message: str = "How old?") -> ServerQuestion:
    return ServerQuestion(server="notes", kind="form", message=message, params={"requestedSchema": schema})


@pytest.fixture
def house() -> House:
    return House()


async def turns() -> None:
    """Let the event loop go round, so that whoever asks has asked, and whoever is cancelled has ended."""
    for _ in range(3):
        await asyncio.sleep(0)


async def test_an_answer_reaches_the_call_that_waits(house: House):
    asking = house.ask()
    await turns()
    (question,) = house.questions.list_open("local")
    assert question.form is not None
    assert question.form["properties"]["mail"]["description"] == "a\\u200bb"
    content = {"age": 36, "mail": "ada@example.org"}
    house.questions.answer(ADA, question.id, "accept", content)
    assert await asking == QuestionAnswer(action="accept", content=content)
    assert house.questions.list_open("local") == []
    assert [event.name for event in house.events] == ["question:asked", "question:answered"]
    assert "ada@example.org" not in str(house.events)
    assert "How old" not in str(house.events)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({}, "Missing field 'age'"),
        (None, "Missing field 'age'"),
        ({"age": "x"}, "field age must be an integer"),
        ({"age": 0}, "field age must be at least 1"),
        ({"age": 1, "more": 1}, "has no field 'more'; its fields: age, mail"),
    ],
)
async def test_what_does_not_fit_the_form_is_refused_and_the_question_stays(house: House, content: Any, words: str):
    asking = house.ask()
    await turns()
    with pytest.raises(BadParams, match=words):
        house.questions.answer(ADA, house.told[0].id, "accept", content)
    assert not asking.done()
    house.questions.answer(ADA, house.told[0].id, "cancel", content)
    assert await asking == QuestionAnswer(action="cancel")


async def test_only_people_of_the_same_tenant_answer_and_only_once(house: House):
    asking = house.ask()
    await turns()
    id = house.told[0].id
    for who, error in ((AGENT, NotPermitted), (EVE, NotFound)):
        with pytest.raises(error):
            house.questions.answer(who, id, "decline", None)
    assert house.questions.list_open("rival") == []
    house.questions.answer(ADA, id, "decline", None)
    with pytest.raises(Conflict):
        house.questions.answer(ADA, id, "accept", {"age": 1})
    assert await asking == QuestionAnswer(action="decline")
    with pytest.raises(NotFound):
        house.questions.answer(ADA, id, "decline", None)


async def test_a_person_is_not_the_agent_of_the_same_name(house: House):
    asking = house.ask()
    await turns()
    (question,) = house.told
    assert question.concerns(ADA), "the agent called for her"
    assert not question.concerns(Caller("local", "bot", "human", Access.FULL)), "who is not the agent that called"
    assert not question.concerns(Caller("local", "ada", "ai", Access.FULL))
    asking.cancel()
    await turns()


async def test_a_call_that_ends_takes_its_question_along(house: House):
    asking = house.ask()
    await turns()
    over = house.questions.closed_future(house.told[0].id)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert over.done()
    assert house.questions.closed_future("gone").done()
    assert house.questions.list_open("local") == []
    assert [getattr(event, "action", "") for event in house.events] == ["", "gone"]


async def test_there_are_never_more_than_so_many(house: House):
    asking = [house.ask(call=f"c{at // MAX_OPEN_PER_CALL}") for at in range(MAX_OPEN)]
    await turns()
    with pytest.raises(Conflict, match=f"{MAX_OPEN} questions are open"):
        await house.ask(call="other")
    asking.pop().cancel()
    await turns()
    with pytest.raises(Conflict, match=f"{MAX_OPEN_PER_CALL} questions of this call"):
        await house.ask(call="c0")
    for one in asking:
        one.cancel()
    await asyncio.wait(asking)


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (7, "is not an object schema"),
        ({"properties": []}, "is not an object schema"),
        ({"type": "object", "properties": {"a": {"$ref": "http://10.0.0.1/x"}}}, "not a usable schema"),
        ({"type": "object", "properties": {"a": {"description": "x" * 40_000}}}, "larger than 32768 bytes"),
        (DOUBLING, "visited more than 2000 times"),
    ],
)
async def test_a_form_that_nobody_could_be_shown_is_not_asked(house: House, schema: Any, words: str):
    with pytest.raises(BadParams, match=words):
        await house.ask(form(schema))
    assert house.told == []
    assert house.questions.list_open("local") == []


async def test_what_a_person_reads_hides_nothing_and_has_an_end(house: House):
    asking = house.ask(form(message="\x1b[2J\u202e" + "x" * 20_000))
    await turns()
    message = house.told[0].message
    assert message.startswith("\\u001b[2J\\u202exxx")
    assert message.endswith("… (20005 characters)")
    asking.cancel()


async def test_a_model_is_asked_only_through_the_client_that_takes_the_question_to_it(house: House):
    large = ServerQuestion(server="notes", kind="sampling", message="", params={"messages": ["x" * 1_000_000]})
    with pytest.raises(BadParams, match="larger than 1000000 bytes"):
        await house.ask(large)
    wanted = ServerQuestion(server="notes", kind="sampling", message="", params={"messages": []})
    with pytest.raises(NotPermitted, match="offers its model"):
        await house.ask(wanted)

    def take(question: Question) -> None:
        house.told.append(question)
        house.questions.take_for_model(question.id)

    asking = asyncio.ensure_future(house.questions.ask(house.call(), wanted, take))
    await turns()
    id = house.told[1].id
    assert house.questions.list_open("local") == [], "it is no question to people"
    with pytest.raises(NotPermitted):
        house.questions.answer(ADA, id, "accept", None)
    with pytest.raises(NotPermitted):
        house.questions.answer_sampling(ADA, id, {"role": "assistant"})
    house.questions.answer_sampling(AGENT, id, {"role": "assistant"})
    house.questions.answer_sampling(AGENT, id, None)
    assert await asking == QuestionAnswer(action="accept", content={"role": "assistant"})
    assert house.events == []
