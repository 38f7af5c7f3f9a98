"""Orders that add a record, such as `add a product with name Bench, price 120 and stock 4`."""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Any

from doorward.agents.house import sentences, words
from doorward.agents.house.orders.calls import make_reading, need, refuse
from doorward.agents.house.orders.phrases import QUOTED, WIDE, is_quoted, unquote
from doorward.agents.house.orders.record_search import resolve_value
from doorward.agents.house.orders.tables import Table, Tables, is_plural
from doorward.agents.house.plan import Reading, Reply, Step, Steps, Unknown
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.results import ToolResult
from doorward.agents.house.words import load_patterns

_P = load_patterns("orders.json", "new_records")
_PLAIN, _NEWS = (re.compile(_P[one], re.IGNORECASE | re.DOTALL) for one in ("plain", "news"))
_NAME_FIRST = re.compile(_P["name_first"], re.IGNORECASE)
_RECORD = re.compile(r"(?:an?\s+)?(?:new\s+)?(?:record|entry|row)", re.IGNORECASE)
_TOKENS = re.compile(rf"{QUOTED}|[,;()]|[^\s,;()]+")
_CALLED = frozenset(("called", "named", "titled"))
_BEFORE_FIELD = frozenset(
    ("with", "and", "having", "whose", "the", "its", "a", "an", "of", "in", "at", "on", "for", "from")
)
_BEHIND_FIELD = frozenset(("is", "=", ":", "of", "by", "being", "at", "to", "as", "a", "an"))
_INNER = frozenset(("of", "the", "and", "in", "to", "on", "at", "for", "a", "an", "de", "la", "von", "van", "der"))
"""Small words inside a name."""
_OUTER = frozenset(("by", "with", "running", "using", "from", "about", "without", "like"))
_MAKERS = ("author", "coach", "instructor", "artist", "creator", "maker")
_MAX_FIELD = 3
_MAX_BEFORE = 3
"""Words before the noun of a new record, such as a value, and the noun."""


def read_new(context: RequestContext, bare: str) -> Reading | Reply | None:
    tables = Tables(context)
    chosen = _choose(bare, tables)
    if chosen is None:
        return None
    table, body = chosen
    if WIDE.match(body):
        return refuse("I add one record at a time, and need its fields.")

    def steps() -> Steps:
        need(context, "data/create")
        data = yield from _read_fields(tables, table, body)
        (got,) = yield [Step("data/create", {"collection": table.name, "data": data})]
        id = got.value.get(table.key, got.value.get("id")) if isinstance(got.value, dict) else None
        which = f" {sentences.name(str(id))}" if id is not None else ""
        says = sentences.describe_record(data)
        return f"I added the record{which} to {table.name}: {says}. It can be taken back with undo."

    return make_reading(context, "add a record", steps, f"add {sentences.one_line(bare, 80)}")


def _choose(bare: str, tables: Tables) -> tuple[Table, str] | None:
    """Return the collection of a new record, and the text about its fields."""
    named = _NAME_FIRST.fullmatch(bare)
    if named is not None and not WIDE.search(named["label"]):
        label, parts = named["label"], named["rest"].split()
        for at in range(len(parts)):
            table, _, rest = tables.split_noun(" ".join(parts[at:]))
            if table is not None and not rest and _is_name(label):
                return table, ", ".join(one for one in (label, " ".join(parts[:at]), named["body"] or "") if one)
            if table is not None and not rest and not _RECORD.fullmatch(label):
                return None
    for found in (_NEWS.fullmatch(bare), _PLAIN.fullmatch(bare)):
        parts = found["rest"].split() if found is not None else []
        for at in range(min(_MAX_BEFORE, len(parts))):
            table, noun, rest = tables.split_noun(" ".join(parts[at:]))
            if found is not None and table is not None and rest and (found["into"] or not is_plural(noun)):
                return table, f"{rest}, {' '.join(parts[:at])}" if at else rest
    return None


def _read_fields(tables: Tables, table: Table, body: str) -> Generator[list[Step], list[ToolResult], dict[str, Any]]:
    """Return the fields that a text gives. Raises Unknown if a part of it fits no field."""
    data: dict[str, Any] = {}
    part: list[str] = []
    for token in (*_TOKENS.findall(body), ","):
        if token not in tuple(",;()"):
            part.append(token)
            continue
        for field, value in _read_part(table, part, data) if part else ():
            if field in data or not value:
                raise Unknown(_not_clear(table, value or field))
            data[field] = yield from resolve_value(tables, table, field, unquote(value))
        part = []
    if not data:
        raise Unknown(_not_clear(table, body))
    return data


