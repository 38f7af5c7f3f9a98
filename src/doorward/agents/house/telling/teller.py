"""Results put into words: by what was asked, by the command, or by the form of what it gave."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from doorward.agents.house.telling import files, house, programs, records, totals
from doorward.agents.house.telling.asked import Asked, Got
from doorward.agents.house.telling.figures import value, zone_named
from doorward.agents.house.telling.knowledge import tellers
from doorward.agents.house.telling.nouns import items_of
from doorward.agents.house.telling.quoting import name, one_line, quoted

_LONGEST_MESSAGE = 600
_PARAMS = 4

_SHAPES: Mapping[str, Callable[[Asked, Got], str]] = {
    "count": totals.count,
    "groups": totals.groups,
    "schema": house.schema,
    "records": records.records,
    "record": records.record,
    "files": files.files,
    "file": files.file,
    "content": files.content,
    "hits": files.hits,
    "tree": files.tree,
    "changes": files.changes,
    "log": house.log,
    "report": house.report,
    "status": house.status,
    "commands": house.commands,
    "command": house.command,
    "surroundings": house.surroundings,
    "timeline": house.timeline,
    "script": programs.script,
}


def told(asked: Asked, results: Sequence[Got]) -> str:
    """The answer to a request, from all that its calls gave. The verdict comes first where one was asked for."""
    parts = [one for got in results if (one := _told(asked, got))]
    verdict = house.is_well(results) if asked.thing == "health" else None
    if verdict is not None:
        parts.insert(0, tellers().well if verdict else tellers().unwell)
    elif asked.thing == "health" and any(got.status == "done" for got in results):
        parts.insert(0, tellers().unseen)
    return "\n".join(parts) or tellers().nothing


def _told(asked: Asked, got: Got) -> str:
    rules = tellers()
    if got.status != "done":
        return _undone(got)
    text = _done(asked, got)
    return f"{rules.approved} {text}" if got.approved else text


def _undone(got: Got) -> str:
    """What was refused, failed or waits, and why."""
    rules = tellers()
    message = one_line(got.message, _LONGEST_MESSAGE)
    command = name(got.command)
    if got.status == "parked":
        ticket = f" Its ticket is {name(got.ticket)}." if got.ticket else ""
        return rules.parked.format(what=_call(got), message=f" {message}" if message else "", ticket=ticket)
    template: str = getattr(rules, got.status)
    return template.format(command=command, message=message or "no reason was given")


def _call(got: Got) -> str:
    """A call in words: the command with its parameters."""
    given = [
        f"{key} {value(key, one)}" for key, one in list(got.params.items())[:_PARAMS] if one not in (None, "", [], {})
    ]
    return f"{name(got.command)} with {', '.join(given)}" if given else name(got.command)


def _done(asked: Asked, got: Got) -> str:
    rules = tellers()
    if got.value is None:
        return programs.output(got, got.text)
    if programs.is_ran(got.value):
        return programs.ran(asked, got)
    sentence = rules.sentences.get(got.command)
    if sentence and isinstance(got.value, dict):
        return sentence.format_map(_Fields(got, asked))
    how = rules.things.get(asked.thing) or (rules.things["rooms"] if _lists_rooms(asked, got) else None)
    if how is not None and items_of(got.value) is not None and got.command not in ("debug/logs", "data/aggregate"):
        return house.many(asked, got, how)
    shape = _SHAPES.get(rules.shapes.get(got.command, "")) or _by_look(got.value)
    return shape(asked, got) if shape is not None else _plain(asked, got)


def _lists_rooms(asked: Asked, got: Got) -> bool:
    """Whether rooms are listed without a condition on them, whichever command did it."""
    if got.command == "room/list":
        return True
    plain = not asked.condition_says and not asked.fields and not got.params.get("filter")
    return got.command == "data/list" and got.params.get("collection") == "rooms" and plain


class _Fields(dict[str, str]):
    """The fields of a result and of its call, as they stand in a sentence."""

    def __init__(self, got: Got, asked: Asked) -> None:
        super().__init__()
        self._given = {**got.params, **(got.value if isinstance(got.value, dict) else {})}
        self._zone = zone_named(asked.zone)

    def __missing__(self, field: str) -> str:
        given = self._given.get(field)
        if field.startswith("bytes") and isinstance(given, int):
            return _Counted(f"{given:,}")
        return _Counted(value(field, given, self._zone))


class _Counted(str):
    """A figure that a sentence may put one word or another behind: `{bytes:byte|bytes}`."""

    __slots__ = ()

    def __format__(self, words: str) -> str:
        one, _, many = words.partition("|")
        return f"{self!s} {one if self == '1' else many}" if many else str(self)


def _by_look(given: Any) -> Callable[[Asked, Got], str] | None:
    """The form of a result that no rule knows."""
    if isinstance(given, dict) and set(given) == {"count"}:
        return totals.count
    items = items_of(given)
    if items is None:
        return records.record if isinstance(given, dict) else None
    if items and all(isinstance(one, dict) and "path" in one for one in items):
        return files.hits if all("line" in one and "text" in one for one in items) else files.files
    return records.records


def _plain(asked: Asked, got: Got) -> str:
    if isinstance(got.value, str):
        return f"It gave:\n{quoted(got.value)}"
    if isinstance(got.value, bool | int | float):
        return f"It gave {value('', got.value)}."
    return f"It gave:\n{quoted(msgspec.json.encode(got.value).decode())}"
