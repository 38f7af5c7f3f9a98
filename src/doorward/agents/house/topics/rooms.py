"""One room: who is in it, its topic and the rules of its recipe."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from doorward.agents.house.plan import NotOffered, Reading, Step, Steps, Unknown
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.sentences import bullets, field_words, in_a_row, name, number, one_line, value
from doorward.agents.house.topics.vocabulary import words_of
from doorward.agents.house.topics.wording import Wording


def read(context: RequestContext) -> Iterable[Reading]:
    words = words_of("rooms")
    for what in ("members", "topic", "recipe"):
        wording = Wording(context)
        if not wording.take(words[what]):
            continue
        count = wording.count()
        room = wording.room(words[what], ("to", "governs", "does") if what != "topic" else ())
        if not room and what == "members" and wording.has("here|who else"):
            room = context.conversation.room
        if room:
            wording.take(words["may"])
            yield wording.reading(what, _steps(context, what, room, count=count), f"the {what} of {room}")


def _steps(context: RequestContext, what: str, room: str, *, count: bool) -> Callable[[], Steps]:
    return (lambda: _members(context, room, count=count)) if what == "members" else lambda: _show(context, room, what)


def _look_up(context: RequestContext, command: str, room: str) -> Step:
    if context.offered(command):
        return Step(command, {"name": room})
    if not context.offered("data/list"):
        raise NotOffered(command)
    where = {"$or": [{"id": room}, {"name": room}]}
    return Step("data/list", {"collection": "rooms", "filter": where, "limit": 1})


def _members(context: RequestContext, room: str, *, count: bool) -> Steps:
    (listed,) = yield [_look_up(context, "room/who", room)]
    found = [one for one in listed.items if isinstance(one, dict)]
    if not context.offered("room/who"):
        found = [one for each in found for one in each.get("members", []) if isinstance(one, dict)]
    members = [name(str(one.get("member") or one.get("id"))) for one in found]
    place = "this room" if room == context.conversation.room else f"the room {name(room)}"
    if count:
        return f"{number(len(members))} {'member is' if len(members) == 1 else 'members are'} in {place}."
    if len(members) == 1:
        return f"Only {members[0]} is in {place}."
    return f"{number(len(members))} are in {place}: {in_a_row(members)}."


def _show(context: RequestContext, room: str, what: str) -> Steps:
    (result,) = yield [_look_up(context, "room/show", room)]
    found = (result.items or [result.value])[0]
    found = found if isinstance(found, dict) else {}
    topic, recipe = one_line(str(found.get("topic") or "")), str(found.get("recipe") or "")
    governs = f"The recipe of the room {name(room)} is {name(recipe)}." if recipe else ""
    if what == "recipe":
        return governs or f"The room {name(room)} has no recipe."
    about = f"The topic of the room {name(room)}: “{topic}”." if topic else f"The room {name(room)} has no topic."
    return f"{about} {governs}".strip()


def show_recipe(context: RequestContext, id: str) -> Steps:
    """Show the rules of a recipe."""
    if not context.offered("recipe/show"):
        raise NotOffered("recipe/show")
    (result,) = yield [Step("recipe/show", {"id": id})]
    body = result.value.get("recipe") if isinstance(result.value, dict) else None
    if not isinstance(body, dict):
        raise Unknown(f"I do not know how to show the recipe {name(id)}.")
    strategy = body.get("strategy")
    rules = strategy.get("aiCommands") if isinstance(strategy, dict) else None
    lines = [f"{field_words(key)}: {value(key, one)}" for key, one in rules.items()] if isinstance(rules, dict) else []
    called, description = str(body.get("displayName") or id), one_line(str(body.get("description") or ""))
    head = f"The recipe {name(id)} is called {name(called)}: “{description}”"
    return f"{head}\nIts rules for commands of AIs:\n{bullets(lines)}" if lines else head
