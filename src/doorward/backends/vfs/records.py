"""The mount /data: collections as folders and records as JSON files, through data/* commands."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from doorward import strictjson
from doorward.backends.vfs.asking import asked, done_by
from doorward.backends.vfs.mount import (
    FIXED,
    Appends,
    Look,
    Mount,
    Parts,
    Span,
    file,
    folder,
    is_folder,
    listed,
    missing,
    sliced,
)
from doorward.backends.vfs.paths import as_key, as_name, below
from doorward.backends.vfs.shapes import Content, Item, Listed, VirtualChange
from doorward.errors import BadParams, CommandFailed, DoorwardError, NotFound, NotPermitted
from doorward.store.system_collections import SYSTEM

SCHEMA = ".schema"
_PAGE = 1_000
_OF_EACH = 1_000
"""Maximum records per collection in a recursive listing of /data."""
_ITS_OWN = ("id", "version", "createdAt", "updatedAt", "createdBy")
"""Fields of a record that the server sets; writers cannot set them."""
_WHEN = ("updatedAt", "editedAt", "at", "createdAt", "loadedAt")


class Records(Mount):
    async def item(self, parts: Parts) -> Item:
        if not parts:
            return folder(self.root)
        if len(parts) == 1:
            await self._described(parts)
            return folder(self.path(parts))
        text, record = await self._text(parts)
        return _record(self.path(parts), text, record)

    async def items(self, parts: Parts, look: Look) -> Listed:
        if not parts:
            return await self._collections(look)
        if len(parts) == 1:
            return await self._records(parts, look)
        return listed(self.path(parts), [await self.item(parts)])

    async def _collections(self, look: Look) -> Listed:
        given = (await asked(self.ctx, "data/describe"))["items"]
        items: list[Item] = []
        cut = False
        for one in sorted(given, key=lambda one: str(one["collection"])):
            path = below(self.root, as_name(one["collection"]))
            items.append(folder(path, f"{one['kind']}, {one.get('count', 0)} records"))
            if look.recursive:
                few = Look(limit=min(look.limit, _OF_EACH), hidden=look.hidden)
                inside = await self._records((as_name(one["collection"]),), few)
                items += inside["items"]
                cut = cut or inside["cut"]
            if len(items) > look.limit:
                break
        cut = cut or len(items) > look.limit
        note = f"only the first {_OF_EACH} records of a collection, and {look.limit} in total, are shown" if cut else ""
        return listed(self.root, items[: look.limit], cut=cut, note=note)

    async def _records(self, parts: Parts, look: Look) -> Listed:
        """List records page by page up to the limit; a collection may have millions."""
        collection, path = as_key(parts[0]), self.path(parts)
        items: list[Item] = [file(below(path, SCHEMA))] if look.hidden else []
        key, cursor = "", None
        note = f"{FIXED}, read-only" if collection in SYSTEM else ""
        while len(items) < look.limit:
            more: dict[str, Any] = {} if cursor is None else {"cursor": cursor}
            page = await asked(
                self.ctx, "data/list", collection=collection, limit=min(_PAGE, look.limit - len(items)), **more
            )
            if page["items"] and not key:
                key = await self._key(parts, page["items"][0])
            items += [
                _record(below(path, as_name(one.get(key, ""))), _written(one), one, note) for one in page["items"]
            ]
            cursor = page["cursor"]
            if cursor is None or not page["items"]:
                return listed(path, items)
        note = f"only the first {look.limit} records are shown; use data/count or data/list for the rest"
        return listed(path, items, cut=True, note=note)

    async def _key(self, parts: Parts, record: Mapping[str, Any]) -> str:
        """The key field of the records. Most have an `id`; for others the collection declares it."""
        if "id" in record:
            return "id"
        return str((await self._described(parts))["key"])

    async def _described(self, parts: Parts) -> Any:
        try:
            return await asked(self.ctx, "data/describe", collection=as_key(parts[0]))
        except NotPermitted:
            await asked(self.ctx, "data/list", collection=as_key(parts[0]), limit=1)  # raises if it does not exist
            return {"key": "id"}

    async def read(self, parts: Parts, span: Span) -> Content:
        if len(parts) < 2:
            await self.item(parts)
            raise is_folder(self.path(parts))
        text, _ = await self._text(parts)
        return sliced(self.path(parts), text, span)

    async def _text(self, parts: Parts) -> tuple[str, Mapping[str, Any]]:
        if len(parts) > 2:
            raise missing(self.path(parts))
        if parts[1] == SCHEMA:
            return _written(await asked(self.ctx, "data/describe", collection=as_key(parts[0]))), {}
        record = await self._one(parts)
        return _written(record), record

    async def _one(self, parts: Parts) -> Mapping[str, Any]:
        """Read a record by its name. A name of digits may be a numeric key."""
        collection, key = as_key(parts[0]), as_key(parts[1])
        try:
            found: Mapping[str, Any] = await asked(self.ctx, "data/read", collection=collection, id=key)
        except DoorwardError as error:
            if not isinstance(error, NotFound | BadParams) or not key.isdecimal() or len(key) > 15:
                raise
            found = await asked(self.ctx, "data/read", collection=collection, id=int(key))
        return found

    async def write(
        self, parts: Parts, content: str, *, encoding: str, append: Appends, parents: bool, digest: str | None
    ) -> VirtualChange:
        if len(parts) != 2 or parts[1] == SCHEMA:
            raise self.fixed(parts, "written")
        if append or encoding != "utf-8" or digest is not None:
            raise BadParams(f"{self.path(parts)} is a record; write it as a whole, as JSON text.")
        wanted = as_record(self.path(parts), content)
        fields = {name: value for name, value in wanted.items() if name not in _ITS_OWN}
        collection, key = as_key(parts[0]), as_key(parts[1])
        try:
            present = await self._one(parts)
        except NotFound:
            _, call = await done_by(self.ctx, "data/create", collection=collection, id=key, data=fields)
            return {"path": self.path(parts), "did": "created", "command": "data/create", "execution": call}
        gone = {name: None for name in present if name not in fields and name not in _ITS_OWN}
        version = wanted.get("version")
        checked = {"version": version} if isinstance(version, int) and "version" in present else {}
        _, call = await done_by(
            self.ctx,
            "data/update",
            collection=collection,
            id=present.get("id", key),
            data={**fields, **gone},
            **checked,
        )
        return {"path": self.path(parts), "did": "changed", "command": "data/update", "execution": call}

    async def make(self, parts: Parts, *, parents: bool) -> VirtualChange:
        raise BadParams(
            f"{self.path(parts)} cannot be created as a folder; collection/define creates a collection with its schema."
        )

    async def remove(self, many: Sequence[Parts], *, recursive: bool) -> list[VirtualChange]:
        for parts in many:
            if len(parts) != 2 or parts[1] == SCHEMA:
                raise BadParams(f"{self.path(parts)} is not a record; collection/drop removes a whole collection.")
        found = [await self._one(parts) for parts in many]
        done: list[VirtualChange] = []
        for parts, record in zip(many, found, strict=True):
            id = record.get("id", as_key(parts[1]))
            try:
                _, call = await done_by(self.ctx, "data/delete", collection=as_key(parts[0]), id=id)
            except DoorwardError as error:
                if not done:
                    raise
                told = f"{len(done)} of {len(many)} records were removed; {self.path(parts)} failed: {error.message}"
                raise CommandFailed(told, result={"items": done}) from error
            done.append({"path": self.path(parts), "did": "removed", "command": "data/delete", "execution": call})
        return done


def _record(path: str, text: str, record: Mapping[str, Any], note: str = "") -> Item:
    when = next((record[name] for name in _WHEN if isinstance(record.get(name), str)), "")
    return file(path, size=len(text.encode()), modified=when, note=note)


def _written(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def as_record(path: str, content: str) -> dict[str, Any]:
    """Parse the text written to a record into its fields."""
    try:
        wanted = strictjson.loads(content)
    except strictjson.NotJson as error:
        raise BadParams(f"{path} is a record and must be written as JSON: {error}.") from error
    if not isinstance(wanted, dict):
        raise BadParams(f'{path} is a record and must be written as a JSON object such as {{"title": "Milk"}}.')
    return wanted
