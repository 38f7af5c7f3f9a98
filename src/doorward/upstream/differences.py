"""The diff between two definitions of a tool, which people read before they approve the newer one.

People can only approve what they see. So long texts are wrapped and not cut, the rest of a very large definition is
represented by a hash, and two different values never look the same.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Iterator
from typing import Any

from doorward.visible import visible

_MOST_LINES = 1_000
_LONGEST_LINE = 500
_LONGEST_NAME = 100
_MOST_SHOWN = 200
_FIRST = ("description", "title", "inputSchema")
"""The fields that matter for models and validation come first, so that added fields cannot push them out of view."""
_LOOKS_LIKE_JSON = tuple('"[{-0123456789')
_WORDS_OF_JSON = frozenset(("", "true", "false", "null"))


def difference(before: dict[str, Any], after: dict[str, Any]) -> str:
    """Diff lines: `-` for removed and `+` for added values, each with its path. Invisible characters are escaped."""
    compared = difflib.unified_diff(_lines(before), _lines(after), lineterm="", n=1)
    found = [line for line in list(compared)[2:] if not line.startswith("@@")]
    if len(found) > _MOST_SHOWN:
        more = f"… and {len(found) - _MOST_SHOWN} more lines of difference not shown"
        found = [*found[:_MOST_SHOWN], more]
    if not found and before != after:
        found = ["(the difference is in the part that is not shown)"]
    return "\n".join(found)


def _lines(whole: dict[str, Any]) -> list[str]:
    """Write a definition with one line for each value, in an order that does not depend on how it was sent."""
    lines: list[str] = []
    rest = hashlib.sha256()
    hidden = 0
    for line in _every_line(whole):
        if len(lines) < _MOST_LINES:
            lines.append(line)
        else:
            rest.update(f"{line}\n".encode("utf-8", "surrogatepass"))
            hidden += 1
    if hidden:
        lines.append(f"({hidden} more lines not shown, with the hash {rest.hexdigest()[:16]})")
    return lines


def _every_line(whole: dict[str, Any]) -> Iterator[str]:
    order = [*(key for key in _FIRST if key in whole), *sorted(key for key in whole if key not in _FIRST)]
    for key in order:
        for place, text in _leaves(_name(key), whole[key]):
            for line in text.split("\n"):
                shown = _shown(line)
                yield f"{place}: {shown[:_LONGEST_LINE]}"
                for at in range(_LONGEST_LINE, len(shown), _LONGEST_LINE):
                    yield f"{place} (continued): {shown[at : at + _LONGEST_LINE]}"


def _leaves(place: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for key in sorted(value):
            yield from _leaves(f"{place}.{_name(key)}", value[key])
    elif isinstance(value, list) and value:
        for number, item in enumerate(value):
            yield from _leaves(f"{place}[{number}]", item)
    elif isinstance(value, str) and value not in _WORDS_OF_JSON and not value.startswith(_LOOKS_LIKE_JSON):
        yield place, value
    else:  # a text that could be mistaken for a number or keyword is quoted
        yield place, json.dumps(value, ensure_ascii=False)


def _name(key: str) -> str:
    """A member name. One that could be mistaken for another, or for several, is quoted."""
    plain = key.replace("_", "").replace("-", "").replace("$", "").isalnum()
    shown = _shown(key if plain else json.dumps(key, ensure_ascii=False))
    if len(shown) <= _LONGEST_NAME:
        return shown
    mark = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{shown[:_LONGEST_NAME]}…({mark})"


def _shown(text: str) -> str:
    """Escape invisible characters. Backslashes are doubled, so that they do not look like escapes."""
    return visible(text.replace("\\", "\\\\"), lines=False)
