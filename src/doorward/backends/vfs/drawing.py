"""Draw a folder of the virtual tree with branches."""

from __future__ import annotations

from collections.abc import Sequence

from doorward.backends.vfs.shapes import Item
from doorward.visible import visible


def drawn(start: str, items: Sequence[Item], depth: int, limit: int) -> tuple[str, bool]:
    """The drawn lines, and whether some were left out."""
    inside: dict[str, list[Item]] = {}
    for one in items:
        inside.setdefault(one["path"].rpartition("/")[0] or "/", []).append(one)
    lines: list[str] = [start]
    waiting = [(one, "", 1, last) for one, last in _backwards(inside.get(start, []))]
    while waiting and len(lines) <= limit:
        one, before, level, last = waiting.pop()
        lines.append(f"{before}{'└── ' if last else '├── '}{visible(one['name'], lines=False)}{_mark(one)}")
        if level < depth:
            below = before + ("    " if last else "│   ")
            waiting += [(each, below, level + 1, end) for each, end in _backwards(inside.get(one["path"], []))]
    if waiting:
        lines.append("…")
    return "\n".join(lines) + "\n", bool(waiting)


def _backwards(items: list[Item]) -> list[tuple[Item, bool]]:
    """The items in reverse order of names, for a stack, each with whether it is the last of its folder."""
    ordered = sorted(items, key=lambda one: one["name"], reverse=True)
    return [(one, at == 0) for at, one in enumerate(ordered)]


def _mark(one: Item) -> str:
    return "/" if one["kind"] == "folder" else ""
