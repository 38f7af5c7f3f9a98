"""The mount /data: collections as folders and records as JSON files, through data/* commands."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from doorward.core import strictjson
from doorward.core.errors import BadParams, CommandFailed, DoorwardError, NotFound, NotPermitted
from doorward.shell.vfs.inner_calls import call_inner, call_inner_with_id
from doorward.shell.vfs.mount import (
    READ_ONLY_NOTE,
    AppendMode,
    ListOptions,
    Mount,
    PathParts,
    ReadSpan,
    file_item,
    folder_item,
    is_folder_error,
    make_listing,
    missing_error,
    slice_text,
)
from doorward.shell.vfs.paths import escape_key, join_path, unescape_key
from doorward.shell.vfs.schema import VirtualChange, VirtualContent, VirtualFile, VirtualListing
from doorward.store.system_collections import SYSTEM

SCHEMA = ".schema"
_PAGE = 1_000
_MAX_PER_COLLECTION = 1_000
"""Maximum records per collection in a recursive listing of /data."""
_SERVER_FIELDS = ("id", "version", "createdAt", "updatedAt", "createdBy")
"""Fields of a record that the server sets; writers cannot set them."""
_TIME_FIELDS = ("updatedAt", "editedAt", "at", "createdAt", "loadedAt")


class DataMount(Mount):
    async def item(self, parts: PathParts) -> VirtualFile:
        if not parts:
            return folder_item(self.root)
        if len(parts) == 1:
            await self._describe(parts)
            return folder_item(self.path(parts))
        text, record = await self._read_text(parts)
        return _record_item(self.path(parts), text, record)

    async def items(self, parts: PathParts, look: ListOptions) -> VirtualListing:
        if not parts:
            return await self._list_collections(look)
        if len(parts) == 1:
            return await self._list_records(parts, look)
        return make_listing(self.path(parts), [await self.item(parts)])

    async def _list_collections(self, look: ListOptions) -> VirtualListing:
        given = (await call_inner(self.ctx, "data/describe"))["items"]
        items: list[VirtualFile] = []
        cut = False
        for one in sorted(given, key=lambda one: str(one["collection"])):
            path = join_path(self.root, escape_key(one["collection"]))
            items.append(folder_item(path, f"{one['kind']}, {one.get('count', 0)} records"))
            if look.recursive:
                few = ListOptions(limit=min(look.limit, _MAX_PER_COLLECTION), hidden=look.hidden)
                inside = await self._list_records((escape_key(one["collection"]),), few)
                items += inside["items"]
                cut = cut or inside["cut"]
            if len(items) > look.limit:
                break
        cut = cut or len(items) > look.limit
        note = (
            f"only the first {_MAX_PER_COLLECTION} records of a collection, and {look.limit} in total, are shown"
            if cut
            else ""
        )
        return make_listing(self.root, items[: look.limit], cut=cut, note=note)

    async def _list_records(self, parts: PathParts, look: ListOptions) -> VirtualListing:
        """List records page by page up to the limit; a collection may have millions."""
        collection, path = unescape_key(parts[0]), self.path(parts)
        items: list[VirtualFile] = [file_item(join_path(path, SCHEMA))] if look.hidden else []
        key, cursor = "", None
        note = f"{READ_ONLY_NOTE}, read-only" if collection in SYSTEM else ""
        while len(items) < look.limit:
            more: dict[str, Any] = {} if cursor is None else {"cursor": cursor}
            page = await call_inner(
                self.ctx, "data/list", collection=collection, limit=min(_PAGE, look.limit - len(items)), **more
            )
            if page["items"] and not key:
                key = await self._key_field(parts, page["items"][0])
            items += [
                _record_item(join_path(path, escape_key(one.get(key, ""))), _render_json(one), one, note)
                for one in page["items"]
            ]
            cursor = page["cursor"]
            if cursor is None or not page["items"]:
                return make_listing(path, items)
        note = f"only the first {look.limit} records are shown; use data/count or data/list for the rest"
        return make_listing(path, items, cut=True, note=note)

    async def _key_field(self, parts: PathParts, record: Mapping[str, Any]) -> str:
        """The key field of the records. Most have an `id`; for others the collection declares it."""
        if "id" in record:
            return "id"
        return str((await self._describe(parts))["key"])

    async def _describe(self, parts: PathParts) -> Any:
        try:
            return await call_inner(self.ctx, "data/describe", collection=unescape_key(parts[0]))
        except NotPermitted:
            await call_inner(
                self.ctx, "data/list", collection=unescape_key(parts[0]), limit=1
            )  # raises if it does not exist
            return {"key": "id"}

    async def read(self, parts: PathParts, span: ReadSpan) -> VirtualContent:
        if len(parts) < 2:
            await self.item(parts)
            raise is_folder_error(self.path(parts))
        text, _ = await self._read_text(parts)
        return slice_text(self.path(parts), text, span)

    async def _read_text(self, parts: PathParts) -> tuple[str, Mapping[str, Any]]:
        if len(parts) > 2:
            raise missing_error(self.path(parts))
        if parts[1] == SCHEMA:
            return _render_json(await call_inner(self.ctx, "data/describe", collection=unescape_key(parts[0]))), {}
        record = await self._read_record(parts)
        return _render_json(record), record

    async def _read_record(self, parts: PathParts) -> Mapping[str, Any]:
        """Read a record by its name. A name of digits may be a numeric key."""
        collection, key = unescape_key(parts[0]), unescape_key(parts[1])
        try:
            found: Mapping[str, Any] = await call_inner(self.ctx, "data/read", collection=collection, id=key)
        except DoorwardError as error:
            if not isinstance(error, NotFound | BadParams) or not key.isdecimal() or len(key) > 15:
                raise
            found = await call_inner(self.ctx, "data/read", collection=collection, id=int(key))
        return found

    async def write(
        self, parts: PathParts, content: str, *, encoding: str, append: AppendMode, parents: bool, digest: str | None
    ) -> VirtualChange:
        if len(parts) != 2 or parts[1] == SCHEMA:
            raise self.read_only_error(parts, "written")
        if append or encoding != "utf-8" or digest is not None:
            raise BadParams(f"{self.path(parts)} is a record; write it as a whole, as JSON text.")
        wanted = parse_record(self.path(parts), content)
        fields = {name: value for name, value in wanted.items() if name not in _SERVER_FIELDS}
        collection, key = unescape_key(parts[0]), unescape_key(parts[1])
        try:
            present = await self._read_record(parts)
        except NotFound:
            _, call = await call_inner_with_id(self.ctx, "data/create", collection=collection, id=key, data=fields)
            return {"path": self.path(parts), "did": "created", "command": "data/create", "execution": call}
        gone = {name: None for name in present if name not in fields and name not in _SERVER_FIELDS}
        version = wanted.get("version")
        checked = {"version": version} if isinstance(version, int) and "version" in present else {}
        _, call = await call_inner_with_id(
            self.ctx,
            "data/update",
            collection=collection,
            id=present.get("id", key),
            data={**fields, **gone},
            **checked,
        )
        return {"path": self.path(parts), "did": "changed", "command": "data/update", "execution": call}

    async def make(self, parts: PathParts, *, parents: bool) -> VirtualChange:
        raise BadParams(
            f"{self.path(parts)} cannot be created as a folder; collection/define creates a collection with its schema."
        )

    async def remove(self, many: Sequence[PathParts], *, recursive: bool) -> list[VirtualChange]:
        for parts in many:
            if len(parts) != 2 or parts[1] == SCHEMA:
                raise BadParams(f"{self.path(parts)} is not a record; collection/drop removes a whole collection.")
        found = [await self._read_record(parts) for parts in many]
        done: list[VirtualChange] = []
        for parts, record in zip(many, found, strict=True):
            id = record.get("id", unescape_key(parts[1]))
            try:
                _, call = await call_inner_with_id(self.ctx, "data/delete", collection=unescape_key(parts[0]), id=id)
            except DoorwardError as error:
                if not done:
                    raise
                told = f"{len(done)} of {len(many)} records were removed; {self.path(parts)} failed: {error.message}"
                raise CommandFailed(told, result={"items": done}) from error
            done.append({"path": self.path(parts), "did": "removed", "command": "data/delete", "execution": call})
        return done


def _record_item(path: str, text: str, record: Mapping[str, Any], note: str = "") -> VirtualFile:
    when = next((record[name] for name in _TIME_FIELDS if isinstance(record.get(name), str)), "")
    return file_item(path, size=len(text.encode()), modified=when, note=note)


def _render_json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def parse_record(path: str, content: str) -> dict[str, Any]:
    """Parse the text written to a record into its fields."""
    try:
        wanted = strictjson.loads(content)
    except strictjson.NotJson as error:
        raise BadParams(f"{path} is a record and must be written as JSON: {error}.") from error
    if not isinstance(wanted, dict):
        raise BadParams(f'{path} is a record and must be written as a JSON object such as {{"title": "Milk"}}.')
    return wanted
