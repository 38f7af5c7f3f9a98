"""What a right answer takes, and whether a text says it without saying anything that contradicts it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from bench.houses.reading import (
    EXPLAINED,
    ISO,
    NONE,
    PARENTHESES,
    dates,
    is_honest,
    is_number,
    is_unknown,
    mentions,
    numbers,
    says,
)

T = TypeVar("T")
_PART_OF = re.compile(r"\b(of (which|them|those|these)|in (all|total)|altogether|total)\b", re.I)


class Answer(msgspec.Struct, frozen=True):
    """What was said to a request, beside what the request itself said."""

    asked: str
    text: str

    @property
    def head(self) -> str:
        """The first line, which carries a figure when an answer goes on with a list."""
        return next((line for line in self.text.splitlines() if line.strip()), "")


class Number(msgspec.Struct, frozen=True, tag=True):
    """A figure: one of the readings, and no other figure beside it."""

    values: tuple[float, ...]
    beside: tuple[float, ...] = ()
    """Figures of the whole, of which a part may be told."""
    names: frozenset[str] = frozenset()
    """Names that may hold digits."""

    def fault(self, answer: Answer) -> str:
        for text in self._scopes(answer):
            found = self._found(answer, text)
            if self._right(found):
                beside = self.beside if _PART_OF.search(text) else ()
                wrong = [one for one in found if not self._is(one) and not any(is_number(one, more) for more in beside)]
                return f"says {', '.join(wrong[:6])} beside {self._shown()}" if wrong else ""
        found = self._found(answer, answer.head) or self._found(answer, answer.text)
        if not found and 0.0 in self.values and NONE.search(answer.text):
            return ""
        return f"says {', '.join(found[:6])}, not {self._shown()}" if found else f"does not say {self._shown()}"

    def _scopes(self, answer: Answer) -> list[str]:
        """Where the figure may stand: before a list in the first line, in the first line, in the whole text."""
        head = answer.head
        bare = PARENTHESES.sub(" ", head)
        scopes = [bare.partition(":")[0], bare, head]
        return scopes if self._found(answer, head) else [*scopes, answer.text]

    def _found(self, answer: Answer, text: str) -> list[str]:
        """The figures of the text that are neither in the question nor explain another one."""
        asked = {float(one) for one in numbers(answer.asked, self.names)}
        explained = {float(one) for part in EXPLAINED.findall(text) for one in numbers(" ".join(part), self.names)}
        return [one for one in numbers(text, self.names) if self._is(one) or float(one) not in asked | explained]

    def _right(self, found: list[str]) -> bool:
        return any(self._is(one) for one in found)

    def _is(self, written: str) -> bool:
        return any(is_number(written, value) for value in self.values)

    def _shown(self) -> str:
        return " or ".join(f"{one:g}" if one == int(one) else f"{one:.4f}" for one in dict.fromkeys(self.values))


class NamesList(msgspec.Struct, frozen=True, tag=True):
    """Names of one kind: all of one reading, and no other one."""

    readings: tuple[tuple[str, ...], ...]
    universe: frozenset[str]
    ordered: bool = False
    once: bool = False
    """Whether a name may not be said again and again, as a list of records does with their values."""

    def fault(self, answer: Answer) -> str:
        faults = [self._against(one, answer) for one in self.readings]
        return "" if "" in faults else faults[0]

    def _against(self, wanted: tuple[str, ...], answer: Answer) -> str:
        text = answer.text
        extra = sorted(
            one for one in self.universe - set(wanted) if mentions(one, text) >= 0 > mentions(one, answer.asked)
        )
        if extra:
            return f"names {', '.join(extra[:5])}, which is wrong"
        if not wanted:
            return "" if NONE.search(text) else "does not say that there is none"
        places = [mentions(one, text) for one in wanted]
        if -1 in places:
            return "does not name " + ", ".join(one for one, place in zip(wanted, places, strict=True) if place < 0)
        if self.ordered and places != sorted(places):
            return f"not in the order {', '.join(wanted)}"
        if self.once and any(len(re.findall(rf"\b{re.escape(one)}\b", text, re.I)) > 2 for one in wanted):
            return "says the same again and again"
        return ""


class Best(msgspec.Struct, frozen=True, tag=True):
    """The one that comes first: any of the winners, with no other one before or beside it in the first line."""

    winners: tuple[str, ...]
    universe: frozenset[str]

    def fault(self, answer: Answer) -> str:
        head = answer.head if any(mentions(one, answer.head) >= 0 for one in self.universe) else answer.text
        named = [one for one in self.universe if mentions(one, head) >= 0]
        if not any(one in self.winners for one in named):
            return f"does not name {' or '.join(self.winners)}"
        wrong = [one for one in named if one not in self.winners]
        return f"names {', '.join(wrong[:5])} beside {self.winners[0]}" if wrong else ""


class Value(msgspec.Struct, frozen=True, tag=True):
    """The value of one field of one record. Other values of that record may be said, those of others may not."""

    value: Any
    others: tuple[Any, ...] = ()
    """Values of the same field in other records."""
    record: tuple[Any, ...] = ()
    """The other values of the record."""

    def fault(self, answer: Answer) -> str:
        text = answer.text
        if isinstance(self.value, bool):
            return (
                ""
                if re.search(r"\b(yes|true)\b" if self.value else r"\b(no|not|false)\b", text, re.I)
                else f"does not say {self.value}"
            )
        if isinstance(self.value, int | float):
            return self._number_fault(float(self.value), answer)
        if ISO.fullmatch(self.value):
            return self._date_fault(answer)
        if not says(self.value, text):
            return f"does not say {self.value}"
        wrong = [
            one
            for one in self.others
            if isinstance(one, str)
            and one not in (self.value, *self.record)
            and says(one, text)
            and not says(one, answer.asked)
        ]
        return f"says {wrong[0]} beside {self.value}" if wrong else ""

    def _number_fault(self, value: float, answer: Answer) -> str:
        """Any figure but those of the record, of the question and the one record itself contradicts the value."""
        names = [str(one) for one in self.record if isinstance(one, str)]
        found = numbers(answer.text, names)
        if not any(is_number(one, value) for one in found):
            return f"does not say {value:g}"
        allowed = [value, 1.0, *(float(one) for one in self.record if isinstance(one, int | float))]
        allowed += [float(one) for one in numbers(answer.asked, names)]
        wrong = [one for one in found if not any(is_number(one, other) for other in allowed)]
        return f"says {', '.join(wrong[:6])} beside {value:g}" if wrong else ""

    def _date_fault(self, answer: Answer) -> str:
        wanted, found = dates(self.value), dates(answer.text)
        allowed = (
            wanted | {day for one in self.record if isinstance(one, str) for day in dates(one)} | dates(answer.asked)
        )
        if not wanted <= found:
            return f"does not say {self.value}"
        return f"says other days beside {self.value}" if found - allowed else ""


class Groups(msgspec.Struct, frozen=True, tag=True):
    """A figure for each of several names."""

    values: dict[str, float]

    def fault(self, answer: Answer) -> str:
        for name, value in self.values.items():
            place = mentions(name, answer.text)
            if place < 0:
                return f"does not name {name}"
            if not any(is_number(one, value) for one in self._near(name, place, answer.text)):
                return f"does not say {value:g} for {name}"
        return ""

    def _near(self, name: str, place: int, text: str) -> list[str]:
        """The numbers beside a name: up to the next name in its line behind it, else the last one before it."""
        others = [one for one in self.values if one != name]
        line_begin, line_end = text.rfind("\n", 0, place) + 1, text.find("\n", place)
        line = text[line_begin : line_end if line_end >= 0 else len(text)]
        at = place - line_begin
        behind, before = line[at + len(name) :], line[:at]
        cut = min((found for one in others if (found := mentions(one, behind)) >= 0), default=len(behind))
        after = numbers(behind[:cut], others)
        alone = not any(mentions(one, line) >= 0 for one in others)
        earlier = numbers(before, others)
        return after[:1] + (earlier if alone else earlier[-1:])


class Text(msgspec.Struct, frozen=True, tag=True):
    """Every piece must be said, and none of the others."""

    pieces: tuple[str, ...]
    wrong: tuple[str, ...] = ()

    def fault(self, answer: Answer) -> str:
        flat = " ".join(answer.text.split())
        missing = [one for one in self.pieces if not any(_in(part, flat) for part in one.split("|"))]
        if missing:
            return f"does not say {missing[0]!r}"
        wrong = [one for one in self.wrong if _in(one, flat) and not _in(one, answer.asked)]
        return f"says {wrong[0]!r}, which is wrong" if wrong else ""


def _in(piece: str, text: str) -> bool:
    left = r"(?<!\w)" if piece[:1].isalnum() else ""
    right = r"(?!\w)" if piece[-1:].isalnum() else ""
    return re.search(left + re.escape(" ".join(piece.split())) + right, text, re.I) is not None


class Yes(msgspec.Struct, frozen=True, tag=True):
    """That there is something: yes, its number, or its names; and not that there is none."""

    count: int
    names: tuple[str, ...] = ()

    def fault(self, answer: Answer) -> str:
        head = answer.head
        if re.match(r"\W*(no|none|nothing|there (is|are) (no|none|nothing))\b", head, re.I):
            return "says that there is none"
        said = re.search(r"\b(yes|there (is|are)|we (do|have)|found)\b", answer.text, re.I)
        named = any(mentions(one, answer.text) >= 0 for one in self.names)
        counted = any(is_number(one, self.count) for one in numbers(head))
        return "" if said or named or counted else "does not say that there is one"


class Unanswerable(msgspec.Struct, frozen=True, tag=True):
    """It cannot be known: that must be said."""

    values: frozenset[str] = frozenset()
    """Values that would be made up."""

    def fault(self, answer: Answer) -> str:
        made_up = [one for one in self.values if says(one, answer.text)]
        if made_up:
            return f"says {made_up[0]}"
        return "" if is_honest(answer.text) or is_unknown(answer.text) else "does not say that it does not know"


class More(msgspec.Struct, frozen=True, tag=True):
    """Which of two there is more of; either alone, as the one with more, or both with their figures."""

    more: str
    less: str
    most: float
    least: float

    def fault(self, answer: Answer) -> str:
        text = answer.text
        if mentions(self.more, text) < 0:
            return f"does not name {self.more}"
        if mentions(self.less, text) < 0 or not Groups({self.more: self.most, self.less: self.least}).fault(answer):
            return ""
        begun = re.search(r"\bmore\b", text, re.I)
        behind = text[begun.end() :] if begun else ""
        first, second = mentions(self.more, behind), mentions(self.less, behind)
        return (
            "" if first >= 0 and (second < 0 or first < second) else f"does not say that there is more of {self.more}"
        )


class AskBack(msgspec.Struct, frozen=True, tag=True):
    """Two are meant by one name: both must be told of, or it must be asked which."""

    names: tuple[str, str]
    values: tuple[str, ...] = ()
    """What both have in the field that was asked for."""

    def fault(self, answer: Answer) -> str:
        told = bool(self.values) and all(says(one, answer.text) for one in self.values)
        both = told or all(mentions(one, answer.text) >= 0 for one in self.names)
        return (
            ""
            if both or re.search(r"\bwhich\b.*\?", answer.text, re.I)
            else f"does not name {' and '.join(self.names)}"
        )


class Still(msgspec.Struct, frozen=True, tag=True):
    """Nothing may be changed, nor wait for approval, and nothing be claimed to be done."""

    def fault(self, answer: Answer) -> str:
        claimed = re.match(
            r"\W*(done|deleted|removed|i (have )?(deleted|removed|renamed|changed))\b", answer.text, re.I
        )
        return f"claims {claimed.group(0)!r}" if claimed else ""


class Change(msgspec.Struct, frozen=True, tag=True):
    """What must be changed, and nothing else; a call that waits for approval must hold the evidence."""

    created: tuple[str, dict[str, Any]] | None = None
    """A collection, and the fields of its new record."""
    updated: dict[str, dict[str, Any]] = {}
    """Records by collection and id, with the fields that they then have."""
    deleted: tuple[str, ...] = ()
    files: dict[str, str | None] = {}
    """Files and what they then hold; None: gone."""
    evidence: tuple[str, ...] = ()
    undone: bool = False
    """Whether what was done before must be taken back."""

    def fault(self, answer: Answer) -> str:
        return "" if answer.text.strip() else "says nothing"


Expectation = Number | NamesList | Best | Value | Groups | Text | Yes | More | Unanswerable | AskBack | Still | Change


def alternatives(values: Sequence[T]) -> tuple[T, ...]:
    """Every reading once."""
    return tuple(dict.fromkeys(values))
