"""The difference between two definitions of one tool, as people read it before they approve the newer one."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from typing import Any

from doorward.visible import visible

_MOST_LINES = 1_000
_LONGEST_LINE = 500
_MOST_SHOWN = 200


def difference(before: dict[str, Any], after: dict[str, Any]) -> str:
    """Lines with `-` for what is gone and `+` for what has come, each with its place; hidden characters written out."""
    old, new = list(_lines(before)), list(_lines(after))
    compared = difflib.unified_diff(old, new, lineterm="", n=1)
    found = [line for line in compared if not line.startswith(("--- ", "+++ ", "@@"))]
    if len(found) > _MOST_SHOWN:
        found = [*found[:_MOST_SHOWN], f"… and {len(found) - _MOST_SHOWN} more lines"]
    if not found and before != after:
        found = ["(the difference is behind the part that is shown)"]
    return "\n".join(found)


def _lines(whole: dict[str, Any]) -> Iterator[str]:
    """A definition with one line for each value, in an order that does not depend on how it was sent."""
    count = 0
    for place, text in _leaves("", whole):
        for line in text.split("\n"):
            shown = visible(line, lines=False)
            yield f"{place}: {shown if len(shown) <= _LONGEST_LINE else shown[:_LONGEST_LINE] + '…'}"
            count += 1
            if count >= _MOST_LINES:
                return


def _leaves(place: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for key in sorted(value):
            name = visible(key, lines=False)[:100]
            yield from _leaves(f"{place}.{name}" if place else name, value[key])
    elif isinstance(value, list) and value:
        for number, item in enumerate(value):
            yield from _leaves(f"{place}[{number}]", item)
    else:
        yield place, value if isinstance(value, str) else json.dumps(value)
