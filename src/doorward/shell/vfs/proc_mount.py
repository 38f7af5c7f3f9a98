"""The mount /proc: the caller's executions, each a folder with command, status and output."""

from __future__ import annotations

import json
from typing import Any

from doorward.core.errors import NotFound
from doorward.shell.vfs.inner_calls import call_inner
from doorward.shell.vfs.mount import (
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
from doorward.shell.vfs.paths import join_path
from doorward.shell.vfs.schema import VirtualContent, VirtualFile, VirtualListing

SELF = "self"
_FILES = ("command", "output", "status")
_MOST = 200
_PIECE = 25_000
_LONGEST = 1_000_000


class ProcMount(Mount):
    async def item(self, parts: PathParts) -> VirtualFile:
        if not parts:
            return folder_item(self.root)
        facts = await self._status(parts)
        if len(parts) == 1:
            return {**folder_item(self.path(parts)), "modified": facts["startedAt"]}
        if parts[1] not in _FILES or len(parts) > 2:
            raise missing_error(self.path(parts), _FILES)
        return file_item(self.path(parts), modified=facts["startedAt"])

    async def items(self, parts: PathParts, look: ListOptions) -> VirtualListing:
        if len(parts) > 1:
            return make_listing(self.path(parts), [await self.item(parts)])
        if parts:
            await self._status(parts)
            return make_listing(self.path(parts), self._files(self.path(parts)))
        given = await call_inner(self.ctx, "execution/list", limit=min(_MOST, look.limit))
        items: list[VirtualFile] = [folder_item(join_path(self.root, SELF), "this call")]
        for one in given["items"]:
            note = f"{one['command']}, {one['state']}"
            items.append({**folder_item(join_path(self.root, one["execution"]), note), "modified": one["startedAt"]})
            items += self._files(join_path(self.root, one["execution"])) if look.recursive else []
        cut = given.get("next") is not None or len(items) > look.limit
        note = f"only the newest {len(given['items'])} are shown; execution/list has the rest" if cut else ""
        return make_listing(self.root, items[: look.limit], cut=cut, note=note)

    @staticmethod
    def _files(path: str) -> list[VirtualFile]:
        return [file_item(join_path(path, name)) for name in _FILES]

    async def read(self, parts: PathParts, span: ReadSpan) -> VirtualContent:
        if len(parts) != 2 or parts[1] not in _FILES:
            await self.item(parts)
            raise is_folder_error(self.path(parts))
        return slice_text(self.path(parts), await self._read_text(parts), span)

    async def _read_text(self, parts: PathParts) -> str:
        if parts[1] == "output":
            return await self._read_output(self._execution_id(parts))
        facts = await self._status(parts)
        if parts[1] == "command":
            return f"{facts['command']}\n"
        return json.dumps(facts, indent=2, ensure_ascii=False) + "\n"

    async def _read_output(self, execution: str) -> str:
        """The output of an execution, as far as it is kept, truncated to what can be read at once."""
        text, offset = "", 0
        while len(text) < _LONGEST:
            try:
                piece = await call_inner(
                    self.ctx, "execution/output", execution=execution, offset=offset, length=_PIECE
                )
            except NotFound:
                return text
            text += str(piece["text"])
            if piece["next"] is None or not piece["text"]:
                return text
            offset = piece["next"]
        return text

    async def _status(self, parts: PathParts) -> Any:
        try:
            return await call_inner(self.ctx, "execution/status", execution=self._execution_id(parts))
        except NotFound as error:
            raise missing_error(self.path(parts)) from error

    def _execution_id(self, parts: PathParts) -> str:
        return self.ctx.call.id if parts[0] == SELF else parts[0]
