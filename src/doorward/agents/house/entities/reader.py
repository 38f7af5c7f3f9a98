"""The way from a text to a reading."""

from __future__ import annotations

from collections.abc import Callable
from datetime import tzinfo

from doorward.agents.house.entities import calendar
from doorward.agents.house.entities.clauses import clauses
from doorward.agents.house.entities.conditions import compare
from doorward.agents.house.entities.courtesy import plain
from doorward.agents.house.entities.entity import Reading
from doorward.agents.house.entities.files import kind, literal, path
from doorward.agents.house.entities.grouping import group, order
from doorward.agents.house.entities.guards import guarded
from doorward.agents.house.entities.knowledge import vocabulary
from doorward.agents.house.entities.language import is_english
from doorward.agents.house.entities.limits import limit
from doorward.agents.house.entities.line import Find, Line
from doorward.agents.house.entities.measures import measure
from doorward.agents.house.entities.numbers import number, ordinal
from doorward.agents.house.entities.scanning import MOST_TOKENS, scanned
from doorward.agents.house.entities.sizes import size
from doorward.agents.house.entities.spans import age, day, span

LONGEST = 8_000
"""Characters that are looked at. Whoever asks at greater length is not understood in part, but told so."""
_BEGINNING = 200
"""How much of a text that is too long is looked at all the same: enough to say what it seemed to be about."""

_READINGS: tuple[Callable[[Line, int], Find | None], ...] = (
    age, span, size, limit, compare, order, group, measure, kind, path, day, ordinal, literal, number,
)  # fmt: skip


def read(
    text: str, now: float, zone: tzinfo, *, names: tuple[str, ...] = (), known: frozenset[str] = frozenset()
) -> Reading:
    """What a request holds, at a moment and in a time zone.

    `names` are those by which the reader may be addressed, and `known` words that count as spelled right and are
    spelled towards, such as the names of collections and fields.
    """
    whole = len(text) <= LONGEST
    asked = plain(text if whole else text[:_BEGINNING], names)
    tokens = scanned(asked, known)
    line = Line(asked, tokens, calendar.moment(now, zone))
    at = 0
    while at < len(tokens):
        best: Find | None = None
        for reading in _READINGS:
            found = reading(line, at)
            if found is not None and (best is None or found[3] > best[3]):
                best = found
        if best is not None:
            line.take(best)
        at = best[3] if best is not None else at + 1
    held_back, changes_nothing = guarded(line)
    if not whole or len(tokens) >= MOST_TOKENS:
        held_back = changes_nothing = vocabulary().too_long.format(most=LONGEST, words=MOST_TOKENS)
    return Reading(
        asked, tokens, tuple(line.found), clauses(line), held_back, changes_nothing, is_english(asked, tokens)
    )
