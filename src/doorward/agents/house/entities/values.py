"""What something is compared with: a number, a date, a quotation, a word or a name of several words."""

from __future__ import annotations

from datetime import date, datetime

from doorward.agents.house.entities.durations import duration_at, seconds
from doorward.agents.house.entities.entity import Value
from doorward.agents.house.entities.knowledge import dates, units, vocabulary
from doorward.agents.house.entities.line import Line
from doorward.agents.house.entities.moments import stretch_at
from doorward.agents.house.entities.numbers import figures, number_at
from doorward.agents.house.entities.sizes import amount_at

_TRUTH: dict[str, bool] = {"true": True, "false": False}
_LINKS = ("or", ",", "nor")

Read = tuple[Value, str, int]
"""A value, its unit, and where it ends."""


def measured_at(line: Line, i: int) -> Read | None:
    """A value that can be more or less than another: a number, an amount of money, data or time, a day."""
    at = i
    while line.lower(at) in ("than", "$", "€", "£", "about", "around", "roughly"):
        at += 1
    data = amount_at(line, at)
    if data is not None and not data[1]:
        return data[0], "bytes", data[3]
    length = duration_at(line, at)
    if length is not None and line.lower(length[1]) not in ("old", "ago"):
        return seconds(length[0]), "seconds", length[1]
    milliseconds = _milliseconds(line, at)
    if milliseconds is not None:
        return milliseconds
    found = stretch_at(line, at, sure=False)
    if found is not None and found[0].day is not None:
        return _iso(found[0].day), "", found[1]
    number = number_at(line, at)
    if number is None:
        percent = figures(line.lower(at)) if line.shape(at) == "number" else None
        return (percent[0], "", at + 1) if percent is not None and percent[1] == "%" else None
    end = number[1]
    if line.lower(end) in units().money or line.lower(end) in units().percent:
        end += 1
    return number[0], "", end


def _milliseconds(line: Line, i: int) -> Read | None:
    short = dates().shortest_units
    read = figures(line.lower(i)) if line.shape(i) == "number" else None
    if read is None:
        return None
    if read[1] in short:
        return read[0] * short[read[1]], "seconds", i + 1
    return (read[0] * short[line.lower(i + 1)], "seconds", i + 2) if line.lower(i + 1) in short else None


def day_at(line: Line, i: int) -> tuple[str, str, int] | None:
    """The first day of a stretch of the calendar and the first behind it, as dates, and where its words end."""
    found = stretch_at(line, i, sure=True)
    if found is None:
        return None
    zone = line.now.tzinfo
    first = datetime.fromtimestamp(found[0].since, zone).date()
    behind = datetime.fromtimestamp(found[0].until, zone).date()
    return _iso(first), _iso(behind), found[1]


def _iso(day: date) -> str:
    return day.isoformat()


def value_at(line: Line, i: int, *, telling: bool = False) -> Read | None:
    """Any value. With `telling`, only one that cannot be taken for another word of the sentence."""
    shape = line.shape(i)
    if shape == "quoted":
        return line.tokens[i].text[1:-1], "", i + 1
    if shape in ("email", "url"):
        return line.tokens[i].text, "", i + 1
    if shape == "number":
        return measured_at(line, i)
    if shape in ("path", "glob"):
        return line.tokens[i].text, "", i + 1
    if shape == "mark" and line.lower(i) in ("$", "€", "£"):
        return measured_at(line, i)
    if shape == "mark" and line.lower(i) in ("@", "#") and line.touches(i + 1):
        return line.tokens[i + 1].text, "", i + 2
    if shape != "word":
        return None
    word = line.lower(i)
    if word in _TRUTH:
        return _TRUTH[word], "", i + 1
    end = i
    while line.is_word(end) and end - i < 4 and line.tokens[end].text[:1].isupper() and line.tokens[end].text != "I":
        end += 1
    if end > i and (i > 0 or telling):
        return " ".join(one.text for one in line.tokens[i:end]), "", end
    if telling or word in vocabulary().not_values:
        return None
    number = number_at(line, i)
    if number is not None:
        return number[0], "", number[1]
    return line.tokens[i].text, "", i + 1


def values_at(line: Line, i: int) -> Read | None:
    """One value, or several with `or` between them."""
    first = value_at(line, i)
    if first is None or isinstance(first[0], tuple):
        return first
    many: list[str | int | float] = []
    found: Read | None = first
    end = i
    while found is not None and len(many) < 20:
        value, _, end = found
        if isinstance(value, bool) or value is None or isinstance(value, tuple):
            break
        many.append(value)
        link = end + 1 if line.lower(end) == "," and line.lower(end + 1) == "or" else end
        if line.lower(link) not in _LINKS or (line.lower(end) == "," and not _or_follows(line, end)):
            break
        found = value_at(line, link + 1)
        if found is not None and _is_field(line, found[2]):
            break
    return (tuple(many), first[1], end) if len(many) > 1 else first


def _or_follows(line: Line, i: int) -> bool:
    """Whether a row of values with commas ends with `or`, as no other row in a sentence does."""
    return any(line.lower(k) == "or" for k in range(i, min(i + 12, len(line.tokens))))


def _is_field(line: Line, end: int) -> bool:
    """Whether what was read as a further value is a field with a comparison of its own behind it."""
    words = vocabulary()
    return line.lower(end) in ("is", "are", "=", "was", "were", "contains") or line.lower(end) in words.compare["gt"]
