"""Plans that change records. The collection is looked up first, and its fields decide what can be meant."""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Any

import msgspec

from doorward.agents.house import fields, queries, smalltalk
from doorward.agents.house.conditions import as_number
from doorward.agents.house.entities import stem
from doorward.agents.house.fields import Table
from doorward.agents.house.knowledge import Intent
from doorward.agents.house.plan import Around, NotOffered, Step, Steps, Telling, Unknown, items
from doorward.agents.house.telling import Asked, Got

_KEPT = ("id", "version", "createdAt", "updatedAt", "createdBy")
"""Fields that the house fills itself."""
_STATES = ("status", "state", "stage")
_PEOPLE = ("assignee", "assignedTo", "owner", "agent", "responsible")
_VERBS = {
    "close": "closed",
    "reopen": "open",
    "cancel": "cancelled",
    "ship": "shipped",
    "approve": "approved",
    "archive": "archived",
    "resolve": "resolved",
    "finish": "done",
    "complete": "completed",
    "pay": "paid",
}


def _table(around: Around, noun: str, known: list[Table]) -> Table:
    """The collection whose records are called so."""
    wanted = stem(noun.lower())
    for one in known:
        if one.kind != "system" and wanted in (
            stem(one.name.rpartition(".")[2].lower()),
            stem(one.noun[0]),
            stem(one.noun[1]),
        ):
            return one
    raise Unknown(smalltalk.no_such_collection(noun, [one.name for one in known if one.kind != "system"]))


def _of(around: Around, got: Any) -> Generator[list[Step], list[Got], Table]:
    """The collection that is meant: by what its records are called or, without that, the one that has such an id."""
    known = fields.described(items(got.results[0]))
    noun, id = around.slots.caught.get("noun", ""), around.slots.caught.get("id", "")
    if noun:
        return _table(around, noun, known)
    own = [one for one in known if one.kind == "managed"][:50]
    if "data/query" not in around.tools or not own:
        raise Unknown(smalltalk.not_understood())
    (found,) = yield [Step("data/query", queries.having_id(own, id), lookup=True)]
    names = [one.get("collection") for one in items(found) if isinstance(one, dict)]
    if len(names) != 1:
        raise Unknown(smalltalk.no_such_value(id, "records", [one.name for one in own]))
    return next(one for one in own if one.name == names[0])


def _known(around: Around) -> Steps:
    if "data/describe" not in around.tools:
        raise NotOffered("data/describe")
    (got,) = yield [Step("data/describe", lookup=True)]
    return Telling(Asked(), (got,))


def _schema(around: Around, table: Table) -> Steps:
    (got,) = yield [Step("data/describe", {"collection": table.name}, lookup=True)]
    return Telling(Asked(), (got,))


def changed(around: Around, intent: Intent, asked: Asked) -> Steps:
    """Set a field of one record."""
    if "data/update" not in around.tools:
        raise NotOffered("data/update")
    got = yield from _known(around)
    caught = around.slots.caught
    table = yield from _of(around, got)
    value = _VERBS.get(caught.get("verb", "").lower(), caught.get("value", "").strip().strip("\"'“”`"))
    field = caught.get("field", "")
    if caught.get("verb") and not value:
        raise Unknown(smalltalk.not_understood())
    described = yield from _schema(around, table)
    schema = described.results[0].value if not isinstance(described, str) else None
    name = _field(table, field, value, schema)
    if not name:
        raise Unknown(
            smalltalk.no_such_value(field or value, table.noun[1], [one for one in table.fields if one != "version"])
        )
    data = {name: typed(table.fields.get(name, ""), value)}
    allowed = _enum(schema, name)
    if allowed and data[name] not in allowed:
        same = next((one for one in allowed if str(one).lower() == value.lower()), None)
        if same is None:
            raise Unknown(smalltalk.no_such_value(value, table.noun[1], [f"{name} ({', '.join(map(str, allowed))})"]))
        data = {name: same}
    elif isinstance(data[name], str) and data[name] != data[name].lower() and "data/aggregate" in around.tools:
        (held,) = yield [Step("data/aggregate", {"collection": table.name, "groupBy": [name]}, lookup=True)]
        data = {name: _spelt(data[name], [one.get(name) for one in items(held) if isinstance(one, dict)])}
    last = yield [Step("data/update", {"collection": table.name, "id": _id(table, caught["id"]), "data": data})]
    return Telling(msgspec.structs.replace(asked, thing=table.name, noun=table.noun), tuple(last))


def _spelt(value: str, held: list[Any]) -> str:
    """A value as other records have it, where they differ only in small and capital letters."""
    alike = [one for one in held if isinstance(one, str) and one.lower() == value.lower()]
    return alike[0] if len(alike) == 1 else value


