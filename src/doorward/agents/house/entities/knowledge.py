"""The vocabulary that requests are read with. It is data, in the folder knowledge, so that people can add to it."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Literal, TypeVar

import msgspec

from doorward.agents.house.entities.entity import Function, Op

_T = TypeVar("_T")


class Dates(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    months: dict[str, int]
    also_words: tuple[str, ...]
    """Names of months and days that mean something else as well; they count only beside other words of time."""
    weekdays: dict[str, int]
    units: dict[str, float]
    only_behind_digits: tuple[str, ...]
    """Units so short that they are read only behind figures: `7 d`, but not `two d`."""
    shortest_units: dict[str, float]
    vague_lengths: dict[str, float]
    parts: dict[str, tuple[int, int]]
    clocks: dict[str, int]
    days: dict[str, int]
    periods: dict[str, tuple[str, int]]
    vague: dict[str, tuple[str, int]]
    rolling: tuple[str, ...]
    this: tuple[str, ...]
    last: tuple[str, ...]
    next: tuple[str, ...]
    within: tuple[str, ...]
    on: tuple[str, ...]
    since: tuple[str, ...]
    after_whole: tuple[str, ...]
    """Those words for a beginning that leave out the day they name: after Monday begins on Tuesday."""
    until: tuple[str, ...]
    until_whole: tuple[str, ...]
    """Those words for an end that take in the day they name: until Monday holds Monday."""
    to: tuple[str, ...]
    changed: tuple[str, ...]
    created: tuple[str, ...]
    never_touched: tuple[str, ...]
    older: tuple[str, ...]
    newer: tuple[str, ...]
    older_alone: tuple[str, ...]
    newer_alone: tuple[str, ...]
    lasting: tuple[str, ...] = msgspec.field(name="for")


class Units(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    sizes: dict[str, int]
    also_numbers: tuple[str, ...]
    """Units that may be figures as well: 500k is a size of a file and a number of anything else."""
    only_behind_digits: tuple[str, ...]
    empty: tuple[str, ...]
    about_files: tuple[str, ...]
    bigger: tuple[str, ...]
    money: tuple[str, ...]
    percent: tuple[str, ...]


class FileKind(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    says: str
    words: tuple[str, ...]
    globs: tuple[str, ...]
    alone: bool = False
    """Whether the words mean files by themselves; the others need a word such as `files` behind them."""


class Kinds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    files: tuple[str, ...]
    kinds: tuple[FileKind, ...]
    names: tuple[str, ...]
    folders: tuple[str, ...]
    folder_words: tuple[str, ...]
    home: tuple[str, ...]
    here: tuple[str, ...]
    not_paths: tuple[str, ...]
    not_folder_names: tuple[str, ...]


class Guard(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Words that keep a request from being followed, and why."""

    name: str
    stops: Literal["all", "changes"]
    pattern: str
    why: str
    unless: str = ""
    quotes: bool = False
    """Whether it looks at what is quoted as well."""
    placed: bool = False
    """Whether it lets pass what was understood as part of a condition, such as `not touched for a week`."""


class Words(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    names: tuple[str, ...]
    greetings: tuple[str, ...]
    soft_greetings: tuple[str, ...]
    courtesy: tuple[str, ...]
    asks_to_know: tuple[str, ...]
    wonders: tuple[str, ...]
    may_i: tuple[str, ...]
    looking: tuple[str, ...]
    afterwards: tuple[str, ...]
    after_comma: tuple[str, ...]
    small: dict[str, int]
    tens: dict[str, int]
    scales: dict[str, int]
    lots: dict[str, int]
    suffixes: dict[str, int]
    ordinals: dict[str, int]
    articles: tuple[str, ...]
    compare: dict[Op, tuple[str, ...]]
    plain_ops: tuple[str, ...]
    """Words of comparison that are so common that they compare only where a field or a telling value stands by."""
    comparatives: dict[str, str]
    """Words of comparison that name their field: cheaper is about a price."""
    deeds: tuple[str, ...]
    or_more: dict[str, Op]
    named: dict[str, str]
    introducers: tuple[str, ...]
    weak_introducers: tuple[str, ...]
    without: tuple[str, ...]
    with_any: tuple[str, ...]
    places: tuple[str, ...]
    doers: tuple[str, ...]
    done_by: tuple[str, ...]
    group: tuple[str, ...]
    group_only_front: tuple[str, ...]
    order: tuple[str, ...]
    sorting: tuple[str, ...]
    sort_verbs: tuple[str, ...]
    order_fields: tuple[str, ...]
    descending: tuple[str, ...]
    ascending: tuple[str, ...]
    whole_orders: dict[str, tuple[str, bool]]
    superlatives: dict[str, tuple[str, bool]]
    most: dict[str, bool]
    not_counted: tuple[str, ...]
    first: tuple[str, ...]
    last: tuple[str, ...]
    top: tuple[str, ...]
    bottom: tuple[str, ...]
    at_most: tuple[str, ...]
    giving: tuple[str, ...]
    to_whom: tuple[str, ...]
    line_words: tuple[str, ...]
    not_after_first: tuple[str, ...]
    measures: dict[Function, tuple[str, ...]]
    weak_measures: tuple[str, ...]
    not_measured: tuple[str, ...]
    field_stops: tuple[str, ...]
    not_values: tuple[str, ...]
    questions: tuple[str, ...]
    acts: tuple[str, ...]
    also_nouns: tuple[str, ...]
    joins: tuple[str, ...]
    sure_joins: tuple[str, ...]
    cut_joins: tuple[str, ...]
    foreign: dict[str, str]
    english: str
    known: tuple[str, ...]
    spellings: dict[str, str]
    """Mistakes that are corrected to just one word, also where it is too short for guessing."""
    apart: tuple[str, ...]
    """Words that are one letter off a known one, and right as they are."""
    guards: tuple[Guard, ...]
    too_long: str

    def compare_words(self) -> list[str]:
        return [one for many in self.compare.values() for one in many]

    def measures_words(self) -> list[str]:
        return [one for many in self.measures.values() for one in many]


def _loaded(name: str, kind: type[_T]) -> _T:
    text = resources.files("doorward.agents.house").joinpath("knowledge", name).read_bytes()
    return msgspec.json.decode(text, type=kind)


@cache
def dates() -> Dates:
    return _loaded("dates.json", Dates)


@cache
def units() -> Units:
    return _loaded("units.json", Units)


@cache
def kinds() -> Kinds:
    return _loaded("kinds.json", Kinds)


@cache
def vocabulary() -> Words:
    return _loaded("words.json", Words)
