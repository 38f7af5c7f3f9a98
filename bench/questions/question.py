"""One request of the examination, in several wordings, with what a right answer takes. They are kept in files."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import msgspec

from doorward.core import strictjson

_FOLDER = Path(__file__).parent
ASKED = _FOLDER / "asked.json"
HELD_OUT = _FOLDER / "held_out.json"
"""The third wording of every question, which nobody who builds the house model looks at."""


class Question(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    topic: str
    says: list[str]
    ran: list[str | list[str]] = []
    """Commands of which one must have run, or all of one list; a name without a slash may be one of the `ways`."""
    figures: list[str] = []
    """What the answer must say: words, facts of the seed by name after a $, and bars between ways to be right."""
    must_not: list[str] = msgspec.field(default=[], name="not")
    asks: bool | Literal["maybe"] = False
    """Whether it must wait for a person's approval; maybe: it may, or may do it where that can be undone."""
    unknown: bool = False
    """It must say that it does not know, or does not do this."""
    still: bool = False
    """Nothing may change or wait for approval, whatever is said."""
    nothing: bool = False
    """Not even a try may be made that would change something."""
    greeting: bool = False
    quiet: bool = False
    """It is about commands: it may be answered without running any."""
    fails: bool = False
    """What it asks for is not there, and that must be said."""
    after: str = ""
    """What was asked before it in the same session."""
    makes: dict[str, str | None] = {}
    """Files and what they then hold; None: gone. A name that ends with a slash is a folder."""
    record: list[Any] = []
    """A record and the fields that it then has: collection, id (empty: a new one), fields."""
    said: list[str] = []
    """A room, and what must have been said in it."""


class _Asked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    ways: dict[str, list[str]]
    questions: list[Question]


def asked() -> list[Question]:
    """Every question with its wordings, and the ways spelled out."""
    book = msgspec.convert(strictjson.loads(ASKED.read_bytes()), _Asked)
    return [msgspec.structs.replace(one, ran=_spelled(one.ran, book.ways)) for one in book.questions]


def held_out(file: Path = HELD_OUT) -> list[Question]:
    """Every question in the wording that was held out; none where it is not there."""
    if not file.exists():
        return []
    words = msgspec.convert(strictjson.loads(file.read_bytes()), dict[str, str])
    return [msgspec.structs.replace(one, says=[words[one.id]]) for one in asked()]


def _spelled(ran: list[str | list[str]], ways: dict[str, list[str]]) -> list[str | list[str]]:
    return [name for one in ran for name in (ways.get(one, [one]) if isinstance(one, str) else [one])]
