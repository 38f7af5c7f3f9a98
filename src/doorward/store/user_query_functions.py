"""The SQL functions and tables that a caller's own SELECT may use."""

from __future__ import annotations

import sqlite3
from typing import Any

import re2

from doorward.store import sql_functions

LARGEST_VALUE = 1_000_000

TABLES = frozenset(("json_each", "json_tree"))

# Left out: printf and format, which can produce a billion characters, and json_patch, which takes time proportional
# to the product of two sizes. The time limit cannot interrupt a function.
_WORDS = (
    "abs acos acosh asin asinh atan atan2 atanh avg ceil ceiling char coalesce cos cosh count cume_dist "
    "current_date current_time current_timestamp date datetime degrees dense_rank exp first_value floor glob "
    "group_concat hex ifnull iif instr json json_array json_array_length json_extract json_group_array "
    "json_group_object json_insert json_object json_quote json_remove json_replace json_set json_type "
    "json_valid julianday lag last_value lead length like ln log log10 log2 lower ltrim max min mod nth_value ntile "
    "nullif percent_rank pi pow power quote radians random rank regexp replace round row_number rtrim sign "
    "sin sinh sqrt strftime substr substring sum tan tanh time total trim trunc typeof unicode unixepoch upper -> "
    "->> "
)
ALLOWED = frozenset(_WORDS.split())


def install(db: sqlite3.Connection) -> None:
    """Replace functions that can take time proportional to the product of two lengths.

    The time limit cannot interrupt a function.
    """
    db.create_function("instr", 2, _instr, deterministic=True)
    db.create_function("replace", 3, _replace, deterministic=True)
    for name, strip in (("trim", "both"), ("ltrim", "left"), ("rtrim", "right")):
        db.create_function(name, 2, _trimmer(strip), deterministic=True)
    db.create_function("regexp", 2, _regexp, deterministic=True)


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _instr(text: Any, part: Any) -> int | None:
    if text is None or part is None:
        return None
    if isinstance(text, bytes) and isinstance(part, bytes):
        return text.find(part) + 1
    return _text(text).find(_text(part)) + 1


def _replace(text: Any, old: Any, new: Any) -> Any:
    if text is None or old is None or new is None:
        return None
    whole, before, after = _text(text), _text(old), _text(new)
    if not before:
        return text
    if len(whole) + whole.count(before) * (len(after) - len(before)) > LARGEST_VALUE:
        raise ValueError(f"a value has at most {LARGEST_VALUE} bytes")
    return whole.replace(before, after)


def _trimmer(side: str) -> Any:
    def trim(text: Any, letters: Any) -> str | None:
        if text is None or letters is None:
            return None
        whole, removed = _text(text), frozenset(_text(letters))
        start, end = 0, len(whole)
        while side != "right" and start < end and whole[start] in removed:
            start += 1
        while side != "left" and start < end and whole[end - 1] in removed:
            end -= 1
        return whole[start:end]

    return trim


def _regexp(pattern: Any, value: Any) -> bool | None:
    if pattern is None or value is None:
        return None
    if len(_text(pattern)) > 1_000:
        raise ValueError("a pattern has at most 1000 characters")
    try:
        return sql_functions.pattern(_text(pattern)).search(_text(value)) is not None
    except re2.error as error:
        raise ValueError("not a valid RE2 pattern") from error
