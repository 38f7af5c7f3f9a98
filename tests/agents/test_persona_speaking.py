"""When a persona speaks, and when it keeps silent."""

from __future__ import annotations

import pytest

from doorward.agents.personas.reply_rules import should_answer
from doorward.core.classification import Role
from doorward.core.model import Kind
from doorward.rooms.message import Card, Message
from doorward.rooms.personas.persona import Persona
from doorward.rooms.rooms import Member, Room

ADA = Persona(persona_id="ada", display_name="Ada Lovelace")


def room(*ais: str, people: int = 2, direct: bool = False, archived: bool = False) -> Room:
    members = {f"p{number}": Member(f"p{number}", "human", Role.MEMBER) for number in range(people)}
    members |= {id: Member(id, "ai", Role.MEMBER) for id in ais}
    return Room("local", "lab", "lab", "r", members, archived, direct=direct)


def said(text: str, sender: str = "p0", kind: Kind = "human", **more: object) -> Message:
    return Message(id="1", tenant="local", room="lab", sender=sender, kind=kind, text=text, at=1.0, **more)


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("@ada look", True),
        ("look, @Ada!", True),
        ("ask Ada Lovelace about it", True),
        ("mail me at x@ada", False),
        ("@ada-two look", False),
        ("@adam look", False),
        ("the Adam of Ada Lovelaces", False),
        ("nice weather", False),
        ("what is this?", True),
        ("show me the rooms", True),
        ("could somebody please look", True),
        ("approve", False),
        ("deny 1m7j6pkg0km1nv3p", False),
        ("deny everything?", True),
        ("@p1 what do you think?", False),
        ("P1, are you there?", False),
        ("hey p1: what did Ada Lovelace say?", False),
        ("p1, could you ask @ada?", True),
        ("p1 is where?", True),
        ("wie viele Räume gibt es？", True),
    ],
)
def test_the_only_ai_among_people_answers_who_names_or_asks_it(text: str, spoken: bool) -> None:
    assert should_answer(ADA, room("ada"), "", said(text)) is spoken


@pytest.mark.parametrize(
    ("pattern", "text", "spoken"),
    [
        ("", "what is this?", False),
        ("", "@ada hello", True),
        ("a-word-for-people", "what is this?", False),
        ("collaborative-research", "what is this?", True),
        ("collaborative-research", "nice weather", False),
        ("collaborative-research", "@bob what is this?", False),
        ("always", "nice weather", True),
        ("always", "approve", False),
        ("on-mention", "what is this?", False),
        ("on-mention", "@ada what is this?", True),
        ("silent", "@ada what is this?", False),
    ],
)
def test_among_several_ais_the_pattern_of_the_recipe_decides(pattern: str, text: str, spoken: bool) -> None:
    assert should_answer(ADA, room("ada", "bob"), pattern, said(text)) is spoken


def test_whatever_is_said_in_a_room_of_two_is_said_to_the_other() -> None:
    assert should_answer(ADA, room("ada", people=1), "", said("hm"))
    assert should_answer(ADA, room("ada", people=1, direct=True), "", said("hm"))
    assert not should_answer(ADA, room("ada", people=1), "on-mention", said("hm"))


def test_an_ai_is_answered_only_when_it_names_another_and_never_itself() -> None:
    both = room("ada", "bob")
    assert not should_answer(ADA, both, "always", said("what is this?", "bob", "ai"))
    assert should_answer(ADA, both, "", said("@ada what is this?", "bob", "ai"))
    assert not should_answer(ADA, both, "always", said("@ada what is this?", "ada", "ai"))


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("@ada what is this?", True),
        ("I do not know. @Ada, do you?", True),
        ("It says so.\n@ada look", True),
        ("@bob, @carl and @ada: look", True),
        ("@bob and I asked @ada", False),
        ("Ada Lovelace, show me the rooms", False),
        ("I asked @ada before.", False),
        ('Somebody said: "Hi. @ada show me the rooms"', False),
        ("Somebody said: \u201c@ada show me the rooms\u201d", False),
        ("Somebody said 'Look! @ada show me the rooms'", False),
        ("> @ada show me the rooms", False),
        ("It holds `x. @ada look`", False),
        ("```\n@ada show me the rooms\n```", False),
        ("```\n@ada show me the rooms", False),
        ("It isn't here. @ada, look", True),
    ],
)
def test_what_an_ai_only_quotes_or_tells_speaks_to_nobody(text: str, spoken: bool) -> None:
    assert should_answer(ADA, room("ada", "bob"), "", said(text, "bob", "ai")) is spoken


def test_nobody_answers_cards_what_was_taken_back_closed_rooms_or_rooms_of_others() -> None:
    card = Card(command="data/list", state="done")
    assert not should_answer(ADA, room("ada"), "always", said("@ada", attachments=(card,)))
    assert not should_answer(ADA, room("ada"), "always", said("@ada", deleted_at=2.0))
    assert not should_answer(ADA, room("ada", archived=True), "always", said("@ada"))
    assert not should_answer(ADA, room("bob"), "always", said("@ada"))


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("We decided to use PostgreSQL with a normalized schema.", False),
        ("Lunch is at noon.", False),
        ("deny everything", False),
        ("now delete it", True),
        ("paint the fence blue", True),
        ("@ada lunch is at noon.", True),
        ("hello", True),
        ("thanks a lot", True),
        ("git status", True),
        ("How many rooms do we have?", True),
    ],
)
def test_who_thinks_by_rules_keeps_silent_where_nothing_is_asked(text: str, spoken: bool) -> None:
    assert should_answer(ADA, room("ada", people=1), "", said(text), thinks_by_rules=True) is spoken
    assert should_answer(ADA, room("ada", people=1), "", said(text))


def test_who_thinks_by_rules_keeps_silent_among_people_who_ask_it_nothing() -> None:
    assert not should_answer(ADA, room("ada", people=2), "", said("paint the fence blue"), thinks_by_rules=True)
