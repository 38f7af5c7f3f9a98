"""One room: who is in it, its topic and its recipe."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from doorward.agents.house.plan import NotOffered, Reading, Step, Steps
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.sentences import in_a_row, name, number, one_line
from doorward.agents.house.topics.vocabulary import words_of
from doorward.agents.house.topics.wording import Wording


def read(context: RequestContext) -> Iterable[Reading]:
    words = words_of("rooms")
    for what, phrases in (("members", words["members"]), ("topic", words["topic"]), ("recipe", words["recipe"])):
        wording = Wording(context)
        if not wording.take(phrases):
            continue
        count = wording.count()
        room = wording.room(phrases, ("to", "governs", "does") if what != "topic" else ())
        if not room and what == "members" and context.conversation.room and wording.has("here|who else"):
            room = context.conversation.room
        if not room:
            continue
        wording.take(words["may"])
        yield wording.reading(what, _steps(context, what, room, count=count), f"the {what} of {room}")


def _steps(context: RequestContext, what: str, room: str, *, count: bool) -> Any:
    if what == "members":
        return lambda: _members(context, room, count=count)
    return lambda: _show(context, room, what)


def _members(context: RequestContext, room: str, *, count: bool) -> Steps:
    if context.offered("room/who"):
        (listed,) = yield [Step("room/who", {"name": room})]
        members = [str(one.get("member")) for one in listed.items if isinstance(one, dict)]
    else:
        found = yield from _room(context, room)
        members = [str(one.get("id")) for one in found.get("members", []) if isinstance(one, dict)]
    place = "this room" if room == context.conversation.room else f"the room {name(room)}"
    if count:
        return f"{number(len(members))} {'member is' if len(members) == 1 else 'members are'} in {place}."
    if len(members) == 1:
        return f"Only {name(members[0])} is in {place}."
    return f"{number(len(members))} are in {place}: {in_a_row([name(one) for one in members])}."


def _show(context: RequestContext, room: str, what: str) -> Steps:
    if context.offered("room/show"):
        (result,) = yield [Step("room/show", {"name": room})]
        found = result.value if isinstance(result.value, dict) else {}
    else:
        found = yield from _room(context, room)
    topic, recipe = one_line(str(found.get("topic") or "")), str(found.get("recipe") or "")
    called = f"the room {name(room)}"
    governs = f"Its recipe is {name(recipe)}." if recipe else ""
    if what == "recipe":
        return f"The recipe of {called} is {name(recipe)}." if recipe else f"{called.capitalize()} has no recipe."
    subject = f"The topic of {called}: “{topic}”." if topic else f"{called.capitalize()} has no topic."
    return f"{subject} {governs}".strip()


def _room(context: RequestContext, room: str) -> Any:
    if not context.offered("data/list"):
        raise NotOffered("room/show")
    where = {"$or": [{"id": room}, {"name": room}]}
    (listed,) = yield [Step("data/list", {"collection": "rooms", "filter": where, "limit": 1})]
    return listed.items[0] if listed.items and isinstance(listed.items[0], dict) else {}