def _field(table: Table, words: str, value: str, schema: Any) -> str:
    """The field that is to be set: the one that was named, or the one that has such a value."""
    if words.lower() in ("assign", "give", "hand", "hand over", "reassign"):
        return next((one for one in _PEOPLE if one in table.fields), "")
    if words:
        return table.find(words)
    for name in table.fields:
        if value.lower() in [str(one).lower() for one in _enum(schema, name)]:
            return name
    for name in table.of("boolean"):
        if stem(value.lower()) == stem(fields.parts(name)[-1]):
            return name
    return next((one for one in _STATES if one in table.fields), "")


def _enum(schema: Any, name: str) -> list[Any]:
    held = schema.get("schema") if isinstance(schema, dict) else None
    properties = held.get("properties") if isinstance(held, dict) else None
    spec = properties.get(name) if isinstance(properties, dict) else None
    found = spec.get("enum") if isinstance(spec, dict) else None
    return list(found) if isinstance(found, list) else []


def deleted(around: Around, intent: Intent, asked: Asked) -> Steps:
    if "data/delete" not in around.tools:
        raise NotOffered("data/delete")
    got = yield from _known(around)
    caught = around.slots.caught
    table = yield from _of(around, got)
    step = Step("data/delete", {"collection": table.name, "id": _id(table, caught["id"])})
    last = yield [step]
    return Telling(msgspec.structs.replace(asked, thing=table.name, noun=table.noun), tuple(last))


def added(around: Around, intent: Intent, asked: Asked) -> Steps:
    """Add a record whose fields are named one after the other."""
    if "data/create" not in around.tools:
        raise NotOffered("data/create")
    got = yield from _known(around)
    caught = around.slots.caught
    table = yield from _of(around, got)
    data = _body(table, caught["body"])
    if not data:
        raise Unknown(smalltalk.no_such_value(caught["body"][:60], table.noun[1], list(table.fields)))
    named = re.findall(r"[a-z]\w*", around.slots.seen.question.lower())
    left_out = next((one for one in table.fields if one.lower() in named and one not in (*data, *_KEPT)), "")
    if left_out:
        raise Unknown(smalltalk.unused(left_out, table.noun[1]))
    last = yield [Step("data/create", {"collection": table.name, "data": data})]
    return Telling(msgspec.structs.replace(asked, thing=table.name, noun=table.noun), tuple(last))


def _body(table: Table, text: str) -> dict[str, Any]:
    """Fields and values, as in `name Bench, price 120 and stock 4`; empty when a part of it fits no field."""
    own = [name for name in table.fields if name not in _KEPT]
    spelt = {" ".join(fields.parts(name)): name for name in own} | {name.lower(): name for name in own}
    spelt |= {word: name for word, name in (("called", "name"), ("named", "name"), ("titled", "title")) if name in own}
    spelt |= {word: "price" for word in ("costing", "costs", "priced at") if "price" in own}
    known = "|".join(re.escape(one) for one in sorted(spelt, key=len, reverse=True))
    text = text.rstrip(" .!")
    turned = re.findall(rf"\s*([^,;]+?) as (?:the |its )?({known})\b\s*(?:[,;]|and\b|$)", text, re.IGNORECASE)
    if turned and len(turned) == len([one for one in re.split(r"[,;]|\band\b", text) if one.strip(" .")]):
        return {
            spelt[name.lower()]: typed(table.fields[spelt[name.lower()]], value.strip(" .")) for value, name in turned
        }
    found = list(
        re.finditer(
            rf"(?<!\w)(?:the |a |an |its |with |and |of |it's |it is |in |whose |at )*(?P<field>{known})\b"
            r"(?:'s|’s|\s*(?:is|=|:|of|being|set to))?\s*",
            text,
            re.IGNORECASE,
        )
    )
    if not found or text[: found[0].start()].strip(" ,:;"):
        return {}
    data: dict[str, Any] = {}
    for number, one in enumerate(found):
        end = found[number + 1].start() if number + 1 < len(found) else len(text)
        value = re.sub(
            r"(?:[,;.]|\s+and|\s+with|\s+a|\s+the|\s+in|\s+at|\s+of|\s+for|\s+whose|\s+it's|\s+it is)*\s*$",
            "",
            text[one.end() : end].strip(),
            flags=re.IGNORECASE,
        ).strip(" ,;\"'“”`")
        name = spelt[one["field"].lower()]
        if name in data or not value:
            continue
        data[name] = typed(table.fields[name], value)
    return data


def typed(kind: str, value: str) -> Any:
    """A value as its field takes it."""
    if kind in ("number", "integer"):
        number = as_number(value)
        return value if number is None else number
    if kind == "boolean":
        return value.lower() in ("true", "yes", "on", "1", "done", "active")
    return value


def _id(table: Table, text: str) -> str | int:
    return int(text) if text.isdigit() and table.fields.get(table.key) in ("number", "integer") else text
