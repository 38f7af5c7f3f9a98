"""What a collection has: its fields with their types, and which of them somebody means."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from doorward.agents.house import knowledge
from doorward.agents.house.entities import stem
from doorward.store.system_collections import SYSTEM

_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_TIMES = ("time", "date", "date-time")
_NUMBERS = ("number", "integer")
_OWN = frozenset(("id", "version", "createdAt", "updatedAt", "createdBy"))
"""Fields that every record of a managed collection has."""
_AMOUNTS = ("total", "amount", "price", "value", "cost", "size", "count", "quantity")
_LABELS = ("name", "title", "label", "subject", "displayName", "id")


class Table(msgspec.Struct, frozen=True):
    """A collection as far as planning needs it."""

    name: str
    fields: Mapping[str, str]
    """Field to type, such as text, number, boolean, time, json."""
    key: str = "id"
    kind: str = "managed"
    records: int = -1
    """How many records there are; -1 where nobody said."""
    when: str = ""
    """The field that says when, where the records themselves showed which it is."""

    @property
    def noun(self) -> tuple[str, str]:
        """What one and many of its records are called."""
        known = knowledge.things().collections.get(self.name)
        if known is not None and self.kind == "system":
            return known.noun
        many = self.name.rpartition(".")[2].replace("_", " ").replace("-", " ")
        return singular(many), many

    @property
    def time(self) -> str:
        """The field that says when, where nothing else was said."""
        known = knowledge.things().collections.get(self.name)
        if known is not None and self.kind == "system":
            return known.time
        if self.when or "createdAt" in self.fields:
            return self.when or "createdAt"
        return next((name for name, kind in self.fields.items() if kind in _TIMES), "")

    @property
    def label(self) -> str:
        known = knowledge.things().collections.get(self.name)
        if known is not None and self.kind == "system":
            return known.label
        return next((one for one in _LABELS if one in self.fields), self.key)

    def of(self, *kinds: str) -> list[str]:
        return [name for name, kind in self.fields.items() if kind in kinds]

    def numbers(self) -> list[str]:
        return [one for one in self.of(*_NUMBERS) if one not in _OWN]

    def texts(self) -> list[str]:
        """The fields in whose values a word of a request may be found."""
        return [one for one in self.of("text", "string", "boolean") if one not in ("id", "version")]

    def amount(self) -> str:
        """The number that is meant where only a figure was said."""
        numbers = self.numbers()
        for wanted in _AMOUNTS:
            found = next((one for one in numbers if wanted in parts(one)), "")
            if found:
                return found
        return numbers[0] if len(numbers) == 1 else ""

    def is_time(self, field: str) -> bool:
        return self.fields.get(field) in _TIMES

    def names(self, field: str, words: Sequence[str]) -> bool:
        """Whether some words are just the name of a field, and not only something like it."""
        own = [stem(one) for one in parts(field)]
        return [stem(singular(one.lower())) for one in words] in (own, own[:-1], own[-1:], [stem(field.lower())])

    def find(self, words: str | Sequence[str], kinds: Iterable[str] = ()) -> str:
        """The field that some words mean; empty when none is meant clearly."""
        wanted = words.lower().split() if isinstance(words, str) else [one.lower() for one in words]
        stems = [
            stem(singular(one)) for one in wanted if one not in ("the", "a", "an", "their", "its", "of", "each", "own")
        ]
        allowed = tuple(kinds)
        best, most = "", 0.0
        for name, kind in self.fields.items():
            if allowed and kind not in allowed:
                continue
            fit = _fit(name, tuple(stems))
            if fit > most:
                best, most = name, fit
        return best if most >= 0.5 else ""


def system() -> list[Table]:
    """The collections of the house itself, which are the same everywhere."""
    return list(_system())


@lru_cache(maxsize=1)
def _system() -> tuple[Table, ...]:
    return tuple(
        Table(one.name, {field.name: field.kind for field in one.fields}, one.key, "system") for one in SYSTEM.values()
    )


def described(items: Iterable[Any]) -> list[Table]:
    """The collections that data/describe lists."""
    found = []
    for one in items:
        if not isinstance(one, dict) or not isinstance(one.get("collection"), str):
            continue
        fields = one.get("fields")
        count = one.get("count")
        found.append(
            Table(
                one["collection"],
                {str(name): str(kind) for name, kind in fields.items()} if isinstance(fields, dict) else {},
                str(one.get("key") or "id"),
                str(one.get("kind") or "managed"),
                count if isinstance(count, int) else -1,
            )
        )
    return found


def parts(name: str) -> tuple[str, ...]:
    """The words of a name such as `createdAt`, `first_name` or `orderTotal`, in small letters."""
    return tuple(one.lower() for one in _PARTS.findall(name)) or (name.lower(),)


def singular(word: str) -> str:
    """One of many: `categories` to `category`, `orders` to `order`."""
    if word == "people":
        return "person"
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("sses", "xes", "ches", "shes", "uses")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 2 else word


def _fit(name: str, stems: tuple[str, ...]) -> float:
    """How well some words name a field, from 0 to 1."""
    if not stems:
        return 0.0
    own = [stem(one) for one in parts(name)]
    telling = [one for one in own if one not in ("at", "id", "ms", "on", "is")] or own
    if list(stems) in (own, telling) or stems == (stem(name.lower()),):
        return 1.0
    same = len(set(stems) & set(telling))
    if same:
        return 0.9 * same / max(len(telling), len(stems)) if same < len(stems) else 0.95 * same / len(telling)
    known = knowledge.synonyms().fields
    words = known.get(name) or next((known[one] for one in (*parts(name)[::-1],) if one in known), "")
    heard = {knowledge.phrase(one) for one in words.split("|") if one}
    if stems in heard:
        return 0.7
    return 0.55 if any(len(one) == 1 and one[0] in stems for one in heard) else 0.0
