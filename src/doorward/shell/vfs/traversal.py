"""Walks and draws a folder of the virtual tree, within limits."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from doorward.core.escape_invisible import escape_invisible
from doorward.shell.vfs.mount import ListOptions
from doorward.shell.vfs.schema import VirtualFile
from doorward.shell.vfs.tree import VirtualTree
from doorward.shell.vfs.workspace_mount import WorkspaceMount

_AT_ONCE = 10_000
_MOST_ITEMS = 100_000
_MOST_CALLS = 60


class TreeWalk(msgspec.Struct):
    """The visited items, and whether some were left out."""

    items: list[VirtualFile] = []
    cut: bool = False
    calls: int = 0

    @property
    def note(self) -> str:
        return "" if not self.cut else f"only {len(self.items)} entries were checked; name a smaller folder"


async def walk_tree(tree: VirtualTree, path: str, *, hidden: bool) -> TreeWalk:
    """All items below a path. One call is usually enough; larger workspaces are listed folder by folder."""
    found = TreeWalk(items=[])
    await _walk(tree, path, hidden, found)
    return found


async def _walk(tree: VirtualTree, path: str, hidden: bool, found: TreeWalk) -> None:
    if found.calls >= _MOST_CALLS or len(found.items) >= _MOST_ITEMS:
        found.cut = True
        return
    found.calls += 1
    mount, _ = tree.find_mount(path)
    if mount is not None:
        whole = await tree.items(path, ListOptions(recursive=True, limit=_AT_ONCE, hidden=hidden))
        if not whole["cut"] or not isinstance(mount, WorkspaceMount):
            found.items += whole["items"]
            found.cut = found.cut or whole["cut"]
            return
        found.calls += 1
    here = await tree.items(path, ListOptions(limit=_AT_ONCE, hidden=hidden))
    found.cut = found.cut or here["cut"]
    for one in here["items"]:
        found.items.append(one)
        if one["kind"] == "folder":
            await _walk(tree, one["path"], hidden, found)


def draw_tree(start: str, items: Sequence[VirtualFile], depth: int, limit: int) -> tuple[str, bool]:
    """The drawn lines, and whether some were left out."""
    inside: dict[str, list[VirtualFile]] = {}
    for one in items:
        inside.setdefault(one["path"].rpartition("/")[0] or "/", []).append(one)
    lines: list[str] = [start]
    waiting = [(one, "", 1, last) for one, last in _reverse_sorted(inside.get(start, []))]
    while waiting and len(lines) <= limit:
        one, before, level, last = waiting.pop()
        lines.append(
            f"{before}{'└── ' if last else '├── '}{escape_invisible(one['name'], lines=False)}{_kind_mark(one)}"
        )
        if level < depth:
            below = before + ("    " if last else "│   ")
            waiting += [(each, below, level + 1, end) for each, end in _reverse_sorted(inside.get(one["path"], []))]
    if waiting:
        lines.append("…")
    return "\n".join(lines) + "\n", bool(waiting)


def _reverse_sorted(items: list[VirtualFile]) -> list[tuple[VirtualFile, bool]]:
    """The items in reverse order of names, for a stack, each with whether it is the last of its folder."""
    ordered = sorted(items, key=lambda one: one["name"], reverse=True)
    return [(one, at == 0) for at, one in enumerate(ordered)]


def _kind_mark(one: VirtualFile) -> str:
    return "/" if one["kind"] == "folder" else ""
