"""The virtual file tree: it finds the mount of a path, and handles operations across mounts."""

from __future__ import annotations

import base64
import posixpath
from collections.abc import Sequence

from doorward.commands.context import Context
from doorward.core.errors import BadParams, NotFound, NotPermitted
from doorward.shell.vfs import paths
from doorward.shell.vfs.data_mount import DataMount
from doorward.shell.vfs.inner_calls import call_inner_with_id
from doorward.shell.vfs.mount import (
    AppendMode,
    ListOptions,
    Mount,
    PathParts,
    ReadSpan,
    folder_item,
    make_listing,
    missing_error,
)
from doorward.shell.vfs.proc_mount import ProcMount
from doorward.shell.vfs.schema import VirtualChange, VirtualContent, VirtualFile, VirtualListing
from doorward.shell.vfs.system_mount import SystemMount
from doorward.shell.vfs.workspace_mount import WorkspaceMount

MAX_LINES = 1_000_000
HOMES = "/home"
_FEW = 3
_COPY, _MOVE = "shell/cp", "shell/mv"


class VirtualTree:
    """The tree as one caller sees it in one call."""

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        self.user = ctx.caller.on_behalf_of or ctx.caller.id
        self.home = f"{HOMES}/{paths.escape_key(self.user)}"
        self.workspace = WorkspaceMount(ctx, "/workspace", "")
        self._mounts: dict[str, Mount] = {
            "data": DataMount(ctx, "/data"),
            "proc": ProcMount(ctx, "/proc"),
            "system": SystemMount(ctx, "/system"),
            "tmp": WorkspaceMount(ctx, "/tmp", "tmp", comes_and_goes=True),  # noqa: S108 - a name in our own tree
            "workspace": self.workspace,
        }
        self._home_mount = WorkspaceMount(ctx, self.home, f"home/{paths.escape_key(self.user)}", comes_and_goes=True)

    def absolute(self, path: str, cwd: str = paths.START_FOLDER) -> str:
        return paths.normalize_path(path, cwd, self.home)

    def find_mount(self, path: str) -> tuple[Mount | None, PathParts]:
        """The mount of an absolute path and the names below its root; None for the root and /home."""
        first, *rest = path.strip("/").split("/")
        if path in ("/", HOMES):
            return None, ()
        if path == self.home or path.startswith(f"{self.home}/"):
            return self._home_mount, tuple(path[len(self.home) :].strip("/").split("/")) if path != self.home else ()
        if f"/{first}" == HOMES:
            raise missing_error(f"{HOMES}/{rest[0]}", [self.user])
        if first not in self._mounts:
            raise missing_error(f"/{first}", sorted((*self._mounts, "home")))
        return self._mounts[first], tuple(rest)

    def workspace_path(self, path: str) -> str | None:
        """The workspace path of a virtual path; None when it is not a workspace file."""
        mount, parts = self.find_mount(path)
        return mount.workspace_path(parts) if isinstance(mount, WorkspaceMount) else None

    async def item(self, path: str) -> VirtualFile:
        mount, parts = self.find_mount(path)
        return folder_item(path) if mount is None else await mount.item(parts)

    async def items(self, path: str, look: ListOptions) -> VirtualListing:
        mount, parts = self.find_mount(path)
        if mount is not None:
            return await mount.items(parts, look)
        names = [self.user] if path == HOMES else sorted((*self._mounts, "home"))
        return make_listing(path, [folder_item(paths.join_path(path, paths.escape_key(name))) for name in names])

    async def read(self, path: str, span: ReadSpan) -> VirtualContent:
        mount, parts = self.find_mount(path)
        if mount is None:
            raise BadParams(f"{path} is a folder; vfs/list shows its contents.")
        return await mount.read(parts, span)

    async def write(
        self,
        path: str,
        content: str,
        *,
        encoding: str = "utf-8",
        append: AppendMode = False,
        parents: bool = True,
        digest: str | None = None,
    ) -> VirtualChange:
        mount, parts = self.require_mount(path)
        return await mount.write(parts, content, encoding=encoding, append=append, parents=parents, digest=digest)

    async def make(self, path: str, *, parents: bool = True) -> VirtualChange:
        mount, parts = self.require_mount(path)
        return await mount.make(parts, parents=parents)

    async def remove(self, many: Sequence[str], *, recursive: bool = False) -> list[VirtualChange]:
        """Remove these paths; all are checked before the first is removed."""
        files: list[str] = []
        others: dict[str, tuple[Mount, list[PathParts]]] = {}
        for path in dict.fromkeys(many):
            mount, parts = self.require_mount(path)
            if isinstance(mount, WorkspaceMount) and parts:
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
        found = await self._find_items(many)
        for path, one in zip(many, found, strict=True):
            if one["kind"] == "folder" and not recursive:
                raise BadParams(f"{path} is a folder; set recursive to remove it with its contents.")
        real = [self.workspace_path(path) or "." for path in many]
        if len(many) == 1 and found[0]["kind"] == "file":
            command = "file/delete"
            _, call = await call_inner_with_id(self.ctx, command, path=real[0])
        else:
            command = "shell/rm"
            flags = ["--recursive"] if recursive else []
            _, call = await call_inner_with_id(self.ctx, command, arguments=[*flags, "--", *real])
        return [{"path": path, "did": "removed", "command": command, "execution": call} for path in many]

    async def _find_items(self, many: Sequence[str]) -> list[VirtualFile]:
        """The items of these paths. For more than a few, it lists their common folder in one call."""
        known: dict[str, VirtualFile] = {}
        if len(many) > _FEW:
            around = posixpath.commonpath([paths.parent_of(path) for path in many])
            if self.find_mount(around)[0] is not None:
                given = await self.items(around, ListOptions(recursive=True, limit=10_000, hidden=True))
                known = {one["path"]: one for one in given["items"]}
        return [known[path] if path in known else await self.item(path) for path in many]

    async def copy(
        self, source: str, target: str, *, recursive: bool = False, move: bool = False
    ) -> list[VirtualChange]:
        """Copy or move a file or folder. If the target is an existing folder, it goes into that folder."""
        came, _ = self.require_mount(source)
        went, _ = self.require_mount(target)
        if isinstance(came, WorkspaceMount) and isinstance(went, WorkspaceMount):
            return await self._copy_by_program(source, target, recursive=recursive, move=move)
        if move:
            raise BadParams(
                f"{source} and {target} are in different parts of the tree; copy it, check the copy, then remove it."
            )
        if (await self.item(source))["kind"] == "folder":
            raise BadParams(f"{source} is a folder, and {target} is in another part of the tree; copy file by file.")
        target = await self._copy_target(source, target)
        content = (await self.read(source, ReadSpan(encoded=True)))["content"]
        try:
            written = await self.write(target, base64.b64decode(content).decode())
        except UnicodeDecodeError:
            written = await self.write(target, content, encoding="base64")
        return [{**written, "path": source, "target": target, "did": "copied"}]

    async def _copy_by_program(self, source: str, target: str, *, recursive: bool, move: bool) -> list[VirtualChange]:
        await self.item(source)
        await self.ensure_folder(target)
        words = ["--", self.workspace_path(source) or ".", self.workspace_path(target) or "."]
        command = _MOVE if move else _COPY
        if recursive and not move:
            words.insert(0, "--recursive")
        result, call = await call_inner_with_id(self.ctx, command, arguments=words)
        withheld = result.get("withheld") or result.get("changes", {}).get("withheld")
        if withheld:
            raise NotPermitted(withheld, rule="built-in: programs do not change files that run later")
        did: VirtualChange = {
            "path": source,
            "did": "moved" if move else "copied",
            "command": command,
            "execution": call,
            "target": target,
        }
        return [did]

    async def _copy_target(self, source: str, target: str) -> str:
        """The path of a copy: below the target when that is a folder."""
        try:
            kind = (await self.item(target))["kind"]
        except NotFound:
            return target
        return paths.join_path(target, paths.name_of(source)) if kind == "folder" else target

    async def ensure_folder(self, path: str) -> None:
        """Create the workspace folder behind /tmp or the caller's home, if it does not exist yet."""
        mount, _ = self.find_mount(path)
        if isinstance(mount, WorkspaceMount) and mount.may_be_missing and "mode" not in await mount.item(()):
            await mount.make((), parents=True)

    def require_mount(self, path: str) -> tuple[Mount, PathParts]:
        mount, parts = self.find_mount(path)
        if mount is None:
            raise BadParams(f"{path} is the root of the tree and cannot be changed; name something below it.")
        return mount, parts
