"""A small house that answers the calls of the house model from memory, and notes those that would change something."""

from __future__ import annotations

import fnmatch
import json
import sqlite3
from contextlib import closing
from typing import Any

import msgspec

from doorward.agents.house.model import HouseModel
from doorward.agents.models.model import ChatTurn, NativeCall, Prompt, TextPiece, ToolSpec, UndoableChange
from doorward.store.collection_profiles import CollectionProfile, FieldProfile

NOW = 1_800_000_000.0
READS = ("data/list", "data/query", "file/read", "vfs/find")
CHANGES = (
    *("bash", "data/create", "data/delete", "data/update", "file/delete", "file/edit", "file/write", "room/say"),
    *("shell/cp", "shell/mkdir", "shell/mv", "shell/rm", "shell/sort", "undo", "vfs/append"),
)
RECORDS: dict[str, list[dict[str, Any]]] = {
    "members": [
        {"id": "m-1", "name": "Anna Berg", "phone": "111", "city": "Rome", "active": True},
        {"id": "m-2", "name": "Anna Holm", "phone": "222", "city": "Oslo", "active": True},
        {"id": "m-3", "name": "Theo Rad", "phone": "333", "city": "Rome", "active": False},
    ],
    "books": [
        {"id": "b-1", "title": "The Quiet River", "author": "Ida Lund", "genre": "crime", "price": 12.5},
        {"id": "b-2", "title": "Dune", "author": "Frank Herbert", "genre": "science", "price": 9.0},
    ],
    "loans": [
        {"id": "l-1", "member": "m-1", "book": "b-1", "returned": False},
        {"id": "l-2", "member": "m-3", "book": "b-1", "returned": False},
        {"id": "l-3", "member": "m-3", "book": "b-2", "returned": False},
        {"id": "l-4", "member": "m-3", "book": "b-2", "returned": True},
    ],
    "orders": [{"id": "o-5", "status": "open", "assignee": "ben"}, {"id": "o-6", "status": "paid", "assignee": "ida"}],
}
LABELS = {"members": "name", "books": "title"}
LINKS = {"member": "members", "book": "books"}
ENUMS = {"genre": ("crime", "science", "poetry"), "status": ("open", "paid", "shipped")}
FILES = (
    {"path": "/workspace/tmp/a.log", "type": "file", "size": 9, "modified": "2026-10-01T00:00:00Z"},
    {"path": "/workspace/tmp/b.log", "type": "file", "size": 0, "modified": "2027-01-14T00:00:00Z"},
)


def _kind(value: Any) -> str:
    return "boolean" if isinstance(value, bool) else "number" if isinstance(value, int | float) else "text"


def profiles() -> tuple[CollectionProfile, ...]:
    return tuple(
        CollectionProfile(
            name=name,
            kind="managed",
            key="id",
            label=LABELS.get(name, ""),
            count=len(rows),
            fields=tuple(
                FieldProfile(
                    name=field,
                    kind=_kind(value),  # type: ignore[arg-type]
                    values=ENUMS.get(field) or tuple(dict.fromkeys(one[field] for one in rows)),
                    complete=True,
                    links=LINKS.get(field, ""),
                    links_by="id" if field in LINKS else "",
                )
                for field, value in rows[0].items()
            ),
        )
        for name, rows in RECORDS.items()
    )


def _fits(row: dict[str, Any], where: dict[str, Any]) -> bool:
    for key, wanted in where.items():
        if key in ("$or", "$and"):
            if not (any if key == "$or" else all)(_fits(row, one) for one in wanted):
                return False
        elif isinstance(wanted, dict):
            held = row.get(key)
            if "$in" in wanted and held not in wanted["$in"]:
                return False
            if "$ilike" in wanted and not fnmatch.fnmatch(
                str(held).lower(), wanted["$ilike"].lower().replace("%", "*")
            ):
                return False
        elif row.get(key) != wanted:
            return False
    return True


def _query(sql: str, params: list[Any]) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(":memory:")) as database:
        database.row_factory = sqlite3.Row
        for name, rows in RECORDS.items():
            database.execute(f"CREATE TABLE {name} ({', '.join(rows[0])})")
            marks = ", ".join("?" * len(rows[0]))
            database.executemany(f"INSERT INTO {name} VALUES ({marks})", [tuple(one.values()) for one in rows])
        return [dict(one) for one in database.execute(sql, params)]


class OrderHouse:
    def __init__(self, *, known: bool = True, tools: tuple[str, ...] = (*READS, *CHANGES)) -> None:
        self._data = profiles() if known else ()
        self._tools = tuple(
            ToolSpec(one.replace("/", "_"), "Do it.", {}, command=one, asks=one in CHANGES, reads_only=one in READS)
            for one in tools
        )

    async def ask(self, text: str, changes: tuple[UndoableChange, ...] = ()) -> tuple[list[tuple[str, Any]], str]:
        """Return the calls that change something, and the answer. Each of them is answered as done."""
        turns = [ChatTurn(role="user", text=text, speaker="owner")]
        made: list[tuple[str, Any]] = []
        model = HouseModel(lambda: NOW)
        said = ""
        for _ in range(12):
            prompt = Prompt(
                instructions="",
                turns=tuple(turns),
                tools=self._tools,
                data=self._data,
                changes=changes,
                files=("tmp/", "notes/errands.txt", "notes/get-in-sheet.md"),
            )
            pieces = [one async for one in model.answer(prompt)]
            calls = [one for one in pieces if isinstance(one, NativeCall)]
            said = "".join(one.text for one in pieces if isinstance(one, TextPiece))
            if not calls:
                break
            turns.append(ChatTurn(role="assistant", text="", calls=tuple(calls)))
            for one in calls:
                command, params = one.name.replace("_", "/", 1), json.loads(one.arguments)
                if command in CHANGES:
                    made.append((command, params))
                value = msgspec.json.encode(self._run(command, params)).decode()
                head = f"{command}: done.\n<data>\nResult: {value}\n</data>"
                turns.append(ChatTurn(role="result", text=head, tool=one.name, answers=one.id))
        return made, said

    def _run(self, command: str, params: dict[str, Any]) -> Any:
        if command == "data/list":
            rows = [one for one in RECORDS.get(params["collection"], []) if _fits(one, params.get("filter", {}))]
            return {"items": rows[: params.get("limit", 50)], "cursor": None}
        if command == "data/query":
            return {"items": _query(params["sql"], params.get("params", []))}
        if command == "vfs/find":
            return {"items": list(FILES)}
        if command == "file/read":
            return {"content": "milk", "digest": "0" * 64}
        return {"path": params.get("path", ""), "bytesAfter": 8, "bytesBefore": 3, "id": "new", "replaced": 1}
