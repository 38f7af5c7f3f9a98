"""The collections that a request can be about."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doorward.agents.house.lexicon import Lexicon, Match
from doorward.agents.house.record_links import referring
from doorward.agents.house.request import Request
from doorward.agents.house.request_context import RequestContext

_WHO = ("who", "whose", "whom", "who's", "everybody", "everyone", "anybody", "anyone", "nobody")
_MEASURES = frozenset(
    "total sum average mean much highest lowest maximum minimum biggest smallest added".split()  # noqa: SIM905
)
_WHATS_ON = re.compile(r"\bwhat(?:['’]?s| is| are we) on\b|\banything on\b", re.IGNORECASE)
_EVENTS = frozenset(("date", "day", "when", "starts", "start"))
_NEWEST = frozenset(("newest", "latest", "last", "recent", "oldest", "first", "earliest"))


def choose_targets(context: RequestContext) -> Iterator[tuple[str, float]]:
    """Return the collections that a request can be about, the likeliest with the highest preference."""
    lexicon, request = context.lexicon, context.request
    matches = lexicon.matches(request)
    nouns = sorted((one for one in matches if one.meaning.kind == "collection"), key=lambda one: one.first)
    heads = [one for one in nouns if not _is_grouped(request, one.first)]
    who = next((at for at, one in enumerate(request.tokens) if one.lower in _WHO), -1)
    seen: dict[str, float] = {}
    if who >= 0 and (not heads or who < heads[0].first):
        for people in lexicon.people:
            named = [each.first for each in heads if each.meaning.collection == people]
            among = any(request.tokens[max(0, at - 1)].lower in ("all", "our", "the") for at in named)
            seen[people] = (1.1 if among else 0.7) if named else 1.2
    if heads:
        first, behind_who = heads[0].first, bool(seen)
        for one in heads:
            if one.first == first:
                share = 0.8 if behind_who else 1.0
                seen[one.meaning.collection] = max(seen.get(one.meaning.collection, 0.0), share * one.meaning.weight)
        for one in heads[1:]:
            before = request.tokens[one.first - 1].lower
            if before in _NEWEST:
                seen[one.meaning.collection] = max(seen.get(one.meaning.collection, 0.0), 1.05 * one.meaning.weight)
    if not heads:
        for one in matches:
            meaning = one.meaning
            if meaning.kind != "collection":
                own = meaning.kind == "value" and meaning.field == lexicon.profile(meaning.collection).label
                linked = lexicon.field(meaning.collection, meaning.field)
                weight = 0.95 if own else 0.9 if meaning.kind == "field" else 0.85
                weight -= 0.1 if meaning.kind == "value" and linked is not None and linked.links else 0.0
                seen[meaning.collection] = max(seen.get(meaning.collection, 0.0), weight * meaning.weight)
        for other, weight in _events_between(lexicon, matches):
            seen[other] = max(seen.get(other, 0.0), weight)
        for one in nouns:
            for other, _ in referring(lexicon, one.meaning.collection):
                seen.setdefault(other, 0.7)
    else:
        # A field that only a linked collection has can make that one the subject: `total fine of gold members`.
        for one in matches if _MEASURES & {token.lower for token in request.tokens} else ():
            if one.meaning.kind == "field":
                seen.setdefault(one.meaning.collection, 0.75 * one.meaning.weight)
    if not matches and context.spans and _WHATS_ON.search(context.text):
        seen |= dict.fromkeys(_schedules(lexicon), 0.8)
    yield from seen.items()


def _schedules(lexicon: Lexicon) -> list[str]:
    """Return the collections of dated events; none if there are several."""
    found = [one.name for one in lexicon.collections.values() if any(f.dates and f.name in _EVENTS for f in one.fields)]
    return found if len(found) == 1 else []


def _events_between(lexicon: Lexicon, matches: list[Match]) -> Iterator[tuple[str, float]]:
    """Return the collections that link the records that are named: a loan links a member and a book."""
    named: dict[str, set[int]] = {}
    for match in matches:
        if match.meaning.kind == "value" and match.meaning.weight > 0.5:
            named.setdefault(match.meaning.collection, set()).add(match.first)
    for one in lexicon.collections.values():
        linked = {field.links for field in one.fields if field.links} & named.keys()
        if len(linked) > 1 and len({place for each in linked for place in named[each]}) > 1:
            yield one.name, 1.15
        elif linked:
            yield one.name, 0.6


def _is_grouped(request: Request, at: int) -> bool:
    """Whether a noun stands behind a word such as `per`, so that it is not the subject."""
    before = [one.lower for one in request.tokens[max(0, at - 3) : at]]
    return any(word in ("per", "each", "every", "by") for word in before[-2:]) or (
        before[-2:] == ["of", "the"] and ("per" in (one.lower for one in request.tokens[:at]))
    )
