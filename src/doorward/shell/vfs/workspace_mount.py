"""The mounts /workspace, /tmp and the caller's home: workspace folders, through file/* commands."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Sequence
from typing import Any, cast

from doorward.commands.context import Context
from doorward.core.errors import BadParams, NotFound
from doorward.shell.vfs.inner_calls import call_inner, call_inner_with_id
from doorward.shell.vfs.mount import (
    AppendMode,
    ListOptions,
    Mount,
    PathParts,
    ReadSpan,
    file_kind,
    folder_item,
    make_listing,
)
from doorward.shell.vfs.paths import name_of
from doorward.shell.vfs.schema import VirtualChange, VirtualContent, VirtualFile, VirtualListing

_LIST, _STAT, _READ, _WRITE, _MAKE = "file/list", "file/stat", "file/read", "file/write", "shell/mkdir"


class WorkspaceMount(Mount):
    """A workspace folder, mounted under its own name in the tree."""

    def __init__(self, ctx: Context, root: str, real: str, *, comes_and_goes: bool = False) -> None:
        """With `comes_and_goes` a missing folder counts as empty, and is created on the first write."""
        super().__init__(ctx, root)
        self._workspace_folder = real
        self.may_be_missing = comes_and_goes

    def workspace_path(self, parts: PathParts) -> str:
        """The path relative to the workspace, for file commands and programs."""
        whole = "/".join((self._workspace_folder, *parts) if self._workspace_folder else parts)
        return whole or "."

    async def item(self, parts: PathParts) -> VirtualFile:
        try:
            facts = await call_inner(self.ctx, _STAT, path=self.workspace_path(parts))
        except NotFound:
            if self.may_be_missing and not parts:
                return {"path": self.root, "name": name_of(self.root), "kind": "folder"}
            raise
        found = {**self._make_item(facts), "mode": facts["mode"]}
        return cast("VirtualFile", found | {key: facts[key] for key in ("leadsTo", "digest") if key in facts})

    async def items(self, parts: PathParts, look: ListOptions) -> VirtualListing:
        try:
            given = await call_inner(
                self.ctx,
                _LIST,
                path=self.workspace_path(parts),
                recursive=look.recursive,
                limit=look.limit,
                hidden=look.hidden,
            )
        except NotFound:
            if self.may_be_missing and not parts:
                return make_listing(self.root, [])
            raise
        except BadParams:
            alone = await self.item(parts)
            if alone["kind"] == "folder":
                raise
            return make_listing(self.path(parts), [alone])
        notes = []
        if given["cut"]:
            notes.append(f"only the first {look.limit} are shown")
        if given["unreadable"]:
            notes.append(f"{given['unreadable']} folders could not be read")
        items = [self._make_item(one) for one in given["items"]]
        return make_listing(self.path(parts), items, cut=given["cut"], note="; ".join(notes))

    async def read(self, parts: PathParts, span: ReadSpan) -> VirtualContent:
        how: dict[str, Any] = {"path": self.workspace_path(parts)}
        if span.encoded:
            how["encoding"] = "base64"
        elif span.tail is None:
            how |= {"offset": span.offset} | ({} if span.limit is None else {"limit": span.limit})
        else:
            first = await call_inner(self.ctx, _READ, **how, limit=1)
            how |= {"offset": max(1, first["lines"] - span.tail + 1), "limit": span.tail}
        given = await call_inner(self.ctx, _READ, **how)
        return cast("VirtualContent", {"cut": False, **given, "path": self.path(parts)})

    async def write(
        self, parts: PathParts, content: str, *, encoding: str, append: AppendMode, parents: bool, digest: str | None
    ) -> VirtualChange:
        if append:
            content, encoding, digest = await self._append_content(parts, content, encoding, line=append == "line")
        content, encoding = _prefer_text(content, encoding)
        how: dict[str, Any] = {"content": content, "encoding": encoding}
        how["createParents"] = parents or (self.may_be_missing and len(parts) == 1)
        if digest is not None:
            how["expectedDigest"] = digest
        given, call = await call_inner_with_id(self.ctx, _WRITE, path=self.workspace_path(parts), **how)
        return {
            "path": self.path(parts),
            "did": "created" if given["created"] else "changed" if given["changed"] else "unchanged",
            "command": _WRITE,
            "execution": call,
            "bytes": given["bytesAfter"],
        }

    async def _append_content(
        self, parts: PathParts, content: str, encoding: str, *, line: bool
    ) -> tuple[str, str, str]:
        """The new content of a file after an append, and its previous digest, to detect concurrent changes."""
        try:
            present = await call_inner(self.ctx, _READ, path=self.workspace_path(parts), encoding="base64")
        except NotFound:
            return content, encoding, ""
        more = content.encode() if encoding == "utf-8" else base64.b64decode(content, validate=True)
        before = base64.b64decode(present["content"])
        whole = before + (b"\n" if line and before and not before.endswith(b"\n") else b"") + more
        return base64.b64encode(whole).decode(), "base64", present["digest"]

    async def make(self, parts: PathParts, *, parents: bool) -> VirtualChange:
        with_parents = parents or (self.may_be_missing and len(parts) <= 1)
        _, call = await call_inner_with_id(
            self.ctx, _MAKE, arguments=[*(["--parents"] if with_parents else []), "--", self.workspace_path(parts)]
        )
        return {"path": self.path(parts), "did": "made", "command": _MAKE, "execution": call}

    async def remove(self, many: Sequence[PathParts], *, recursive: bool) -> list[VirtualChange]:
        """Refuse to remove the root; the tree removes the files of all mounts together."""
        raise BadParams(f"{self.path(many[0])} itself cannot be removed; name something in it.")

    def _make_item(self, facts: Any) -> VirtualFile:
        inside = (
            facts["path"]
            if not self._workspace_folder
            else facts["path"].removeprefix(self._workspace_folder).removeprefix("/")
        )
        path = self.root if inside in ("", ".") else f"{self.root}/{inside}"
        found = {**folder_item(path), "kind": file_kind(facts["type"]), "modified": facts["modified"]}
        found |= {key: facts[key] for key in ("size", "note") if key in facts}
        return cast("VirtualFile", found)


def _prefer_text(content: str, encoding: str) -> tuple[str, str]:
    """Content as text where it is text: people may have to read the inner call before they approve it."""
    if encoding == "base64":
        with contextlib.suppress(ValueError):  # no base64, which file/write reports, or no text
            return base64.b64decode(content, validate=True).decode(), "utf-8"
    return content, encoding
