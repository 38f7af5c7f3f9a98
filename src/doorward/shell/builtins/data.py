"""Built-ins for data: collections, describe, select, count, insert, update, delete, query."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from doorward.core import strictjson
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.clock import to_iso
from doorward.core.command import shorten
from doorward.core.errors import DoorwardError, NotFound
from doorward.shell.builtins.builtin import REMOVES, STORES, BuiltinFacts, builtin
from doorward.shell.builtins.formatting import format_json
from doorward.shell.builtins.options import BuiltinOptions, UsageError
from doorward.shell.builtins.run import BuiltinRun

_GROUP = "Data"
_CONDITION = re.compile(r"([^=!<>~]+?)(!=|>=|<=|=|>|<|~)(.*)", re.DOTALL)
_OPERATORS = {"!=": "$ne", ">=": "$gte", "<=": "$lte", ">": "$gt", "<": "$lt", "~": "$contains"}
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,15})(?:\.[0-9]{1,15})?")
_NAME = re.compile(r"\w+")
_LATEST = 253_402_300_800
"""The year 10000 in seconds, later than any time that can be formatted."""
_WORDS = {"true": True, "false": False, "null": None}
_WHERE = {"-w --where CONDITION": "Filter: field=value, also != ~ (contains) '>' '>=' '<' '<='; commas between several"}
_JSON = {"--json": "As JSON"}
_DELETES = BuiltinFacts(
    tier=Tier.SYSTEM,
    effects=Effects.READ | Effects.WRITE | Effects.DESTROY,
    access=Access.FULL,
    safety=Safety.DANGEROUS,
    undo=REMOVES.undo,
)


@builtin("collections", "[--json]", group=_GROUP, options=_JSON)
async def collections(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """List the collections you can see, and their numbers of records."""
    items = (await speaker.call("data/describe"))["items"]
    if "--json" in options:
        speaker.write(format_json(items))
        return
    rows = [{"collection": one["collection"], "kind": one["kind"], "records": one.get("count")} for one in items]
    speaker.write_table(rows)


@builtin("describe", "[--json] collection", ["rooms"], group=_GROUP, options=_JSON)
async def describe(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Show the fields of a collection and their types."""
    told = await speaker.call("data/describe", collection=_require_one(options, "collection"))
    if "--json" in options:
        speaker.write(format_json(told))
        return
    speaker.write_line(f"{told['collection']} ({told['kind']}, key {told['key']}, {told.get('count', 0)} records)")
    speaker.write_table([{"field": name, "type": kind} for name, kind in told["fields"].items()])


