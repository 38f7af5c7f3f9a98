"""Walk a folder of the virtual tree recursively, with few calls and within limits."""

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
    """The visited items, and whether some were left out."""

    items: list[Item] = []
    cut: bool = False
    calls: int = 0

    @property
    def note(self) -> str:
        return "" if not self.cut else f"only {len(self.items)} entries were checked; name a smaller folder"


async def walked(tree: Tree, path: str, *, hidden: bool) -> Walked:
    """All items below a path. One call is usually enough; larger workspaces are listed folder by folder."""
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