def _read_part(table: Table, tokens: list[str], taken: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the fields of a part without commas: a name or a value, and behind it fields with their values."""
    found: list[tuple[str, str]] = []
    field, start, at = "", 0, 0
    while at < len(tokens):
        named, behind = _field_at(table, tokens, at) if at == 0 or not field or at > start else ("", at)
        if named:
            if at > start:
                found.append((field, " ".join(tokens[start:at])))
            field, start, at = named, behind, behind
        else:
            at += 1
    found.append((field, " ".join(tokens[start:])))
    return [(field, value) if field else _place(table, value, taken) for field, value in found]


def _field_at(table: Table, tokens: list[str], at: int) -> tuple[str, int]:
    """Return the field that is introduced at a place, and the place of its value."""
    first = at
    while first < len(tokens) and tokens[first].lower() in _BEFORE_FIELD:
        first += 1
    if first < len(tokens) - 1 and tokens[first].lower() in _CALLED and table.label:
        return table.label, first + 1
    for size in range(_MAX_FIELD, 0, -1):
        said = [one.rstrip(":=") for one in tokens[first : first + size]]
        if first + size >= len(tokens) or not all(one.isalpha() and one.islower() for one in said):
            continue
        field = table.find_field(" ".join(said)) if said[-1] not in _BEHIND_FIELD else ""
        behind = first + size
        if not field and tokens[behind - 1] == "by" and size <= 2:
            return next((one for one in map(table.find_field, _MAKERS) if one), ""), behind
        while field and behind < len(tokens) - 1 and tokens[behind].lower() in _BEHIND_FIELD:
            behind += 1
        if field:
            return field, behind
    value = table.find_value(unquote(" ".join(tokens[at + 1 :]))) if tokens[at].islower() else None
    if value is not None and isinstance(value[1], str):
        return value[0], at + 1
    return (_place_field(table, " ".join(tokens[at:])), at + 1) if _is_at_place(tokens, at) else ("", at)


def _is_at_place(tokens: list[str], at: int) -> bool:
    """Whether a place follows: `in Rome`, `from New York`; a title may hold `in`, too."""
    return at > 0 and tokens[at] in ("in", "from") and at + 1 < len(tokens) and tokens[at + 1][:1].isupper()


def _place_field(table: Table, said: str) -> str:
    """Return the only field for a place; empty if the words can be a part of a title. Raises Unknown."""
    known = words.same_words("town") | words.same_words(words.stem("location")) | {"port", "village"}
    fields = [one for one in table.fields if {words.stem(word) for word in words.name_words(one)} & known]
    if len(fields) != 1 and not (table.label == "title" and said.startswith("in ")):
        raise Unknown(_not_clear(table, said))
    return fields[0] if len(fields) == 1 else ""


def _place(table: Table, value: str, taken: dict[str, Any]) -> tuple[str, str]:
    """Return the field of a value that is given without one: the label, or the field that knows the value."""
    known = table.find_value(unquote(value))
    if known is not None and isinstance(known[1], str) and known[0] != table.label:
        return known[0], value
    if table.label and table.label not in taken and _is_label(_TOKENS.findall(value)):
        return table.label, value
    raise Unknown(_not_clear(table, value))


def _is_name(said: str) -> bool:
    """Whether a text is a name by its looks: quoted, capitalised, with digits, or one word."""
    looks = is_quoted(said) or said[:1].isupper() or any(map(str.isdigit, said)) or len(said.split()) == 1
    return looks and _is_label(_TOKENS.findall(said))


def _is_label(tokens: list[str]) -> bool:
    """Whether words are a name: quoted, one word, capitals with small words between, or only words with a meaning."""
    if len(tokens) == 1:
        return is_quoted(tokens[0]) or tokens[0].lower() not in words.stop_words()
    capitals = tokens[0][:1].isupper() and not tokens[-1].islower()
    inner = all(one in _INNER or not one.islower() for one in tokens)
    plain = all(one.islower() and one not in words.stop_words() | _OUTER for one in tokens)
    return (capitals and inner) or plain


def _not_clear(table: Table, said: str) -> str:
    known = sentences.in_a_row([sentences.field_words(one) for one in table.fields])
    said = sentences.name(said)
    return f"I did nothing: I do not know which field of the {table.one} {said} is. Name the fields: {known}."
