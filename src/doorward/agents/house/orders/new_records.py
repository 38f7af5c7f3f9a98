"""Orders that add a record, such as `add a product with name Bench, price 120 and stock 4`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from doorward.agents.house import sentences, words
from doorward.agents.house.orders.phrases import QUOTED, WIDE, OrderText, is_quoted, make_reading, need, refuse, unquote
from doorward.agents.house.orders.record_search import is_name
from doorward.agents.house.orders.tables import Table, complete_table, is_plural, known_tables, load_tables, split_noun
from doorward.agents.house.plan import Reading, Reply, Step, Steps, Unknown
from doorward.agents.house.request_context import RequestContext

_ADD = r"(?:add|create|insert|register|enter|record|make|save|store|put\s+in|set\s+up)"
_PLAIN = re.compile(
    rf"{_ADD}\s+(?:me\s+)?(?:(?:an?|the|another|one)\s+)?(?:new\s+)?(?P<rest>.+)", re.IGNORECASE | re.DOTALL
)
_NEWS = re.compile(
    rf"(?:(?:there(?:'s|’s|\s+is)|we(?:'ve|’ve|\s+have)?(?:\s+got)?|i\s+have|here(?:'s|’s|\s+is))\s+)?(?:(?:an?|the|our)\s+)?new\s+"
    rf"(?P<rest>.+?)[.,;]?\s+(?:and\s+)?(?:please\s+)?{_ADD[:-1]}|put|save)(?:\s+(?:it|that|this|them))?"
    r"(?:\s+(?:in|into|to|on)(?:\s+(?:the|our)\s+(?:list|system|database|records?|collection|catalogue|table))?)?",
    re.IGNORECASE | re.DOTALL,
)
_AS = re.compile(
    rf"{_ADD}\s+(?P<label>.+?)\s+as\s+(?:an?\s+|the\s+)?(?:new\s+)?(?P<rest>[\w ]+?)"
    r"(?:(?:\s*[:,]|\s+with)\s+(?P<body>.+))?",
    re.IGNORECASE,
)
_RECORD = re.compile(
    rf"{_ADD}\s+(?:(?:an?|another|one)\s+)?(?:new\s+)?(?:(?:record|entry|row)\s+)?(?:in|to|into)\s+(?:the\s+|our\s+)?"
    r"(?P<rest>.+)",
    re.IGNORECASE,
)
_TO = re.compile(
    r"(?:add|enter|insert|put|register|record|save|store|create)\s+(?:an?\s+|the\s+)?(?P<label>.+?)\s+(?:to|into|in)\s+(?:(?:the|our)\s+)?"
    r"(?P<noun>[\w ]+?)"
    r"(?:(?:\s*[:,]|\s+with)\s+(?P<body>.+))?",
    re.IGNORECASE,
)
_GLUE = r"(?:with|and|having|whose|the|its|an?|of|in|at|on|for|from|is|as|=|:)"
_PARTS = re.compile(rf"(?P<quoted>{QUOTED})|(?P<cut>\s*[,;()]\s*)|(?P<word>[^\s,;()]+)")
_ONE_WORD = re.compile(r"[a-z]+")
_CALLED = frozenset(("called", "named", "titled"))
_MAX_FIELD = 4
_MAX_BEFORE = 3
"""Words before the noun of a new record, such as a value, and the noun."""
_MAX_GLUE = 3
"""Words before a value that do not name its field."""
_INNER = frozenset(("of", "the", "and", "in", "to", "on", "at", "for", "a", "an", "de", "la", "von", "van", "der"))
"""Small words inside a name."""
_OUTER = frozenset(("by", "with", "running", "using", "from", "about", "without", "like"))
_MAKERS = frozenset(
    words.stem(one)
    for one in (
        "author",
        "writer",
        "written",
        "coach",
        "trainer",
        "instructor",
        "teacher",
        "artist",
        "creator",
        "maker",
    )
)


def read_new(context: RequestContext, text: OrderText) -> Reading | Reply | None:
    bare = text.bare.rstrip(" .!")
    if not any(one.fullmatch(bare) for one in (_PLAIN, _NEWS, _AS, _TO, _RECORD)):
        return None
    tables = known_tables(context)
    if tables and _choose(bare, tables) is None:
        return None

    def steps() -> Steps:
        need(context, "data/create")
        found = _choose(bare, (yield from load_tables(context)))
        if found is None:
            raise Unknown("I do not know how to do that: it names no collection that I know.")
        table, body = found
        table = yield from complete_table(context, table)
        data = read_fields(context, table, body)
        (got,) = yield [Step("data/create", {"collection": table.name, "data": data})]
        value = got.value if isinstance(got.value, dict) else {}
        id = value.get(table.key, value.get("id"))
        which = f" {sentences.name(str(id))}" if id is not None else ""
        says = sentences.describe_record(data)
        return f"I added the record{which} to {table.name}: {says}. It can be taken back with undo."

    chosen = _choose(bare, tables) if tables else None
    if chosen is not None and WIDE.match(chosen[1]):
        return refuse("I add one record at a time, and need its fields.")
    return make_reading(context, "add a record", steps, f"add {sentences.one_line(bare, 80)}")


def _choose(bare: str, tables: Sequence[Table]) -> tuple[Table, str] | None:
    """Return the collection of a new record, and the text about its fields."""
    as_one = _AS.fullmatch(bare)
    if as_one is not None:
        parts = as_one["rest"].split()
        for at in range(len(parts)):
            table, noun, rest = split_noun(" ".join(parts[at:]), tables)
            if table is not None and not rest and not is_plural(noun):
                about = (as_one["label"], " ".join(parts[:at]), as_one["body"] or "")
                return table, ", ".join(one for one in about if one)
    record = _RECORD.fullmatch(bare)
    if record is not None:
        table, _, rest = split_noun(record["rest"], tables)
        if table is not None and rest:
            return table, rest
    to = _TO.fullmatch(bare)
    if to is not None and is_name(to["label"]) and not WIDE.search(to["label"]):
        table, _, rest = split_noun(to["noun"], tables)
        if table is not None and not rest:
            return table, f"{to['label']}, {to['body'] or ''}".strip(", ")
    for found in (_NEWS.fullmatch(bare), _PLAIN.fullmatch(bare)):
        if found is not None:
            parts = found["rest"].split()
            for at in range(min(_MAX_BEFORE, len(parts))):
                table, noun, rest = split_noun(" ".join(parts[at:]), tables)
                if table is not None and rest and not is_plural(noun):
                    body = re.sub(r"^record\s+", "", rest)
                    return table, f"{body}, {' '.join(parts[:at])}" if at else body
    return None


def read_fields(context: RequestContext, table: Table, body: str) -> dict[str, Any]:
    """Return the fields that a text gives. Raises Unknown if a part of it fits no field."""
    data: dict[str, Any] = {}
    for named, text, glue in _segments(table, re.sub(r"\s+as\s+well\s+as\s+", " and ", body.strip(" :,."))):
        parts = _place(table, text, glue, data) if not named or named == table.label else [(named, text)]
        for field, value in parts:
            if field in data or not value:
                raise Unknown(_not_clear(table, value or field))
            data[field] = table.coerce(context, field, unquote(value))
    if not data:
        raise Unknown(_not_clear(table, body))
    return data


def _segments(table: Table, body: str) -> list[tuple[str, str, str]]:
    """Cut a text where a comma stands or a field is named: the field, the value, and the words before the value."""
    tokens = list(_PARTS.finditer(body))
    found: list[tuple[str, str, str]] = []
    field, glue, start, end, at = "", "", -1, -1, 0

    def close() -> None:
        nonlocal field, glue, start, end
        if start >= 0 or field:
            found.append((field, body[start:end] if start >= 0 else "", glue.strip()))
        field, glue, start, end = "", "", -1, -1

    while at < len(tokens):
        if tokens[at]["cut"]:
            close()
            at += 1
            continue
        named, behind = _field_at(table, tokens, at)
        if named and not (field and start < 0):
            if found and not field and _ONE_WORD.fullmatch(body[start:end]):
                start = -1  # It belongs to the name of the field, as in `operating system`.
            close()
            field, at = named, behind
            continue
        word = tokens[at].group()
        if start < 0 and word.lower() in _CALLED and table.label:
            field = table.label
        elif start < 0 and not tokens[at]["quoted"] and re.fullmatch(f"{_GLUE}|by", word) and at + 1 < len(tokens):
            glue += f"{word.lower()} "
        else:
            start = tokens[at].start() if start < 0 else start
            end = tokens[at].end()
        at += 1
    close()
    return found


def _field_at(table: Table, tokens: list[re.Match[str]], at: int) -> tuple[str, int]:
    """Return the field that is named at a place, and the place behind it; articles may stand before it."""
    first = at
    while first < len(tokens) and re.fullmatch(_GLUE, tokens[first].group(), re.I) and first < at + 3:
        first += 1
    for size in range(_MAX_FIELD, 0, -1):
        part = tokens[first : first + size]
        if len(part) < size or first + size >= len(tokens) or not all(one["word"] for one in part):
            continue
        said = [one.group().rstrip(":=") for one in part]
        own = {name: [words.stem(one) for one in words.name_words(name)] for name in table.fields}
        stems = [words.stem(one) for one in said]
        exact = [name for name, parts in own.items() if parts == stems]
        alike = [
            name
            for name, parts in own.items()
            if size == 1 and any(words.same_words(stems[0]) & {one} for one in parts)
        ]
        chosen = exact or (alike if said[0].islower() else [])
        if len(chosen) == 1:
            behind = first + size
            while behind < len(tokens) - 1 and re.fullmatch(
                r"(?:is|=|:|of|by|being|at|to|as|an?)", tokens[behind].group(), re.I
            ):
                behind += 1
            return chosen[0], behind
    return "", at


def _place(table: Table, value: str, glue: str, taken: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the fields of a part that begins with none: the label and what follows it, or one value."""
    if table.label in taken or not table.label or glue:
        field, rest = _resolve(table, [*glue.split(), *([value] if is_quoted(value) else value.split())])
        if field:
            return [(field, rest)]
    elif is_quoted(value):
        return [(table.label, value)]
    else:
        tokens = value.split()
        for at in range(1, len(tokens)):
            field, rest = _resolve(table, tokens[at:]) if tokens[at].islower() else ("", "")
            if field:
                return [(table.label, " ".join(tokens[:at])), (field, rest)]
        if _is_label(tokens):
            return [(table.label, value)]
    raise Unknown(_not_clear(table, value))