@builtin(
    "select",
    "collection [field…] [-w condition] [-o order] [-n most] [--json]",
    ["rooms", "id", "recipe", "-n", "5"],
    group=_GROUP,
    options={
        **_WHERE,
        "-o --order FIELD": "Order by a field; - in front for descending",
        "-n --limit NUMBER": "Maximum records; default 50",
        **_JSON,
    },
)
async def select(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Print records of a collection as a table: select orders id total -w status=open -o -total -n 10."""
    collection, *fields = options.words or ("",)
    if not collection:
        raise UsageError("a collection is missing")
    wanted = [one for word in fields for one in word.split(",") if one]
    params: dict[str, Any] = {"collection": collection, "limit": options.number("-n", 50, least=1, most=1_000)}
    params |= _parse_filter(options)
    params |= {"fields": wanted} if wanted else {}
    params |= {"orderBy": options.values["-o"]} if "-o" in options else {}
    page = await speaker.call("data/list", **params)
    if "--json" in options:
        speaker.write(format_json(page["items"]))
    else:
        speaker.write_table(page["items"], wanted)
        if not page["items"]:
            speaker.write_note("no records found")
    if page["cursor"] is not None:
        speaker.write_note(f"only the first {len(page['items'])} records are shown; use -n for more, or count")


@builtin(
    "count",
    "collection [-w condition] [-g field]",
    ["rooms"],
    group=_GROUP,
    options={**_WHERE, "-g --group FIELD": "Group by this field; commas between several"},
)
async def count(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Count records of a collection: count users -g access."""
    collection = _require_one(options, "collection")
    if "-g" not in options:
        speaker.write_line((await speaker.call("data/count", collection=collection, **_parse_filter(options)))["count"])
        return
    groups = options.values["-g"].split(",")
    given = await speaker.call(
        "data/aggregate", collection=collection, groupBy=groups, orderBy="-count", limit=1_000, **_parse_filter(options)
    )
    speaker.write_table(given["items"])


@builtin(
    "insert",
    "collection [--id id] field=value… | JSON",
    ["notes", "title=Milk"],
    group=_GROUP,
    kind=STORES,
    options={"--id ID": "The id of the new record"},
)
async def insert(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Create a record from field=value words or a piped JSON object, and print its id."""
    collection, *words = options.words or ("",)
    if not collection:
        raise UsageError("a collection is missing")
    data = _parse_fields(words) if words else parse_piped_json(speaker)
    if not isinstance(data, dict):
        raise UsageError("a record must be a JSON object")
    try:
        made = await speaker.call("data/create", collection=collection, data=data, **_id_param(options))
    except NotFound as error:
        raise NotFound(f"{error.message} collection/define creates a collection.") from error
    speaker.write_line(made.get("id", ""))


@builtin("update", "collection id field=value… | JSON", ["notes", "n1", "done=true"], group=_GROUP, kind=STORES)
async def update(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Change fields of a record, given as field=value words or as a piped JSON object."""
    if len(options.words) < 2:
        raise UsageError("a collection or an id is missing")
    collection, id, *words = options.words
    data = _parse_fields(words) if words else parse_piped_json(speaker)
    if not isinstance(data, dict):
        raise UsageError("changes must be a JSON object")
    await speaker.call("data/update", collection=collection, id=id, data=data)


@builtin("delete", "collection id…", ["notes", "n1"], group=_GROUP, kind=_DELETES)
async def delete(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Delete records; when one does not exist, none is deleted."""
    if len(options.words) < 2:
        raise UsageError("a collection or an id is missing")
    collection, *ids = options.words
    for id in ids:
        await speaker.call("data/read", collection=collection, id=id)
    for id in ids:
        await speaker.call("data/delete", collection=collection, id=id)


@builtin(
    "query",
    "sql [--json]",
    ["SELECT id, recipe FROM rooms"],
    group=_GROUP,
    options={"-d --database NAME": "An attached database", "--json": "As JSON, with times in seconds since 1970"},
)
async def query(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Run one SELECT over the collections and print the result as a table."""
    sql = " ".join(options.words) or speaker.piped.strip()
    if not sql:
        raise UsageError("a SELECT is missing")
    more = {"database": options.values["-d"]} if "-d" in options else {}
    given = await speaker.call("data/query", sql=sql, **more)
    rows = given["items"]
    if "--json" in options:
        speaker.write(format_json(rows))
    else:
        times = (
            await _find_time_fields(speaker, sql) if not more and any(_has_number(row) for row in rows) else frozenset()
        )
        speaker.write_table(
            [{name: _format_value(value, name in times) for name, value in row.items()} for row in rows]
        )
        if not rows:
            speaker.write_note("no rows found")
    if given["more"]:
        speaker.write_note(f"only the first {len(rows)} rows are shown; use LIMIT and OFFSET in the SELECT for others")


async def _find_time_fields(speaker: BuiltinRun, sql: str) -> frozenset[str]:
    """The time fields of the collections that a SELECT names; the SELECT itself returns times as numbers."""
    named = set(_NAME.findall(sql))
    try:
        items = (await speaker.call("data/describe"))["items"]
    except DoorwardError:  # a caller that may query but not describe gets numbers
        return frozenset()
    fields = (one["fields"].items() for one in items if one["collection"] in named)
    return frozenset(name for each in fields for name, kind in each if kind == "time")


def _has_number(row: dict[str, Any]) -> bool:
    return any(isinstance(value, int | float) for value in row.values())


def _format_value(value: Any, is_time: bool) -> Any:
    return to_iso(value) if is_time and isinstance(value, int | float) and 0 <= value < _LATEST else value


def parse_piped_json(speaker: BuiltinRun) -> Any:
    """The piped input, parsed as JSON."""
    if not speaker.piped.strip():
        raise UsageError("the piped input is missing")
    try:
        return strictjson.loads(speaker.piped)
    except strictjson.NotJson as error:
        raise UsageError(f"the piped input is not JSON: {error}") from error


def _require_one(options: BuiltinOptions, what: str) -> str:
    if len(options.words) != 1:
        raise UsageError(f"it takes one {what}")
    return options.words[0]


def _id_param(options: BuiltinOptions) -> dict[str, str]:
    return {"id": options.values["--id"]} if "--id" in options else {}


def _parse_filter(options: BuiltinOptions) -> dict[str, Any]:
    text = options.values.get("-w", "")
    if not text:
        return {}
    found = [_parse_condition(one.strip()) for one in text.split(",")]
    return {"filter": found[0] if len(found) == 1 else {"$and": found}}


def _parse_condition(text: str) -> dict[str, Any]:
    parts = _CONDITION.fullmatch(text)
    if parts is None:
        raise UsageError(
            f"invalid condition; valid: such as status=open, or 'age>=18' in quotes because > redirects; given "
            f"{shorten(text)}"
        )
    field, sign, text = parts[1].strip(), parts[2], parts[3].strip()
    value = text if sign == "~" else _parse_value(text)
    return {field: value if sign == "=" else {_OPERATORS[sign]: value}}


def _parse_fields(words: Sequence[str]) -> dict[str, Any]:
    data = {}
    for word in words:
        field, equals, value = word.partition("=")
        if not equals or not field:
            raise UsageError(f"a field must be name=value; given {shorten(word)}")
        data[field] = _parse_value(value)
    return data


def _parse_value(text: str) -> Any:
    """Parse a value: numbers, true, false and null as such; anything else, or in quotes, as text."""
    if text in _WORDS:
        return _WORDS[text]
    if _NUMBER.fullmatch(text):
        return float(text) if "." in text else int(text)
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1]
    return text
