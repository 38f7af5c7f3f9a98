"""The virtual file tree: it finds the mount of a path, and handles operations across mounts."""

from __future__ import annotations

import base64
import posixpath
from collections.abc import Sequence

from doorward.backends.context import Context
from doorward.backends.vfs import paths
from doorward.backends.vfs.asking import done_by
from doorward.backends.vfs.mount import Appends, Look, Mount, Parts, Span, folder, listed, missing
from doorward.backends.vfs.processes import Processes
from doorward.backends.vfs.records import Records
from doorward.backends.vfs.shapes import Content, Item, Listed, VirtualChange
from doorward.backends.vfs.system import System
from doorward.backends.vfs.workspace import Workspace
from doorward.errors import BadParams, NotFound

MOST_LINES = 1_000_000
HOMES = "/home"
_FEW = 3
_COPY, _MOVE = "shell/cp", "shell/mv"


class Tree:
    """The tree as one caller sees it in one call."""

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        self.user = ctx.caller.on_behalf_of or ctx.caller.id
        self.home = f"{HOMES}/{paths.as_name(self.user)}"
        self.workspace = Workspace(ctx, "/workspace", "")
        self._mounts: dict[str, Mount] = {
            "data": Records(ctx, "/data"),
            "proc": Processes(ctx, "/proc"),
            "system": System(ctx, "/system"),
            "tmp": Workspace(ctx, "/tmp", "tmp", comes_and_goes=True),  # noqa: S108 - a name in our own tree
            "workspace": self.workspace,
        }
        self._own = Workspace(ctx, self.home, f"home/{paths.as_name(self.user)}", comes_and_goes=True)

    def absolute(self, path: str, cwd: str = paths.START) -> str:
        return paths.absolute(path, cwd, self.home)

    def at(self, path: str) -> tuple[Mount | None, Parts]:
        """The mount of an absolute path and the names below its root; None for the root and /home."""
        first, *rest = path.strip("/").split("/")
        if path in ("/", HOMES):
            return None, ()
        if path == self.home or path.startswith(f"{self.home}/"):
            return self._own, tuple(path[len(self.home) :].strip("/").split("/")) if path != self.home else ()
        if f"/{first}" == HOMES:
            raise missing(f"{HOMES}/{rest[0]}", [self.user])
        if first not in self._mounts:
            raise missing(f"/{first}", sorted((*self._mounts, "home")))
        return self._mounts[first], tuple(rest)

    def real(self, path: str) -> str | None:
        """The workspace path of a virtual path; None when it is not a workspace file."""
        mount, parts = self.at(path)
        return mount.real(parts) if isinstance(mount, Workspace) else None

    async def item(self, path: str) -> Item:
        mount, parts = self.at(path)
        return folder(path) if mount is None else await mount.item(parts)

    async def items(self, path: str, look: Look) -> Listed:
        mount, parts = self.at(path)
        if mount is not None:
            return await mount.items(parts, look)
        names = [self.user] if path == HOMES else sorted((*self._mounts, "home"))
        return listed(path, [folder(paths.below(path, paths.as_name(name))) for name in names])

    async def read(self, path: str, span: Span) -> Content:
        mount, parts = self.at(path)
        if mount is None:
            raise BadParams(f"{path} is a folder; vfs/list shows its contents.")
        return await mount.read(parts, span)

    async def write(
        self,
        path: str,
        content: str,
        *,
        encoding: str = "utf-8",
        append: Appends = False,
        parents: bool = True,
        digest: str | None = None,
    ) -> VirtualChange:
        mount, parts = self.part(path)
        return await mount.write(parts, content, encoding=encoding, append=append, parents=parents, digest=digest)

    async def make(self, path: str, *, parents: bool = True) -> VirtualChange:
        mount, parts = self.part(path)
        return await mount.make(parts, parents=parents)

    async def remove(self, many: Sequence[str], *, recursive: bool = False) -> list[VirtualChange]:
        """Remove these paths; all are checked before the first is removed."""
        files: list[str] = []
        others: dict[str, tuple[Mount, list[Parts]]] = {}
        for path in dict.fromkeys(many):
            mount, parts = self.part(path)
            if isinstance(mount, Workspace) and parts:
                files.append(path)
            else:
                others.setdefault(mount.root, (mount, []))[1].append(parts)
        if len(others) + bool(files) > 1:
            raise BadParams("The paths are in different parts of the tree; remove files and records in separate calls.")
        for mount, each in others.values():
            return await mount.remove(each, recursive=recursive)
        return await self._remove_files(files, recursive=recursive)

    async def _remove_files(self, many: Sequence[str], *, recursive: bool) -> list[VirtualChange]:
        """Remove one file by file/delete, several by one call of shell/rm, so that it takes one approval."""
        found = await self._looked_at(many)
        for path, one in zip(many, found, strict=True):
            if one["kind"] == "folder" and not recursive:
                raise BadParams(f"{path} is a folder; set recursive to remove it with its contents.")
        real = [self.real(path) or "." for path in many]
        if len(many) == 1 and found[0]["kind"] == "file":
            command = "file/delete"
            _, call = await done_by(self.ctx, command, path=real[0])
        else:
            command = "shell/rm"
            flags = ["--recursive"] if recursive else []
            _, call = await done_by(self.ctx, command, arguments=[*flags, "--", *real])
        return [{"path": path, "did": "removed", "command": command, "execution": call} for path in many]

    async def _looked_at(self, many: Sequence[str]) -> list[Item]:
        """The items of these paths. For more than a few, it lists their common folder in one call."""
        known: dict[str, Item] = {}
        if len(many) > _FEW:
            around = posixpath.commonpath([paths.parent_of(path) for path in many])
            if self.at(around)[0] is not None:
                given = await self.items(around, Look(recursive=True, limit=10_000, hidden=True))
                known = {one["path"]: one for one in given["items"]}
        return [known[path] if path in known else await self.item(path) for path in many]

    async def copy(
        self, source: str, target: str, *, recursive: bool = False, move: bool = False
    ) -> list[VirtualChange]:
        """Copy or move a file or folder. If the target is an existing folder, it goes into that folder."""
        came, _ = self.part(source)
        went, _ = self.part(target)
        if isinstance(came, Workspace) and isinstance(went, Workspace):
            return await self._by_program(source, target, recursive=recursive, move=move)
        if move:
            raise BadParams(
                f"{source} and {target} are in different parts of the tree; copy it, check the copy, then remove it."
            )
        if (await self.item(source))["kind"] == "folder":
            raise BadParams(f"{source} is a folder, and {target} is in another part of the tree; copy file by file.")
        target = await self._into(source, target)
        content = (await self.read(source, Span(encoded=True)))["content"]
        try:
            written = await self.write(target, base64.b64decode(content).decode())
        except UnicodeDecodeError:
            written = await self.write(target, content, encoding="base64")
        return [{**written, "path": source, "target": target, "did": "copied"}]

    async def _by_program(self, source: str, target: str, *, recursive: bool, move: bool) -> list[VirtualChange]:
        await self.item(source)
        await self.ready(target)
        words = ["--", self.real(source) or ".", self.real(target) or "."]
        command = _MOVE if move else _COPY
        if recursive and not move:
            words.insert(0, "--recursive")
        _, call = await done_by(self.ctx, command, arguments=words)
        did: VirtualChange = {
            "path": source,
            "did": "moved" if move else "copied",
            "command": command,
            "execution": call,
            "target": target,
        }
        return [did]

    async def _into(self, source: str, target: str) -> str:
        """The path of a copy: below the target when that is a folder."""
        try:
            kind = (await self.item(target))["kind"]
        except NotFound:
            return target
        return paths.below(target, paths.name_of(source)) if kind == "folder" else target

    async def ready(self, path: str) -> None:
        """Create the workspace folder behind /tmp or the caller's home, if it does not exist yet."""
        mount, _ = self.at(path)
        if isinstance(mount, Workspace) and mount.comes_and_goes and "mode" not in await mount.item(()):
            await mount.make((), parents=True)

    def part(self, path: str) -> tuple[Mount, Parts]:
        mount, parts = self.at(path)
        if mount is None:
            raise BadParams(f"{path} is the root of the tree and cannot be changed; name something below it.")
        return mount, parts
