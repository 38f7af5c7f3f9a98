"""Three-way merge of text: the changes of two sides since their common base, by lines."""

from __future__ import annotations

import difflib
from typing import NamedTuple

_MOST_LINES = 50_000


class Merge(NamedTuple):
    text: bytes
    conflicts: int
    """How many places both sides changed differently. Each is marked in the text."""


def merge_text(base: bytes, first: bytes, second: bytes, names: tuple[str, str]) -> Merge | None:
    """Merge two changed texts. None if one of them is not text, or they are too long to compare.

    `names` name the two sides in conflict markers.
    """
    sides = (base, first, second)
    if any(b"\0" in side for side in sides):
        return None
    lines, left, right = (side.splitlines(keepends=True) for side in sides)
    if max(map(len, (lines, left, right))) > _MOST_LINES:
        return None
    in_left, in_right = _match(lines, left), _match(lines, right)
    merged: list[bytes] = []
    conflicts = at = at_left = at_right = 0
    for place in [*(n for n in range(len(lines)) if n in in_left and n in in_right), len(lines)]:
        end_left, end_right = in_left.get(place, len(left)), in_right.get(place, len(right))
        pieces = lines[at:place], left[at_left:end_left], right[at_right:end_right]
        chosen = _choose(*pieces)
        if chosen is None:
            conflicts += 1
            chosen = _mark(pieces[1], pieces[2], names)
        merged += chosen
        merged += lines[place : place + 1]
        at, at_left, at_right = place + 1, end_left + 1, end_right + 1
    return Merge(b"".join(merged), conflicts)


def _match(base: list[bytes], side: list[bytes]) -> dict[int, int]:
    """The lines of the base that a side kept, with their places there."""
    blocks = difflib.SequenceMatcher(None, base, side, autojunk=False).get_matching_blocks()
    return {a + n: b + n for a, b, size in blocks for n in range(size)}


def _choose(base: list[bytes], left: list[bytes], right: list[bytes]) -> list[bytes] | None:
    if left == right or right == base:
        return left
    return right if left == base else None


def _mark(left: list[bytes], right: list[bytes], names: tuple[str, str]) -> list[bytes]:
    first, second = (name.encode() for name in names)
    return [
        b"<<<<<<< " + first + b"\n",
        *_with_end(left),
        b"=======\n",
        *_with_end(right),
        b">>>>>>> " + second + b"\n",
    ]


def _with_end(lines: list[bytes]) -> list[bytes]:
    return lines if not lines or lines[-1].endswith(b"\n") else [*lines[:-1], lines[-1] + b"\n"]
