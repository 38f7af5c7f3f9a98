"""Requests about Doorward itself: its calls, messages, approvals, rooms, people, log, collections and machine."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from doorward.agents.house.plan import Reading
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.topics import (
    approvals,
    calls,
    help,
    machine,
    messages,
    rooms,
    schemas,
    status,
    things,
)
from doorward.agents.house.topics.follow_up import expand

_TOPICS = (status, calls, approvals, messages, rooms, things, schemas, machine, help)


def read(context: RequestContext) -> Iterable[Reading]:
    """Return the best reading that explains every word, or else all readings."""
    found = [one for topic in _TOPICS for one in topic.read(context)]
    complete = _complete(context, found)
    if complete:
        return [max(complete, key=lambda one: one.score)]
    for text in expand(context):
        again = context.with_text(text)
        whole = _complete(again, [one for topic in _TOPICS for one in topic.read(again)])
        if whole:
            every = frozenset(range(len(context.request)))
            best = max(whole, key=lambda one: one.score)
            return [msgspec.structs.replace(best, explained=every, score=best.score - 0.1)]
    return found


def _complete(context: RequestContext, found: Iterable[Reading]) -> list[Reading]:
    return [one for one in found if context.request.meaningful <= one.explained]
