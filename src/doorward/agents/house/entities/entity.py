"""What a request holds beside its verbs and nouns: times, sizes, numbers, names of files, conditions, groupings."""

from __future__ import annotations

from typing import Literal

import msgspec

About = Literal["changed", "created", ""]
Op = Literal["eq", "ne", "gt", "gte", "lt", "lte", "between", "contains", "starts", "ends", "in", "empty", "notempty"]
Function = Literal["count", "sum", "avg", "min", "max"]
End = Literal["first", "last", "top", ""]
EntityKind = Literal[
    "span",
    "age",
    "size",
    "limit",
    "ordinal",
    "path",
    "glob",
    "kind",
    "quoted",
    "email",
    "url",
    "number",
    "date",
    "compare",
    "group",
    "order",
    "measure",
]


class Span(msgspec.Struct, frozen=True):
    """A stretch of time, in seconds since 1970; None is an open end."""

    since: float | None
    until: float | None
    says: str
    """How it is said back behind a verb, such as `in the last day`."""
    about: About = ""
    """What happened in it, as far as the words around it say."""


class Compare(msgspec.Struct, frozen=True):
    """An age in seconds or a size in bytes, and how to compare with it; an age that is `gt` is older."""

    op: Op
    amount: float
    says: str = ""
    about: About = ""


class Limit(msgspec.Struct, frozen=True):
    """How many are wanted, from which end."""

    n: int
    end: End = ""
    by: str = ""
    """The quality that was named, as a field: `size` for the ten largest. Empty for plain first and last."""
    descending: bool = False
    """Whether those with the most of that quality come first."""


class Kind(msgspec.Struct, frozen=True):
    """A kind of files."""

    says: str
    globs: tuple[str, ...]


Value = str | int | float | bool | tuple[str | int | float, ...] | None


class Comparison(msgspec.Struct, frozen=True):
    """A condition on a field of a record."""

    field: str
    """The words before the comparison. Where only a value is said it is empty, or the preposition before the value
    (`in`, `from`, `by`, `for`), which tells a place from a doer."""
    op: Op
    value: Value = None
    introduced: bool = False
    """Whether `with`, `where`, `whose` or the like stood before the field. If not, the field may well be the thing
    that is asked about: `orders over 100`."""
    unit: str = ""
    """`seconds` or `bytes` where the value is one of time or of data, reckoned in these."""
    also: bool = True
    """Whether it must hold beside the one before (`and`), or instead of it (`or`)."""


class Group(msgspec.Struct, frozen=True):
    field: str


class Order(msgspec.Struct, frozen=True):
    field: str
    descending: bool
    of: str = ""
    """What is counted, where the field is `count`: `orders` in `the most orders`."""


class Measure(msgspec.Struct, frozen=True):
    fn: Function
    field: str
    """The words of what is measured; empty where none were said."""


EntityValue = Span | Compare | Limit | Kind | Comparison | Group | Order | Measure | str | int | float


class Entity(msgspec.Struct, frozen=True):
    """One find, and where in the text of the reading it stands."""

    kind: EntityKind
    value: EntityValue
    start: int
    end: int
    words: str
    """What was written."""


class Token(msgspec.Struct, frozen=True):
    """One word, number, name or mark of a text."""

    text: str
    lower: str
    """In small letters, and spelled right where it was one letter off."""
    stem: str
    start: int
    end: int
    shape: Literal["word", "number", "quoted", "path", "glob", "email", "url", "mark"] = "word"


class Reading(msgspec.Struct, frozen=True):
    """A request, taken apart."""

    text: str
    """Without address and courtesy."""
    tokens: tuple[Token, ...]
    found: tuple[Entity, ...]
    """In order, and none over another."""
    clauses: tuple[tuple[int, int], ...] = ()
    """Where each thing that is wished for begins and ends: `list the files and then count them` has two."""
    held_back: str = ""
    """Why nothing should be done at all: it says what not to do, or only wonders."""
    changes_nothing: str = ""
    """Why nothing should be changed for it, though looking may be right: a question, a condition, somebody's words."""
    english: bool = True

    def of(self, *kinds: EntityKind) -> tuple[Entity, ...]:
        """The finds of these kinds."""
        return tuple(one for one in self.found if one.kind in kinds)