def _resolve(table: Table, tokens: list[str]) -> tuple[str, str]:
    """Return the field and the value of words such as `by Anna Berg`, `running debian` or `category seal`."""
    counted = re.fullmatch(r"(?:with\s+)?(?P<value>\d[\d.,]*)\s+(?P<field>[a-z ]+)", " ".join(tokens))
    if counted is not None and table.find_field(counted["field"]):
        return table.find_field(counted["field"]), counted["value"]
    turned = re.fullmatch(
        r"(?:with\s+|having\s+)?(?P<value>.+?)\s+as\s+(?:the\s+|its\s+)?(?P<field>\S+)", " ".join(tokens)
    )
    if turned is not None and table.find_field(turned["field"]):
        return table.find_field(turned["field"]), turned["value"]
    for at in range(min(_MAX_GLUE, len(tokens) - 1) + 1):
        before, value = tokens[:at], " ".join(tokens[at:])
        found = table.find_value(unquote(value))
        if found is not None and isinstance(found[1], str):
            return found[0], value
        if before and before[-1] == "by":
            makers = [one for one in table.fields if _MAKERS & {words.stem(part) for part in words.name_words(one)}]
            return (makers[0], value) if len(makers) == 1 else ("", "")
    return "", ""


def _is_label(tokens: list[str]) -> bool:
    """Whether words are a name that ends where they end: one word, or capitals with small connecting words between."""
    if len(tokens) == 1:
        return tokens[0].lower() not in words.stop_words()
    capitals = tokens[0][:1].isupper() and not tokens[-1].islower()
    inner = all(one in _INNER or not one.islower() for one in tokens)
    plain = all(one.islower() and one not in words.stop_words() and one not in _OUTER for one in tokens)
    return (capitals and inner) or plain


def _not_clear(table: Table, said: str) -> str:
    known = sentences.in_a_row([sentences.field_words(one) for one in table.fields])
    said = sentences.name(said)
    return f"I did nothing: I do not know which field of the {table.one} {said} is. Name the fields: {known}."
