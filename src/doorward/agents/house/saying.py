"""A filter in words, so that every answer says which records it is about."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from doorward.agents.house.fields import Table
from doorward.agents.house.telling.figures import field_words, value, when
from doorward.agents.house.telling.quoting import name

_BOUNDS = {"$gt": "over", "$gte": "of at least", "$lt": "under", "$lte": "of at most"}
_TIMES = {"$gt": "after", "$gte": "from", "$lt": "before", "$lte": "until"}
_WITH = "with "


def said_back(table: Table, where: Mapping[str, Any], left_out: Collection[str] = ()) -> str:
    """The conditions of a filter behind a noun: `with status open and price over 100`. Some are left out."""
    return _row([one for one in _parts(table, where, left_out) if one], " and ")


def _row(parts: list[str], link: str) -> str:
    """Conditions side by side; `with` is said once for those that follow each other."""
    text = ""
    for number, one in enumerate(parts):
        again = number and one.startswith(_WITH) and parts[number - 1].startswith(_WITH)
        text += f"{link if number else ''}{one.removeprefix(_WITH) if again else one}"
    return text


def _parts(table: Table, where: Mapping[str, Any], left_out: Collection[str]) -> list[str]:
    found: list[str] = []
    for key, wanted in where.items():
        if key == "$and" and isinstance(wanted, list):
            found += [part for one in wanted for part in _parts(table, one, left_out)]
        elif key == "$or" and isinstance(wanted, list):
            found.append(_either(table, wanted, left_out))
        elif key == "$not" and isinstance(wanted, Mapping):
            found.append(_not(table, wanted, left_out))
        elif key not in left_out and not key.startswith("$"):
            found.append(_one(table, key, wanted))
    return found


def _either(table: Table, wanted: list[Any], left_out: Collection[str]) -> str:
    """Alternatives: several values of one field, one text in several fields, or whole conditions."""
    pairs = [next(iter(one.items())) for one in wanted if isinstance(one, Mapping) and len(one) == 1]
    fields = list(dict.fromkeys(field for field, _ in pairs))
    values = [_plain(given) for _, given in pairs]
    if len(pairs) == len(wanted) and len(fields) == 1 and not fields[0].startswith("$"):
        if all(given in (None, "") for _, given in pairs):
            return f"without {_named(fields[0])}"
        if all(one is not None for one in values):
            return f"{_WITH}{_named(fields[0])} {' or '.join(_shown(fields[0], one) for one in values)}"
    texts = {given.get("$ilike") if isinstance(given, Mapping) else None for _, given in pairs}
    if len(pairs) == len(wanted) and len(texts) == 1 and None not in texts and len(fields) > 1:
        held = str(next(iter(texts))).strip("%")
        return f"{_WITH}{_shown('', held)} in {' or '.join(map(_named, fields))}"
    return _row([said for one in wanted if (said := said_back(table, one, left_out))], " or ")


def _not(table: Table, wanted: Mapping[str, Any], left_out: Collection[str]) -> str:
    (field, given), *more = wanted.items()
    plain = _plain(given)
    if not more and not field.startswith("$") and plain is not None:
        return f"{_WITH}{_named(field)} other than {_shown(field, plain)}"
    return f"not {said_back(table, wanted, left_out)}"


def _plain(given: Any) -> Any:
    """The value that a field is to have, where it is just one; None where it is not."""
    if isinstance(given, Mapping):
        like = given.get("$ilike")
        return like.replace("\\", "") if isinstance(like, str) and "%" not in like.replace("\\%", "") else None
    return given if isinstance(given, str | int | float) else None


def _one(table: Table, field: str, wanted: Any) -> str:
    words = _named(field)
    if wanted is None:
        return f"without {words}"
    if isinstance(wanted, bool):
        return f"that are {'' if wanted else 'not '}{words}"
    plain = _plain(wanted)
    if plain is not None:
        return f"{_WITH}{words} {_shown(field, plain)}"
    if not isinstance(wanted, Mapping):
        return f"{_WITH}{words} {_shown(field, wanted)}"
    return _row([_compared(table, field, op, given) for op, given in wanted.items()], " and ")


def _compared(table: Table, field: str, op: str, given: Any) -> str:
    words = _named(field)
    if op in _BOUNDS:
        if table.is_time(field):
            return f"{words} {_TIMES[op]} {when(str(given))}"
        return f"{_WITH}{words} {_BOUNDS[op]} {_shown(field, given)}"
    if op == "$between" and isinstance(given, list) and len(given) == 2:
        return f"{_WITH}{words} from {_shown(field, given[0])} to {_shown(field, given[1])}"
    if op in ("$in", "$nin") and isinstance(given, list):
        other = "other than " if op == "$nin" else ""
        return f"{_WITH}{words} {other}{' or '.join(_shown(field, one) for one in given)}"
    if op == "$ne":
        return f"{_WITH}a {words}" if given in (None, "") else f"{_WITH}{words} other than {_shown(field, given)}"
    if op == "$ilike" and isinstance(given, str):
        starts, ends = not given.startswith("%"), not given.endswith("%")
        how = "starting with" if starts else "ending in" if ends else "containing"
        return f"{_WITH}{words} {how} {_shown(field, given.strip('%').replace(chr(92), ''))}"
    return f"{_WITH}{words} {op.lstrip('$')} {_shown(field, given)}"


def _named(field: str) -> str:
    return field_words(field)


def _shown(field: str, given: Any) -> str:
    return name(given) if isinstance(given, str) else value(field, given)
