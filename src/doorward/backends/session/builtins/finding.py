"""The built-in find: virtual files by name, kind, size, time and depth."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from doorward.backends.session.builtins.builtin import builtin
from doorward.backends.session.builtins.options import Options, Usage
from doorward.backends.session.builtins.showing import shown
from doorward.backends.session.builtins.speaking import Speaker
from doorward.backends.vfs.shapes import Item
from doorward.backends.vfs.walking import walked
from doorward.command import shortened
from doorward.errors import DoorwardError

_KINDS = {"f": "file", "d": "folder", "l": "symlink"}
_BYTES = {"": 512, "b": 512, "c": 1, "w": 2, "k": 1024, "M": 1024**2, "G": 1024**3}
_AMOUNT = re.compile(r"([+-]?)([0-9]{1,12})([bcwkMG]?)")
_MOST_CONDITIONS = 50
_DOES = frozenset(("-exec", "-execdir", "-ok", "-okdir", "-delete", "-print0", "-printf", "-ls", "-fprint"))
"""Actions of the Unix `find` that are not supported."""


class _Met(NamedTuple):
    """A visited entry, its depth below the start, and whether it is a folder with entries."""

    item: Item
    depth: int
    filled: bool


Fits = Callable[[_Met], bool]


@builtin(
    "find",
    "[path…] [-name pattern] [-iname pattern] [-path pattern] [-type f|d|l] [-size ±n[ckMG]] [-mtime ±days]"
    " [-mmin ±minutes] [-maxdepth n] [-mindepth n] [-empty]",
    ["/workspace", "-name", "*.py"],
    group="Files and folders",
    raw=True,
    says="all Python files of the workspace",
)
async def find(speaker: Speaker, options: Options) -> None:
    """Find virtual files that meet all conditions; `!` in front of a condition negates it."""
    words = list(options.words)
    starts: list[str] = []
    while words and not words[0].startswith("-") and words[0] != "!":
        starts.append(words.pop(0))
    fits = _conditions(words, speaker.ctx.house.clock.now())
    for start in starts or ["."]:
        try:
            await _search(speaker, start, fits)
        except DoorwardError as error:
            speaker.report(error, start)


async def _search(speaker: Speaker, start: str, fits: Sequence[Fits]) -> None:
    path = speaker.path(start)
    first = await speaker.tree.item(path)
    met = await walked(speaker.tree, path, hidden=True) if first["kind"] == "folder" else None
    items = [first, *(met.items if met is not None else [])]
    root = path.rstrip("/")
    filled = {one["path"].rpartition("/")[0] for one in items}
    for one in sorted(items, key=lambda one: one["path"].split("/")):
        below = one["path"][len(root) :] if one is not first else ""
        met_here = _Met(one, below.count("/"), one["path"].rstrip("/") in filled)
        if all(fit(met_here) for fit in fits):
            speaker.line(shown((start.rstrip("/") if below else start) + below))
    if met is not None and met.cut:
        speaker.complain(met.note)


def _conditions(words: list[str], now: float) -> list[Fits]:
    fits: list[Fits] = []
    turned = False
    while words:
        word = words.pop(0)
        if word in ("!", "-not"):
            turned = not turned
            continue
        if word in ("-a", "-and", "-print"):
            continue
        made = _empty if word == "-empty" else _one(word, words, now)
        fits.append(_not(made) if turned else made)
        turned = False
    if turned or len(fits) > _MOST_CONDITIONS:
        raise Usage(f"a condition must follow !, and at most {_MOST_CONDITIONS} conditions are valid")
    return fits


def _one(word: str, words: list[str], now: float) -> Fits:
    makers: dict[str, Callable[[str], Fits]] = {
        "-name": lambda value: _named(value, "name"),
        "-iname": lambda value: _named(value, "name", fold=True),
        "-path": lambda value: _named(value, "path"),
        "-type": _kind,
        "-size": _size,
        "-mtime": lambda value: _age(value, now, 86_400),
        "-mmin": lambda value: _age(value, now, 60),
        "-maxdepth": lambda value: _depth(value, deepest=True),
        "-mindepth": lambda value: _depth(value, deepest=False),
    }
    if word in _DOES:
        raise Usage(
            f"{word} is not supported: find only prints paths; pipe them to a command, as in"
            " find . -name '*.tmp' | xargs -I {} rm {}"
        )
    if word not in makers:
        raise Usage(f"unknown condition {shortened(word)}")
    if not words:
        raise Usage(f"{word} needs a value")
    return makers[word](words.pop(0))


def _not(fits: Fits) -> Fits:
    return lambda met: not fits(met)


def _empty(met: _Met) -> bool:
    return not met.filled if met.item["kind"] == "folder" else met.item.get("size") == 0


def _named(pattern: str, key: str, *, fold: bool = False) -> Fits:
    if len(pattern) > 500:
        raise Usage("a pattern has at most 500 characters")
    expression = re.compile(fnmatch.translate(pattern), re.IGNORECASE if fold else 0)
    return lambda met: expression.match(met.item["name"] if key == "name" else met.item["path"]) is not None


def _kind(value: str) -> Fits:
    if value not in _KINDS:
        raise Usage(f"-type takes f, d or l; given {shortened(value)}")
    return lambda met: met.item["kind"] == _KINDS[value]


def _amount(value: str, what: str) -> tuple[str, int, str]:
    found = _AMOUNT.fullmatch(value)
    if found is None:
        raise Usage(f"{what} takes a number such as +10 (more), -10 (less) or 10; given {shortened(value)}")
    return found[1], int(found[2]), found[3]


def _compares(sign: str, one: float, wanted: float) -> bool:
    return one > wanted if sign == "+" else one < wanted if sign == "-" else one == wanted


def _size(value: str) -> Fits:
    sign, number, unit = _amount(value, "-size")
    each = _BYTES[unit]
    return lambda met: "size" in met.item and _compares(sign, -(-met.item["size"] // each), number)


def _age(value: str, now: float, seconds: int) -> Fits:
    sign, number, unit = _amount(value, "an age")
    if unit:
        raise Usage(f"an age is a number; given {shortened(value)}")

    def fits(met: _Met) -> bool:
        if not met.item.get("modified"):
            return False
        age = (now - datetime.fromisoformat(met.item["modified"]).timestamp()) // seconds
        return _compares(sign, age, number)

    return fits


def _depth(value: str, *, deepest: bool) -> Fits:
    if not re.fullmatch(r"[0-9]{1,4}", value):
        raise Usage(f"a depth is a whole number; given {shortened(value)}")
    return lambda met: met.depth <= int(value) if deepest else met.depth >= int(value)
