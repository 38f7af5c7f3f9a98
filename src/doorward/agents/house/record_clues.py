"""The grammar words of questions about records: measures, comparisons, superlatives, groups and negations."""

from __future__ import annotations

from functools import cache
from typing import Literal

import msgspec

from doorward.agents.house.request import Request
from doorward.agents.house.words import load, same_words, stem

ClueName = Literal[
    "count", "sum", "avg", "max", "min", "exists", "when", "group", "distinct", "sort", "limit", "superlative",
    "most", "least", "often", "not", "without", "with", "contains", "either", "overdue", "up", "down", "verb",
    "filler", "opaque", "spent",
]  # fmt: skip


_NEGATING = ("un", "in", "non", "not-")


class Scale(msgspec.Struct, frozen=True):
    """What an adjective measures: the stems of fields, `@date` for dates or `@number` for any number."""

    fields: frozenset[str]
    up: bool

    def turned(self, turn: bool) -> Scale:
        return Scale(self.fields, self.up != turn)


class Clue(msgspec.Struct, frozen=True, kw_only=True):
    name: ClueName
    first: int
    behind: int
    number: int = 0
    scales: tuple[Scale, ...] = ()
    """The scales of an adjective; empty for any number."""


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    op: Literal["gt", "gte", "lt", "lte", "eq", "between", ""]
    """Empty if the scale decides."""
    value: float
    other: float = 0.0
    first: int
    behind: int
    scales: tuple[Scale, ...] = ()
    """What the adjective or the unit speaks of; empty if neither says."""


class _Scale(msgspec.Struct, frozen=True):
    up: str
    down: str
    fields: str


class _Unit(msgspec.Struct, frozen=True):
    words: str
    fields: str


class _State(msgspec.Struct, frozen=True):
    fields: str
    yes: str
    no: str


class RecordWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    clues: dict[ClueName, str]
    """The phrases of each clue, with bars between."""
    scales: tuple[_Scale, ...]
    units: tuple[_Unit, ...]
    states: tuple[_State, ...]
    overdue: str
    """Date fields that tell until when something is to be done."""
    due: str
    """Date fields that lie ahead: they tell neither the age of a thing nor when it happened."""
    yearly: str
    """Date fields that come round every year."""
    directions: tuple[_Unit, ...]
    """Words before a value that several fields can hold, and the fields that they speak of."""
    money: str
    """Fields of money: what sums up, and behind a bar what is a price."""
    amounts: str
    """Nouns for the only number that records have."""
    categories: str
    """Nouns beside a value, which say what kind of value it is."""


@cache
def record_words() -> RecordWords:
    return load("records.json", RecordWords)


@cache
def _phrases() -> dict[str, list[tuple[tuple[str, ...], ClueName]]]:
    found: dict[str, list[tuple[tuple[str, ...], ClueName]]] = {}
    for name, phrases in record_words().clues.items():
        for phrase in phrases.split("|"):
            words = tuple(phrase.split())
            found.setdefault(words[0], []).append((words, name))
    return found


def clues_at(request: Request, at: int) -> list[Clue]:
    """Return the clues that begin at a token, longest first."""
    words = [one.lower for one in request.tokens[at : at + 5]]
    found = [
        Clue(name=name, first=at, behind=at + len(phrase))
        for phrase, name in _phrases().get(words[0], ())
        if tuple(words[: len(phrase)]) == phrase
    ]
    top = _superlative(request, at)
    if top is not None:
        found.append(top)
    return sorted(found, key=lambda one: at - one.behind)


def _superlative(request: Request, at: int) -> Clue | None:
    """`top 5`, `the 3 cheapest`, `most expensive`, `newest`, `longest-standing`, `second`."""
    number = request.tokens[at].number
    if request.tokens[at].lower == "top":
        amount = request.tokens[at + 1].number if at + 1 < len(request) else None
        behind = at + (2 if amount else 1)
        nested = _superlative(request, behind) if behind < len(request) else None
        if nested is not None:
            return msgspec.structs.replace(nested, first=at, number=int(amount or nested.number or 1))
        return Clue(name="limit", first=at, behind=behind, number=int(amount or 1))
    if number is not None and 0 < number <= 1_000 and float(number).is_integer() and at + 1 < len(request):
        nested = _superlative(request, at + 1)
        if nested is not None and nested.name == "superlative" and not nested.number:
            return msgspec.structs.replace(nested, first=at, number=int(number))
        return None
    word = request.tokens[at].lower
    behind = at + 1
    if word in ("most", "least") and behind < len(request):
        adjective, behind = request.tokens[behind].lower, behind + 1
        scales = tuple(one.turned(word == "least") for one in _bases().get(adjective, ()))
    elif word in ("best-paid", "highest-paid", "top-paid"):
        scales = _bases()["expensive"]
    elif word.startswith("longest-"):
        scales = tuple(one.turned(False) for one in _bases()["long-standing"])
    else:
        scales = _superlatives().get(word, ())
    return Clue(name="superlative", first=at, behind=behind, scales=scales) if scales else None


