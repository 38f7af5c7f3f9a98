"""The difference between two definitions of one tool, as people read it before they approve the newer one.

Nobody can approve what was not shown. Long texts are therefore wrapped and not cut, what stands for the rest of a very
large definition differs where the rest does, and two values that differ never look the same.
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
"""What a model reads and a call is held against stands first, so that nothing a server adds can push it out of view."""
_LOOKS_LIKE_JSON = tuple('"[{-0123456789')
_WORDS_OF_JSON = frozenset(("", "true", "false", "null"))


def difference(before: dict[str, Any], after: dict[str, Any]) -> str:
    """Lines with `-` for what is gone and `+` for what has come, each with its place; hidden characters written out."""
    compared = difflib.unified_diff(_lines(before), _lines(after), lineterm="", n=1)
    found = [line for line in list(compared)[2:] if not line.startswith("@@")]
    if len(found) > _MOST_SHOWN:
        more = f"… and {len(found) - _MOST_SHOWN} more lines of difference, which are behind the part that is shown"
        found = [*found[:_MOST_SHOWN], more]
    if not found and before != after:
        found = ["(the difference is behind the part that is shown)"]
    return "\n".join(found)


def _lines(whole: dict[str, Any]) -> list[str]:
    """A definition with a line for each value, in an order that does not depend on how it was sent."""
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
        lines.append(f"({hidden} more lines behind the part that is shown, with the mark {rest.hexdigest()[:16]})")
    return lines


def _every_line(whole: dict[str, Any]) -> Iterator[str]:
    order = [*(key for key in _FIRST if key in whole), *sorted(key for key in whole if key not in _FIRST)]
    for key in order:
        for place, text in _leaves(_name(key), whole[key]):
            for line in text.split("\n"):
                shown = _shown(line)
                yield f"{place}: {shown[:_LONGEST_LINE]}"
                for at in range(_LONGEST_LINE, len(shown), _LONGEST_LINE):
                    yield f"{place} (goes on): {shown[at : at + _LONGEST_LINE]}"


def _leaves(place: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for key in sorted(value):
            yield from _leaves(f"{place}.{_name(key)}", value[key])
    elif isinstance(value, list) and value:
        for number, item in enumerate(value):
            yield from _leaves(f"{place}[{number}]", item)
    elif isinstance(value, str) and value not in _WORDS_OF_JSON and not value.startswith(_LOOKS_LIKE_JSON):
        yield place, value
    else:  # a text that could be taken for a number, and the like, stands in quotation marks
        yield place, json.dumps(value, ensure_ascii=False)


def _name(key: str) -> str:
    """The name of a member: one that would look like several, or like another, is made plain."""
    plain = key.replace("_", "").replace("-", "").replace("$", "").isalnum()
    shown = _shown(key if plain else json.dumps(key, ensure_ascii=False))
    if len(shown) <= _LONGEST_NAME:
        return shown
    mark = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{shown[:_LONGEST_NAME]}…({mark})"


def _shown(text: str) -> str:
    """In full view; a backslash is doubled, so that it is not taken for the beginning of what is written out."""
    return visible(text.replace("\\", "\\\\"), lines=False)
