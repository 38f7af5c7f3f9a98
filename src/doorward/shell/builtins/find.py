"""The built-in find: virtual files by name, kind, size, time and depth."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from doorward.core.command import shorten
from doorward.core.errors import DoorwardError
from doorward.shell.builtins.builtin import builtin
from doorward.shell.builtins.formatting import escape_name
from doorward.shell.builtins.options import BuiltinOptions, UsageError
from doorward.shell.builtins.run import BuiltinRun
from doorward.shell.vfs.schema import VirtualFile
from doorward.shell.vfs.traversal import walk_tree

_KINDS = {"f": "file", "d": "folder", "l": "symlink"}
_BYTES = {"": 512, "b": 512, "c": 1, "w": 2, "k": 1024, "M": 1024**2, "G": 1024**3}
_AMOUNT = re.compile(r"([+-]?)([0-9]{1,12})([bcwkMG]?)")
_MOST_CONDITIONS = 50
_ACTIONS = frozenset(("-exec", "-execdir", "-ok", "-okdir", "-delete", "-print0", "-printf", "-ls", "-fprint"))
"""Actions of the Unix `find` that are not supported."""


class _VisitedItem(NamedTuple):
    """A visited entry, its depth below the start, and whether it is a folder with entries."""

    item: VirtualFile
    depth: int
    filled: bool


Condition = Callable[[_VisitedItem], bool]


@builtin(
    "find",
    "[path…] [-name pattern] [-iname pattern] [-path pattern] [-type f|d|l] [-size ±n[ckMG]] [-mtime ±days]"
    " [-mmin ±minutes] [-maxdepth n] [-mindepth n] [-empty]",
    ["/workspace", "-name", "*.py"],
    group="Files and folders",
    raw=True,
    says="all Python files of the workspace",
)
async def find(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Find virtual files that meet all conditions; `!` in front of a condition negates it."""
    words = list(options.words)
    starts: list[str] = []
    while words and not words[0].startswith("-") and words[0] != "!":
        starts.append(words.pop(0))
    fits = _parse_conditions(words, speaker.ctx.services.clock.now())
    for start in starts or ["."]:
        try:
            await _search(speaker, start, fits)
        except DoorwardError as error:
            speaker.report_error(error, start)


async def _search(speaker: BuiltinRun, start: str, fits: Sequence[Condition]) -> None:
    path = speaker.absolute_path(start)
    first = await speaker.tree.item(path)
    met = await walk_tree(speaker.tree, path, hidden=True) if first["kind"] == "folder" else None
    items = [first, *(met.items if met is not None else [])]
    root = path.rstrip("/")
    filled = {one["path"].rpartition("/")[0] for one in items}
    for one in sorted(items, key=lambda one: one["path"].split("/")):
        below = one["path"][len(root) :] if one is not first else ""
        met_here = _VisitedItem(one, below.count("/"), one["path"].rstrip("/") in filled)
        if all(fit(met_here) for fit in fits):
            speaker.write_line(escape_name((start.rstrip("/") if below else start) + below))
    if met is not None and met.cut:
        speaker.write_error(met.note)


def _parse_conditions(words: list[str], now: float) -> list[Condition]:
    fits: list[Condition] = []
    turned = False
    while words:
        word = words.pop(0)
        if word in ("!", "-not"):
            turned = not turned
            continue
        if word in ("-a", "-and", "-print"):
            continue
        made = _is_empty if word == "-empty" else _parse_condition(word, words, now)
        fits.append(_negate(made) if turned else made)
        turned = False
    if turned or len(fits) > _MOST_CONDITIONS:
        raise UsageError(f"a condition must follow !, and at most {_MOST_CONDITIONS} conditions are valid")
    return fits


def _parse_condition(word: str, words: list[str], now: float) -> Condition:
    makers: dict[str, Callable[[str], Condition]] = {
        "-name": lambda value: _name_condition(value, "name"),
        "-iname": lambda value: _name_condition(value, "name", fold=True),
        "-path": lambda value: _name_condition(value, "path"),
        "-type": _kind_condition,
        "-size": _size_condition,
        "-mtime": lambda value: _age_condition(value, now, 86_400),
        "-mmin": lambda value: _age_condition(value, now, 60),
        "-maxdepth": lambda value: _depth_condition(value, deepest=True),
        "-mindepth": lambda value: _depth_condition(value, deepest=False),
    }
    if word in _ACTIONS:
        raise UsageError(
            f"{word} is not supported: find only prints paths; pipe them to a command, as in"
            " find . -name '*.tmp' | xargs -I {} rm {}"
        )
    if word not in makers:
        raise UsageError(f"unknown condition {shorten(word)}")
    if not words:
        raise UsageError(f"{word} needs a value")
    return makers[word](words.pop(0))


def _negate(fits: Condition) -> Condition:
    return lambda met: not fits(met)


def _is_empty(met: _VisitedItem) -> bool:
    return not met.filled if met.item["kind"] == "folder" else met.item.get("size") == 0


def _name_condition(pattern: str, key: str, *, fold: bool = False) -> Condition:
    if len(pattern) > 500:
        raise UsageError("a pattern has at most 500 characters")
    expression = re.compile(fnmatch.translate(pattern), re.IGNORECASE if fold else 0)
    return lambda met: expression.match(met.item["name"] if key == "name" else met.item["path"]) is not None


def _kind_condition(value: str) -> Condition:
    if value not in _KINDS:
        raise UsageError(f"-type takes f, d or l; given {shorten(value)}")
    return lambda met: met.item["kind"] == _KINDS[value]


def _parse_amount(value: str, what: str) -> tuple[str, int, str]:
    found = _AMOUNT.fullmatch(value)
    if found is None:
        raise UsageError(f"{what} takes a number such as +10 (more), -10 (less) or 10; given {shorten(value)}")
    return found[1], int(found[2]), found[3]


def _compare(sign: str, one: float, wanted: float) -> bool:
    return one > wanted if sign == "+" else one < wanted if sign == "-" else one == wanted


def _size_condition(value: str) -> Condition:
    sign, number, unit = _parse_amount(value, "-size")
    each = _BYTES[unit]
    return lambda met: "size" in met.item and _compare(sign, -(-met.item["size"] // each), number)


def _age_condition(value: str, now: float, seconds: int) -> Condition:
    sign, number, unit = _parse_amount(value, "an age")
    if unit:
        raise UsageError(f"an age is a number; given {shorten(value)}")

    def fits(met: _VisitedItem) -> bool:
        if not met.item.get("modified"):
            return False
        age = (now - datetime.fromisoformat(met.item["modified"]).timestamp()) // seconds
        return _compare(sign, age, number)

    return fits


def _depth_condition(value: str, *, deepest: bool) -> Condition:
    if not re.fullmatch(r"[0-9]{1,4}", value):
        raise UsageError(f"a depth is a whole number; given {shorten(value)}")
    return lambda met: met.depth <= int(value) if deepest else met.depth >= int(value)
