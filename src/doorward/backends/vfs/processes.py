"""The mount /proc: the caller's executions, each a folder with command, status and output."""

from __future__ import annotations

import json
from typing import Any

from doorward.backends.vfs.asking import asked
from doorward.backends.vfs.mount import Look, Mount, Parts, Span, file, folder, is_folder, listed, missing, sliced
from doorward.backends.vfs.paths import below
from doorward.backends.vfs.shapes import Content, Item, Listed
from doorward.errors import NotFound

SELF = "self"
_FILES = ("command", "output", "status")
_MOST = 200
_PIECE = 25_000
_LONGEST = 1_000_000


class Processes(Mount):
    async def item(self, parts: Parts) -> Item:
        if not parts:
            return folder(self.root)
        facts = await self._status(parts)
        if len(parts) == 1:
            return {**folder(self.path(parts)), "modified": facts["startedAt"]}
        if parts[1] not in _FILES or len(parts) > 2:
            raise missing(self.path(parts), _FILES)
        return file(self.path(parts), modified=facts["startedAt"])

    async def items(self, parts: Parts, look: Look) -> Listed:
        if len(parts) > 1:
            return listed(self.path(parts), [await self.item(parts)])
        if parts:
            await self._status(parts)
            return listed(self.path(parts), self._files(self.path(parts)))
        given = await asked(self.ctx, "execution/list", limit=min(_MOST, look.limit))
        items: list[Item] = [folder(below(self.root, SELF), "this call")]
        for one in given["items"]:
            note = f"{one['command']}, {one['state']}"
            items.append({**folder(below(self.root, one["execution"]), note), "modified": one["startedAt"]})
            items += self._files(below(self.root, one["execution"])) if look.recursive else []
        cut = given.get("next") is not None or len(items) > look.limit
        note = f"only the newest {len(given['items'])} are shown; execution/list has the rest" if cut else ""
        return listed(self.root, items[: look.limit], cut=cut, note=note)

    @staticmethod
    def _files(path: str) -> list[Item]:
        return [file(below(path, name)) for name in _FILES]

    async def read(self, parts: Parts, span: Span) -> Content:
        if len(parts) != 2 or parts[1] not in _FILES:
            await self.item(parts)
            raise is_folder(self.path(parts))
        return sliced(self.path(parts), await self._text(parts), span)

    async def _text(self, parts: Parts) -> str:
        if parts[1] == "output":
            return await self._output(self._id(parts))
        facts = await self._status(parts)
        if parts[1] == "command":
            return f"{facts['command']}\n"
        return json.dumps(facts, indent=2, ensure_ascii=False) + "\n"

    async def _output(self, execution: str) -> str:
        """The output of an execution, as far as it is kept, truncated to what can be read at once."""
        text, offset = "", 0
        while len(text) < _LONGEST:
            try:
                piece = await asked(self.ctx, "execution/output", execution=execution, offset=offset, length=_PIECE)
            except NotFound:
                return text
            text += str(piece["text"])
            if piece["next"] is None or not piece["text"]:
                return text
            offset = piece["next"]
        return text

    async def _status(self, parts: Parts) -> Any:
        try:
            return await asked(self.ctx, "execution/status", execution=self._id(parts))
        except NotFound as error:
            raise missing(self.path(parts)) from error

    def _id(self, parts: Parts) -> str:
        return self.ctx.call.id if parts[0] == SELF else parts[0]
