"""The mounts /workspace, /tmp and the caller's home: workspace folders, through file/* commands."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, cast

from doorward.backends.context import Context
from doorward.backends.vfs.asking import asked, done_by
from doorward.backends.vfs.mount import Appends, Look, Mount, Parts, Span, folder, listed, of_kind
from doorward.backends.vfs.paths import name_of
from doorward.backends.vfs.shapes import Content, Item, Listed, VirtualChange
from doorward.errors import BadParams, NotFound

_LIST, _STAT, _READ, _WRITE, _MAKE = "file/list", "file/stat", "file/read", "file/write", "shell/mkdir"


class Workspace(Mount):
    """A workspace folder, mounted under its own name in the tree."""

    def __init__(self, ctx: Context, root: str, real: str, *, comes_and_goes: bool = False) -> None:
        """With `comes_and_goes` a missing folder counts as empty, and is created on the first write."""
        super().__init__(ctx, root)
        self._real = real
        self.comes_and_goes = comes_and_goes

    def real(self, parts: Parts) -> str:
        """The path relative to the workspace, for file commands and programs."""
        whole = "/".join((self._real, *parts) if self._real else parts)
        return whole or "."

    async def item(self, parts: Parts) -> Item:
        try:
            facts = await asked(self.ctx, _STAT, path=self.real(parts))
        except NotFound:
            if self.comes_and_goes and not parts:
                return {"path": self.root, "name": name_of(self.root), "kind": "folder"}
            raise
        found = {**self._shown(facts), "mode": facts["mode"]}
        return cast("Item", found | {key: facts[key] for key in ("leadsTo", "digest") if key in facts})

    async def items(self, parts: Parts, look: Look) -> Listed:
        try:
            given = await asked(
                self.ctx,
                _LIST,
                path=self.real(parts),
                recursive=look.recursive,
                limit=look.limit,
                hidden=look.hidden,
            )
        except NotFound:
            if self.comes_and_goes and not parts:
                return listed(self.root, [])
            raise
        except BadParams:
            alone = await self.item(parts)
            if alone["kind"] == "folder":
                raise
            return listed(self.path(parts), [alone])
        notes = []
        if given["cut"]:
            notes.append(f"only the first {look.limit} are shown")
        if given["unreadable"]:
            notes.append(f"{given['unreadable']} folders could not be read")
        items = [self._shown(one) for one in given["items"]]
        return listed(self.path(parts), items, cut=given["cut"], note="; ".join(notes))

    async def read(self, parts: Parts, span: Span) -> Content:
        how: dict[str, Any] = {"path": self.real(parts)}
        if span.encoded:
            how["encoding"] = "base64"
        elif span.tail is None:
            how |= {"offset": span.offset} | ({} if span.limit is None else {"limit": span.limit})
        else:
            first = await asked(self.ctx, _READ, **how, limit=1)
            how |= {"offset": max(1, first["lines"] - span.tail + 1), "limit": span.tail}
        given = await asked(self.ctx, _READ, **how)
        return cast("Content", {"cut": False, **given, "path": self.path(parts)})

    async def write(
        self, parts: Parts, content: str, *, encoding: str, append: Appends, parents: bool, digest: str | None
    ) -> VirtualChange:
        if append:
            content, encoding, digest = await self._behind(parts, content, encoding, line=append == "line")
        how: dict[str, Any] = {"content": content, "encoding": encoding}
        how["createParents"] = parents or (self.comes_and_goes and len(parts) == 1)
        if digest is not None:
            how["expectedDigest"] = digest
        given, call = await done_by(self.ctx, _WRITE, path=self.real(parts), **how)
        return {
            "path": self.path(parts),
            "did": "created" if given["created"] else "changed" if given["changed"] else "unchanged",
            "command": _WRITE,
            "execution": call,
            "bytes": given["bytesAfter"],
        }

    async def _behind(self, parts: Parts, content: str, encoding: str, *, line: bool) -> tuple[str, str, str]:
        """The new content of a file after an append, and its previous digest, to detect concurrent changes."""
        try:
            present = await asked(self.ctx, _READ, path=self.real(parts), encoding="base64")
        except NotFound:
            return content, encoding, ""
        more = content.encode() if encoding == "utf-8" else base64.b64decode(content, validate=True)
        before = base64.b64decode(present["content"])
        whole = before + (b"\n" if line and before and not before.endswith(b"\n") else b"") + more
        return base64.b64encode(whole).decode(), "base64", present["digest"]

    async def make(self, parts: Parts, *, parents: bool) -> VirtualChange:
        with_parents = parents or (self.comes_and_goes and len(parts) <= 1)
        _, call = await done_by(
            self.ctx, _MAKE, arguments=[*(["--parents"] if with_parents else []), "--", self.real(parts)]
        )
        return {"path": self.path(parts), "did": "made", "command": _MAKE, "execution": call}

    async def remove(self, many: Sequence[Parts], *, recursive: bool) -> list[VirtualChange]:
        """Refuse to remove the root; the tree removes the files of all mounts together."""
        raise BadParams(f"{self.path(many[0])} itself cannot be removed; name something in it.")

    def _shown(self, facts: Any) -> Item:
        inside = facts["path"] if not self._real else facts["path"].removeprefix(self._real).removeprefix("/")
        path = self.root if inside in ("", ".") else f"{self.root}/{inside}"
        found = {**folder(path), "kind": of_kind(facts["type"]), "modified": facts["modified"]}
        found |= {key: facts[key] for key in ("size", "note") if key in facts}
        return cast("Item", found)
