"""Profiles of collections: their fields, the values that occur, and the links between them.

A profile tells a reader what the data is about without a query. It is made for one caller, from the rows that the
caller may see.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from doorward.core import redact
from doorward.store.collections import FieldKind
from doorward.store.values import render_time

MOST_VALUES = 500
"""Distinct values kept of one field."""
LONGEST_VALUE = 80
"""Longer texts are left out of the values."""
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?", re.ASCII)
_DATE_SHARE = 0.95
_UNIQUE_SHARE = 0.95
_FIRST = 20
"""Distinct values that decide whether a field can hold dates."""
_LABEL_NAMES = ("name", "title", "label", "displayname", "fullname", "subject", "headline", "caption", "term")
_NO_LABELS = re.compile(r"[^@\s]+@[^@\s]+|[+\d()\s/.-]+|\w+://\S+")
"""Mail addresses, telephone numbers and addresses of pages: unique, but no names."""
_KINDS: dict[type, FieldKind] = {str: "text", bool: "boolean", int: "number", float: "number"}


class FieldProfile(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    kind: FieldKind
    dates: bool = False
    """Whether its texts are ISO dates, with or without a time."""
    values: tuple[Any, ...] = ()
    """The distinct values, the most frequent first. Long texts and secrets are left out."""
    complete: bool = False
    """Whether `values` holds every distinct value."""
    missing: int = 0
    """Records without a value."""
    least: Any = None
    """The least number or date."""
    most: Any = None
    links: str = ""
    """The collection that its values refer to."""
    links_by: str = ""
    """The field of that collection that they equal: its key or its label."""


class CollectionProfile(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    kind: Literal["system", "managed", "attached"]
    key: str
    """The field that identifies a record."""
    label: str = ""
    """The field that people know a record by, such as its name; empty if there is none."""
    count: int
    """The number of records that the caller sees."""
    more: bool = False
    """Whether there are more records than were counted."""
    fields: tuple[FieldProfile, ...]

    def field(self, name: str) -> FieldProfile | None:
        return next((one for one in self.fields if one.name == name), None)


class Column(msgspec.Struct):
    """The values of one field in the rows that were read, None where a record has none."""

    name: str
    kind: FieldKind
    values: Sequence[Any]
    counts: Mapping[Any, int] = {}
    """How often each distinct value occurs, as far as the kind has values."""
    present: int = 0
    dates: bool = False

    def count_values(self) -> None:
        """Find the real kind of values without a declared one, and count the distinct values."""
        present = [value for value in self.values if value is not None]
        self.present = len(present)
        if self.kind in ("json", "any") and present:
            kinds = {_KINDS.get(kind, "json") for kind in set(map(type, present))}
            self.kind = kinds.pop() if len(kinds) == 1 else self.kind
        if self.kind == "boolean":
            self.counts = Counter(map(bool, present))
        elif self.kind == "number":
            self.counts = Counter(value for value in present if type(value) in (int, float))
        elif self.kind in ("text", "any"):
            self.counts = Counter(value for value in present if isinstance(value, str))
            self.dates = _hold_dates(self.counts)

    @property
    def is_unique(self) -> bool:
        """Whether nearly every record has a value of its own."""
        return self.present >= 2 and len(self.counts) >= _UNIQUE_SHARE * self.present


def _hold_dates(counts: Mapping[str, int]) -> bool:
    first = [text for text, _ in zip(counts, range(_FIRST), strict=False)]
    if not first or not all(_DATE.fullmatch(text) for text in first[:1]):
        return False
    return all(
        sum(_DATE.fullmatch(text) is not None for text in texts) >= _DATE_SHARE * len(texts)
        for texts in (first, counts)
    )


def profile_field(column: Column, most: int, *, whole: bool, values: bool = True) -> FieldProfile:
    """Profile a field. `whole` tells that every row was read; without `values`, none are kept."""
    name, counts = column.name, column.counts
    kept: list[Any] = []
    if values and counts and not redact.is_secret_param(name):
        kept = [value for value in counts if not isinstance(value, str) or len(value) <= LONGEST_VALUE]
        kept.sort(key=lambda value: -counts[value])
        kept = _drop_secrets(kept[:most])
    least, extent = _extent(column)
    return FieldProfile(
        name=name,
        kind=column.kind,
        dates=column.dates,
        values=tuple(kept),
        complete=whole and bool(kept) and len(kept) == len(counts) and column.kind != "any",
        missing=len(column.values) - column.present,
        least=least,
        most=extent,
    )


def _extent(column: Column) -> tuple[Any, Any]:
    if column.kind == "time":
        moments = [value for value in column.values if isinstance(value, int | float)]
        return (render_time(min(moments)), render_time(max(moments))) if moments else (None, None)
    if column.kind == "number" and column.counts:
        return min(column.counts), max(column.counts)
    dates = [text for text in column.counts if _DATE.fullmatch(text)] if column.dates else []
    return (min(dates), max(dates)) if dates else (None, None)


def _drop_secrets(values: list[Any]) -> list[Any]:
    """Leave out the values that results would show redacted."""
    texts = "\n".join(value for value in values if isinstance(value, str))
    if redact.text(texts) == texts:
        return values
    return [value for value in values if not isinstance(value, str) or redact.text(value) == value]


def choose_label(collection: str, key: str, columns: Sequence[Column]) -> str:
    """Choose the field that people know a record by: one named so, or a text that is different in every record."""
    texts = [one for one in columns if one.kind == "text" and not one.dates and one.name not in (key, "createdBy")]
    texts = [one for one in texts if one.present and not redact.is_secret_param(one.name)]
    plain = {squeeze(one.name): one.name for one in reversed(texts)}
    own = squeeze(singular(collection))
    for name in (*_LABEL_NAMES, own, *(f"{own}{word}" for word in _LABEL_NAMES)):
        if name in plain:
            return plain[name]
    unique = [one for one in texts if one.is_unique and _wordiness(one) > 0]
    return max(unique, key=_wordiness).name if unique else ""


def is_named_label(collection: str, label: str) -> bool:
    """Whether a label was chosen by its name."""
    own, name = squeeze(singular(collection)), squeeze(label)
    return name.removeprefix(own) in ("", *_LABEL_NAMES)


def _wordiness(column: Column) -> float:
    """How much the values look like names: words with blanks most, codes with digits less, addresses not at all."""
    texts = [text for text, _ in zip(column.counts, range(_FIRST), strict=False)]
    if any(len(text) > LONGEST_VALUE or _NO_LABELS.fullmatch(text) for text in texts):
        return 0.0
    words = sum(" " in text.strip() for text in texts) + sum(not re.search(r"\d", text) for text in texts)
    return 0.1 + words / len(texts)


def squeeze(name: str) -> str:
    """A name without case and separators."""
    return re.sub(r"[\W_]+", "", name).lower()


def singular(name: str) -> str:
    """The singular of a collection's own name, without its database."""
    word = name.rpartition(".")[2]
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("ses", "xes", "ches", "shes", "zes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word
