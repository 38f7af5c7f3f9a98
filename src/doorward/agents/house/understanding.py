"""From a request to one reading of it, or to a reply that says why there is none."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from doorward.agents.house import (
    commands,
    files,
    mood,
    orders,
    records,
    server_tools,
    smalltalk,
    tables,
    topics,
    version_control,
)
from doorward.agents.house.plan import Reading, Reply, Steps, advance
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.sentences import in_a_row, join_parts, one_line

Reader = Callable[[RequestContext], Iterable[Reading]]
_READERS: tuple[Reader, ...] = (
    topics.read,
    version_control.read,
    tables.read,
    files.read,
    records.read,
    server_tools.read,
    commands.read,
)
"""Each offers readings of a request that only looks at something; `orders` reads those that change something."""
_NEAR = 0.035
_MAX_PARTS = 4
_JOINTS = re.compile(r"\s*(?:;|,?\s+and\s+(?:then\s+)?|,?\s+then\s+|[.?!]\s+(?:and\s+)?)\s*", re.IGNORECASE)


def understand(context: RequestContext) -> Reading | Reply:
    """Return the reading of a request, or the reply to it."""
    text = context.text.strip()
    reply = smalltalk.reply(context, is_answerable)
    if reply is not None:
        return reply
    if not text:
        return Reply(smalltalk.not_understood(context), "unknown")
    taught = commands.read_taught(context)
    if taught is not None:
        return taught
    held_back = mood.reason_not_to_act(context.text)
    if held_back:
        return Reply(smalltalk.did_nothing(held_back, orders.example_for(context)), "declined")
    found = read(context) or server_tools.read_missing(context)
    if found is not None:
        return found
    return smalltalk.explain_unknown(context, _partial(context))


def read(context: RequestContext) -> Reading | Reply | None:
    """Return the reading that explains every word, as one request or as several; None if there is none."""
    if mood.is_order(context.text):
        order = orders.read(context)
        if order is not None:
            return order
    whole = _choose(context, _complete(context))
    if whole is not None:
        return whole
    return _read_parts(context)


def is_answerable(context: RequestContext) -> bool:
    """Whether a request is surely understood with what is offered here."""
    reading = read(context)
    return isinstance(reading, Reading) and not reading.guessed and isinstance(advance(reading, ()), list)


def _complete(context: RequestContext) -> list[Reading]:
    """Return the readings that leave no meaningful word unexplained, of the reader that is surest.

    Of two that are equally sure, the first counts: it is the more special one.
    """
    meaningful = context.request.meaningful
    best: list[Reading] = []
    for reader in _READERS:
        found = [one for one in reader(context) if meaningful <= one.explained]
        if found and max(one.score for one in found) > max((one.score for one in best), default=0.0) + _NEAR:
            best = found
    return best


def _partial(context: RequestContext) -> list[Reading]:
    """Return all readings, the most complete first, to say which words are not understood."""
    meaningful = context.request.meaningful
    found = [one for reader in _READERS for one in reader(context)]
    return sorted(found, key=lambda one: (len(meaningful - one.explained), -one.score))


def _choose(context: RequestContext, readings: list[Reading]) -> Reading | Reply | None:
    """Return the best reading; if two different ones are equally good, a question with the choices."""
    if not readings:
        return None
    ranked = sorted(readings, key=lambda one: -one.score)
    best = ranked[0]
    rivals = [one for one in ranked[1:] if one.score >= best.score - _NEAR and one.says != best.says and one.says]
    if rivals and best.says:
        choices = [one.says for one in (best, *rivals)][:3]
        return Reply(f"Which do you mean: {in_a_row([one_line(one, 120) for one in choices], 'or')}?", "unknown")
    return best


def _read_parts(context: RequestContext) -> Reading | None:
    """Read several requests in one message; each must be understood by itself, or by what the one before is about."""
    request = context.request
    cuts = [0]
    for found in _JOINTS.finditer(context.text):
        if not any(
            one.kind == "quoted" and one.start < found.end() and found.start() < one.end for one in request.tokens
        ):
            cuts += [found.start(), found.end()]
    cuts.append(len(context.text))
    pieces = [context.text[cuts[at] : cuts[at + 1]].strip() for at in range(0, len(cuts), 2)]
    pieces = [one for one in pieces if re.search(r"\w", one)]
    if not 1 < len(pieces) <= _MAX_PARTS:
        return None
    readings: list[Reading] = []
    before: tuple[str, ...] = ()
    for piece in pieces:
        part = context.with_text(piece, before or context.earlier)
        reading = orders.read(part) if mood.is_order(piece) else None
        if reading is None:
            reading = _choose(part, _complete(part))
        if not isinstance(reading, Reading) or reading.depends:
            return None
        readings.append(reading)
        before = (piece, *before)
    return _joined(readings, frozenset(range(len(request))))


def _joined(readings: list[Reading], every: frozenset[int]) -> Reading:
    def steps() -> Steps:
        texts = []
        for one in readings:
            texts.append((yield from one.steps()))
        return join_parts(texts)

    return Reading(
        name=" and ".join(one.name for one in readings),
        steps=steps,
        explained=every,
        score=min(one.score for one in readings),
        changes=any(one.changes for one in readings),
        guessed=any(one.guessed for one in readings),
        says="; ".join(one.says for one in readings),
    )
