"""Requests about Doorward itself: its calls, messages, approvals, rooms, people, log, collections and machine."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from doorward.agents.house.plan import Reading
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.topics import chart, help, machine, rooms, schemas, status, system_records
from doorward.agents.house.topics.follow_up import expand, is_elliptic
from doorward.agents.house.words import name_words, stem

_TOPICS = (status, chart, rooms, system_records, schemas, machine, help)


def read(context: RequestContext) -> Iterable[Reading]:
    """Return the best reading that explains every word, or else all readings."""
    found = _readings(context)
    complete = _complete(context, found)
    if complete and not (context.earlier and is_elliptic(context.text)):
        return [max(complete, key=lambda one: one.score)]
    for text in expand(context):
        again = context.with_text(text)
        whole = _complete(again, _readings(again))
        if whole:
            every = frozenset(range(len(context.request)))
            best = max(whole, key=lambda one: one.score)
            return [msgspec.structs.replace(best, explained=every, score=best.score - 0.1)]
    return [max(complete, key=lambda one: one.score)] if complete else found


def _readings(context: RequestContext) -> list[Reading]:
    """Return all readings; those that take the name of somebody's own collection for another thing come last."""
    own = {stem(name_words(one.name)[-1]) for one in context.conversation.data if one.kind != "system" and one.name}
    places = {place for place, one in enumerate(context.request.stems) if one in own}
    found = []
    for topic in _TOPICS:
        for one in topic.read(context):
            is_theirs = topic not in (schemas, help) and places & one.explained
            found.append(msgspec.structs.replace(one, score=one.score - 0.4) if is_theirs else one)
    return found


def _complete(context: RequestContext, found: Iterable[Reading]) -> list[Reading]:
    return [one for one in found if context.request.meaningful <= one.explained]