def comparison_at(request: Request, at: int) -> Comparison | None:
    """Return the comparison with a number that begins at a token: `more than 300`, `under 60`, `at least 5`."""
    for words, op in _OPERATORS:
        size = len(words)
        if tuple(one.lower for one in request.tokens[at : at + size]) == words:
            return _finish(request, at, at + size, op)
    word = request.tokens[at].lower
    scales, place = _comparatives().get(word, ()), at + 1
    if not scales and word in ("more", "less") and place < len(request):
        base = _bases().get(request.tokens[place].lower, ())
        scales, place = tuple(one.turned(word == "less") for one in base), at + 2
    if scales and place < len(request) and request.tokens[place].lower == "than":
        return _finish(request, at, place + 1, "", scales)
    number = request.tokens[at].number
    if number is not None and at + 2 < len(request) and request.tokens[at + 1].lower == "or":
        more = {"more": "gte", "above": "gte", "higher": "gte", "less": "lte", "fewer": "lte", "below": "lte"}
        bound = more.get(request.tokens[at + 2].lower)
        if bound:
            return _unit(request, Comparison(op=bound, value=number, first=at, behind=at + 3))  # type: ignore[arg-type]
    return None


_OPERATORS: tuple[tuple[tuple[str, ...], str], ...] = tuple(
    (tuple(words.split()), op)
    for op, phrases in {
        "gt": "more than|greater than|higher than|over|above|exceeding|bigger than|larger than|>",
        "gte": "at least|no less than|not less than|minimum|from|> =",
        "lt": "less than|fewer than|lower than|smaller than|under|below|<",
        "lte": "at most|no more than|not more than|up to|maximum|< =",
        "between": "between",
        "eq": "exactly|equal to|=",
    }.items()
    for words in phrases.split("|")
)


def _finish(request: Request, first: int, place: int, op: str, scales: tuple[Scale, ...] = ()) -> Comparison | None:
    while place < len(request) and request.tokens[place].lower in ("the", "a", "$", "€", "£", "of"):
        place += 1
    value = request.tokens[place].number if place < len(request) else None
    if value is None:
        return None
    if op == "between":
        if place + 2 >= len(request) or request.tokens[place + 1].lower not in ("and", "to"):
            return None
        other = request.tokens[place + 2].number
        if other is None:
            return None
        low, high = sorted((value, other))
        return _unit(request, Comparison(op="between", value=low, other=high, first=first, behind=place + 3))
    found = Comparison(op=op, value=value, first=first, behind=place + 1, scales=scales)  # type: ignore[arg-type]
    return _unit(request, found)


def _unit(request: Request, found: Comparison) -> Comparison:
    """Take in the unit behind a number, such as euros."""
    word = request.tokens[found.behind].lower if found.behind < len(request) else ""
    if word in ("€", "$", "£", "%"):
        return msgspec.structs.replace(found, behind=found.behind + 1)
    for unit in record_words().units:
        if word in unit.words.split():
            scale = Scale(frozenset(stem(one) for one in unit.fields.split()), up=True)
            return msgspec.structs.replace(found, behind=found.behind + 1, scales=found.scales or (scale,))
    return found


@cache
def _bases() -> dict[str, tuple[Scale, ...]]:
    """By adjective, what it can measure."""
    found: dict[str, tuple[Scale, ...]] = {}
    for scale in record_words().scales:
        fields = frozenset(one if one.startswith("@") else stem(one) for one in scale.fields.split())
        for words, up in ((scale.up, True), (scale.down, False)):
            for word in words.split():
                found[word] = (*found.get(word, ()), Scale(fields, up))
    return found


@cache
def _superlatives() -> dict[str, tuple[Scale, ...]]:
    found = {form: scales for word, scales in _bases().items() for form in _forms(word, "est")}
    newest, oldest = (Scale(frozenset(("@date",)), up) for up in (True, False))
    rating = frozenset(stem(one) for one in ("rating", "score", "stars"))
    found |= {one: (Scale(frozenset(("@next",)), up=False),) for one in ("next", "upcoming")}
    found |= {"latest": (newest,), "last": (newest,), "earliest": (oldest,), "first": (oldest,)}
    return found | {"best": (Scale(rating, True),), "worst": (Scale(rating, False),)}


@cache
def _comparatives() -> dict[str, tuple[Scale, ...]]:
    return {form: scales for word, scales in _bases().items() for form in _forms(word, "er")}


def _forms(word: str, ending: str) -> tuple[str, ...]:
    if word.endswith("y"):
        return (f"{word[:-1]}i{ending}",)
    if word.endswith("e"):
        return (f"{word}{ending[1:]}",)
    return (f"{word}{ending}", f"{word}{word[-1]}{ending}")


def state_of(word: str, field_stems: frozenset[str]) -> bool | None:
    """Return what a word such as `open` says about a boolean field such as `resolved`; None if nothing."""
    for state in record_words().states:
        known = {each for one in state.fields.split() for each in same_words(stem(one))}
        if field_stems & known:
            if word in state.no.split():
                return False
            if word in state.yes.split() or word in state.fields.split():
                return True
    for prefix in _NEGATING:
        bare = stem(word.removeprefix(prefix)) if word.startswith(prefix) and len(word) > len(prefix) + 3 else ""
        if bare and field_stems & same_words(bare):
            return False
    return None
