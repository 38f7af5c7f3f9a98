"""Requests for lists and counts of calls, approvals, messages, rooms, users, recipes, personas and servers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from doorward.agents.house.plan import Reading, Steps
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.topics.rooms import show_recipe
from doorward.agents.house.topics.system_lists import RecordQuery, answer_query
from doorward.agents.house.topics.vocabulary import Quality, RecordTopic, vocabulary, words_of
from doorward.agents.house.topics.wording import Wording

_WHO = "who|whom|which caller|which agent|which user|which person|which persona|what agent|callers|which ai"
_MOST = "most often|most frequently|most used|the most|most|busiest|most active|more often"


def read(context: RequestContext) -> Iterable[Reading]:
    for topic in vocabulary().records:
        wording = Wording(context)
        query = _read(wording, topic)
        if query is not None:
            yield wording.reading(topic.many, _steps(context, query), query.says)


def _steps(context: RequestContext, query: RecordQuery) -> Callable[[], Steps]:
    if query.topic.many == "recipes" and query.name:
        return lambda: show_recipe(context, query.name)
    return lambda: answer_query(context, query)


def _read(wording: Wording, topic: RecordTopic) -> RecordQuery | None:
    """Read a request; None if it is not about these records."""
    if topic.unless and wording.has(topic.unless):
        return None
    verbs = bool(topic.verbs) and wording.has(topic.verbs)
    who = bool(topic.people) and wording.has(_WHO)
    group = wording.group(topic.fields)
    grouped = set(wording.used)
    span, limit = wording.span(), wording.limit()
    nouns = wording.take(topic.words)
    qualities, negated = _qualities(wording, topic, grouped)
    alone = any(one.alone == "*" or (one.alone and wording.has(one.alone)) for one in qualities)
    if not (nouns or verbs or alone):
        return None
    count = wording.count()
    if not (topic.bare or group or wording.has("most recent")) and (nouns or who) and wording.take(_MOST):
        group = "caller" if who or wording.has("caller|agent|user|persona|person") else "command"
    if span is not None and not topic.line:
        wording.take("create|make|add|new|open|begin|appear")
    command = wording.command() if topic.verbs and not topic.about else ""
    if command and wording.has(words_of("help")["describe"]):
        return None
    about_words = topic.about + ("|for" if topic.about and wording.has("search|look|find") else "")
    about_starts = min(wording.find(about_words) - wording.used, default=None) if topic.about else None
    person = ""
    if topic.people:
        wording.take(_WHO)
        person = wording.person(topic.person_leads.split("|"), about_starts)
    qualified = bool(qualities or person or span or limit or group or command or who)
    if not (nouns or alone or (verbs and (person or command))) or (nouns and not topic.bare and not qualified):
        return None
    field = "" if group else _field(wording, topic, qualities, created=bool(span or limit))
    wording.take(f"{topic.verbs}|{topic.may}")
    room = ""
    if topic.in_room and wording.rest and (about_starts is None or wording.has("in|room|channel|here")):
        room = wording.room("message|messages|post|posts|chat|conversation", ("does", "has", "to"), about_starts)
    about = wording.behind(about_words) if topic.about else []
    for quality in qualities:
        about = about or (wording.behind(quality.words) if quality.begins_about else [])
    named = _named_values(wording, topic)
    called = ""
    if topic.label and not topic.line and wording.rest:
        leads = topic.names_behind.split("|")
        called = wording.name(topic.words, wording.known(topic.collection, topic.label[0]), leads)
    if who and topic.verbs and not (count or group or command or qualities or limit or topic.about):
        group = topic.people[0]
    return RecordQuery(
        topic=topic,
        qualities=tuple(qualities),
        negated=frozenset(negated),
        values=named | ({"command": command} if command else {}) | ({"room": room} if room else {}),
        person=person,
        own=bool(person) and person == wording.context.conversation.speaker,
        about=tuple(dict.fromkeys(one.stem for one in about)),
        name=called,
        field=field if called else "",
        span=span,
        limit=limit,
        group=group,
        count=count or bool(group),
    )


def _qualities(wording: Wording, topic: RecordTopic, grouped: set[int]) -> tuple[list[Quality], set[str]]:
    """Take the qualities, and those of them that `not` stands before."""
    found: list[Quality] = []
    negated: set[str] = set()
    taken = set(grouped)
    for one in topic.qualities:
        places = wording.find(one.words)
        if not places - taken:
            continue
        before = {place - 1 for place in places} & wording.find("not|no|non")
        if before and not topic.line:
            wording.used |= before
            negated.add(one.says)
        taken |= places
        wording.used |= places
        found.append(one)
    return found, negated


def _field(wording: Wording, topic: RecordTopic, qualities: Iterable[Quality], *, created: bool) -> str:
    """Take the field that is asked for."""
    found = ""
    conditions = {field for one in qualities for field in one.where}
    for phrases, field in topic.fields.items():
        if field == "createdAt" and not (created or wording.has("when")):
            continue
        if not topic.line and wording.take(phrases) and field not in conditions:
            found = field
    return found


def _named_values(wording: Wording, topic: RecordTopic) -> dict[str, Any]:
    """Take a value beside the name of its field: `with the recipe support`, `the support recipe`."""
    found = {}
    for phrases, field in topic.fields.items():
        for place in sorted(wording.find(phrases)) if field in topic.named else ():
            beside = next((one for one in (place + 1, place - 1) if one in wording.rest), None)
            if beside is not None:
                wording.used.add(beside)
                found[field] = wording.request.tokens[beside].text
    return found
