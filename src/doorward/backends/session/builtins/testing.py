"""The built-ins test and [: conditions on text, numbers and virtual files, for `&&` and `||`."""

from __future__ import annotations

import re
from collections.abc import Callable

from doorward.backends.session.builtins.builtin import builtin
from doorward.backends.session.builtins.options import Options, Usage
from doorward.backends.session.builtins.speaking import Speaker
from doorward.command import shortened
from doorward.errors import BadParams, NotFound

_NUMBERS: dict[str, Callable[[int, int], bool]] = {
    "-eq": lambda a, b: a == b,
    "-ne": lambda a, b: a != b,
    "-lt": lambda a, b: a < b,
    "-le": lambda a, b: a <= b,
    "-gt": lambda a, b: a > b,
    "-ge": lambda a, b: a >= b,
}
_TEXTS: dict[str, Callable[[str, str], bool]] = {
    "=": lambda a, b: a == b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
}
_FILES = {"-e": None, "-f": "file", "-d": "folder", "-L": "symlink", "-h": "symlink", "-s": "size"}


@builtin("test", "expression", ["-e", "/workspace"], group="Text and values", raw=True, also=["["])
async def test(speaker: Speaker, options: Options) -> None:
    """Check a condition: -e -f -d -s for files, -z -n = != for text, -eq -ne -lt -le -gt -ge for numbers.

    `!` in front negates it. `[ … ]` is the same and ends with `]`. Exit code 0 is true, 1 is false, 2 is wrong usage.
    """
    words = list(options.words)
    if words and words[-1] == "]":
        words.pop()
    turned = False
    while words and words[0] == "!" and len(words) > 1:
        turned = not turned
        words.pop(0)
    speaker.ends(int(await _holds(speaker, words) == turned))


async def _holds(speaker: Speaker, words: list[str]) -> bool:
    match words:
        case []:
            return False
        case [text]:
            return bool(text)
        case ["-z", text]:
            return not text
        case ["-n", text]:
            return bool(text)
        case [flag, path] if flag in _FILES:
            return await _is(speaker, flag, path)
        case [first, sign, second] if sign in _TEXTS:
            return _TEXTS[sign](first, second)
        case [first, sign, second] if sign in _NUMBERS:
            return _NUMBERS[sign](_number(first), _number(second))
    raise Usage(f"not a condition: {shortened(' '.join(words))}")


async def _is(speaker: Speaker, flag: str, path: str) -> bool:
    try:
        found = await speaker.tree.item(speaker.path(path))
    except (NotFound, BadParams):
        return False
    wanted = _FILES[flag]
    if wanted == "size":
        return found.get("size", 1) > 0
    kinds = {found["kind"], found.get("leadsTo", "")}
    return wanted is None or wanted in kinds


def _number(text: str) -> int:
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", text):
        raise Usage(f"{shortened(text)} is not a whole number")
    return int(text)
