"""Values that stand behind a preposition: a place (`in Berlin`) or whoever did something (`by alice`)."""

from __future__ import annotations

from functools import cache

from doorward.agents.house.entities.entity import Comparison, Op
from doorward.agents.house.entities.fields import boundary
from doorward.agents.house.entities.knowledge import dates, kinds, vocabulary
from doorward.agents.house.entities.line import Find, Line
from doorward.agents.house.entities.stemming import stem
from doorward.agents.house.entities.values import value_at

_ANYWHERE = ("in", "from", "at")


def placed(line: Line, i: int) -> Find | None:
    """`in Berlin`, `by alice`, `from Germany`: a value behind a preposition, which stands for the field."""
    words = vocabulary()
    word = line.lower(i)
    if word in words.doers:
        return _done_by(line, i)
    if word not in words.places or i == 0 or i + 1 >= len(line.tokens):
        return None
    token = line.tokens[i + 1]
    denied = line.lower(i - 1) in ("not", "except", "excluding") and line.is_free(i - 1)
    op: Op = "ne" if denied else "eq"
    start = i - 1 if denied else i
    if token.shape == "email" and word != "to":
        return "compare", Comparison(word, op, token.text), start, i + 2
    if token.shape != "word" or token.lower in dates().months or token.lower in dates().weekdays:
        return None
    if token.text[:1].isupper():
        read = value_at(line, i + 1, telling=True)
        if read is None or not isinstance(read[0], str) or _names_a_thing(line, read[2]) or token.text == "I":
            return None
        return "compare", Comparison(word, op, read[0]), start, read[2]
    if word not in _ANYWHERE or not _is_new(token.lower) or not boundary(line, i + 2) or _names_a_thing(line, i + 2):
        return None
    return "compare", Comparison(word, op, token.text), start, i + 2


def _done_by(line: Line, i: int) -> Find | None:
    words = vocabulary()
    read = value_at(line, i + 1)
    if read is None or not isinstance(read[0], str):
        return None
    named = line.shape(i + 1) in ("email", "mark") or line.tokens[i + 1].text[:1].isupper()
    if not named and (line.lower(i - 1) not in words.done_by or any(one.kind == "measure" for one in line.found)):
        return None
    return "compare", Comparison("by", "eq", read[0]), i, read[2]


def deed(line: Line, i: int) -> Find | None:
    """`did alice send`: somebody who is named, and something that people do."""
    if line.lower(i) not in ("did", "has", "have", "does") or i + 2 >= len(line.tokens):
        return None
    token = line.tokens[i + 1]
    done = line.tokens[i + 2]
    if done.stem not in _deeds() or (line.lower(i) in ("has", "have") and not done.lower.endswith(("ed", "ne", "nt"))):
        return None
    if token.shape == "email" or (
        token.shape == "word" and (_is_new(token.lower) or token.lower in vocabulary().names)
    ):
        return "compare", Comparison("by", "eq", token.text), i, i + 2
    return None


@cache
def _deeds() -> frozenset[str]:
    return frozenset(stem(one) for one in vocabulary().deeds)


def _names_a_thing(line: Line, i: int) -> bool:
    """Whether the word before was the name of a folder, room or table rather than a value."""
    return line.lower(i) in kinds().folder_words or line.lower(i) in (
        "room", "table", "collection", "database", "file", "files", "repository", "repo", "branch", "channel", "log"
    )  # fmt: skip


def _is_new(word: str) -> bool:
    """Whether a word is none of the house's own, and so a name that somebody gave."""
    words = vocabulary()
    own = {*words.known, *words.field_stops, *words.not_values, *kinds().folders, *kinds().names, *words.acts}
    return word not in own and word not in dates().days and word not in dates().parts and word not in words.small
