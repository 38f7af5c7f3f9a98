"""Going through a whole part of the tree, with few calls and within bounds."""

from __future__ import annotations

import msgspec

from doorward.backends.vfs.mount import Look
from doorward.backends.vfs.shapes import Item
from doorward.backends.vfs.tree import Tree
from doorward.backends.vfs.workspace import Workspace

_AT_ONCE = 10_000
_MOST_ITEMS = 100_000
_MOST_CALLS = 60


class Walked(msgspec.Struct):
    """What was met, and whether that is all."""

    items: list[Item] = []
    cut: bool = False
    calls: int = 0

    @property
    def note(self) -> str:
        return "" if not self.cut else f"only {len(self.items)} entries were looked at; name a smaller folder"


async def walked(tree: Tree, path: str, *, hidden: bool) -> Walked:
    """Everything below a path. One call mostly does; where files are more than that gives, it goes on in parts."""
    found = Walked(items=[])
    await _walk(tree, path, hidden, found)
    return found


async def _walk(tree: Tree, path: str, hidden: bool, found: Walked) -> None:
    if found.calls >= _MOST_CALLS or len(found.items) >= _MOST_ITEMS:
        found.cut = True
        return
    found.calls += 1
    mount, _ = tree.at(path)
    if mount is not None:
        whole = await tree.items(path, Look(recursive=True, limit=_AT_ONCE, hidden=hidden))
        if not whole["cut"] or not isinstance(mount, Workspace):
            found.items += whole["items"]
            found.cut = found.cut or whole["cut"]
            return
        found.calls += 1
    here = await tree.items(path, Look(limit=_AT_ONCE, hidden=hidden))
    found.cut = found.cut or here["cut"]
    for one in here["items"]:
        found.items.append(one)
        if one["kind"] == "folder":
            await _walk(tree, one["path"], hidden, found)
