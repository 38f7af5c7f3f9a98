"""Built-ins for text and conditions: echo, printf, true, false, seq, basename, dirname, test."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from decimal import Decimal, InvalidOperation

from doorward.core.command import shorten
from doorward.core.errors import BadParams, NotFound
from doorward.shell.builtins.builtin import builtin
from doorward.shell.builtins.options import BuiltinOptions, UsageError
from doorward.shell.builtins.run import BuiltinRun

_GROUP = "Text and values"
_MOST_NUMBERS = 100_000
_ESCAPE = re.compile(r"\\(?:([\\abfnrtv\"'])|0([0-7]{1,3})|x([0-9a-fA-F]{1,2})|(c))", re.ASCII)
_LETTERS = {"\\": "\\", "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", '"': '"', "'": "'"}
_DIRECTIVE = re.compile(r"%(?:%|([-0 +#]*)([0-9]{1,3})?(?:\.([0-9]{1,3}))?([sdiouxXfgeGcbq]))")


@builtin("true", "", group=_GROUP, raw=True)
async def true(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Succeed, and do nothing else."""


@builtin("false", "", group=_GROUP, raw=True)
async def false(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Fail with exit code 1, and do nothing else."""
    speaker.set_exit_code(1)


@builtin("echo", "[-n] [-e] [word…]", ["hello", "world"], group=_GROUP, raw=True)
async def echo(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Print words separated by blanks; -n omits the line end, -e reads escapes such as \\n and \\t."""
    words = list(options.words)
    flags = ""
    while words and re.fullmatch(r"-[neE]+", words[0]):
        flags += words.pop(0)[1:]
    text = " ".join(words)
    ended = "n" not in flags
    if flags.rfind("e") > flags.rfind("E"):
        text, whole = unescape(text)
        ended = ended and whole
    speaker.write(f"{text}\n" if ended else text)


@builtin("printf", "format [value…]", ["%s is %d\\n", "answer", "42"], group=_GROUP, raw=True)
async def printf(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Print values in a format such as '%s %5d\\n'; the format is repeated while there are values."""
    if not options.words:
        raise UsageError("a format is missing")
    format_, *given = options.words
    values, parts = deque(given), _split_format(format_)
    while True:
        before = len(values)
        for text, goes_on, directive in parts:
            speaker.write(text)
            if not goes_on or speaker.is_full:
                return
            if directive is not None:
                speaker.write(_format_directive(speaker, directive, values))
        if not values or len(values) == before:
            return


@builtin("seq", "[first [step]] last", ["3"], group=_GROUP, options={"-s --separator TEXT": "Text between numbers"})
async def seq(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Print a sequence of numbers, one per line."""
    try:
        numbers = [Decimal(word) for word in options.words]
    except InvalidOperation as error:
        raise UsageError(f"only numbers are valid; given {shorten(' '.join(options.words))}") from error
    if not 1 <= len(numbers) <= 3 or not all(one.is_finite() and abs(one.adjusted()) < 20 for one in numbers):
        raise UsageError("it takes one to three numbers")
    last = numbers[-1]
    first = numbers[0] if len(numbers) > 1 else Decimal(1)
    step = numbers[1] if len(numbers) > 2 else Decimal(1)
    if not step:
        raise UsageError("the step must not be 0")
    if (last - first) / step >= _MOST_NUMBERS:
        raise UsageError(f"at most {_MOST_NUMBERS} numbers are valid")
    between, _ = unescape(options.values.get("-s", "\n"))
    begun = False
    while not speaker.is_full and ((first <= last) if step > 0 else (first >= last)):
        speaker.write(f"{between if begun else ''}{first:f}")
        begun = True
        first += step
    if begun:
        speaker.write_line()


@builtin("basename", "path [suffix]", ["/workspace/notes/today.md", ".md"], group=_GROUP)
async def basename(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Print the last part of a path, without the given suffix."""
    if not 1 <= len(options.words) <= 2:
        raise UsageError("it takes a path and an optional suffix")
    path, *suffix = options.words
    name = path.rstrip("/").rpartition("/")[2] or ("/" if path.startswith("/") else path)
    speaker.write_line(name.removesuffix(suffix[0]) if suffix and name != suffix[0] else name)


@builtin("dirname", "path…", ["/workspace/notes/today.md"], group=_GROUP)
async def dirname(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Print a path without its last part."""
    if not options.words:
        raise UsageError("a path is missing")
    for path in options.words:
        above = path.rstrip("/").rpartition("/")[0].rstrip("/")
        speaker.write_line(above or ("/" if path.startswith("/") else "."))


def unescape(text: str) -> tuple[str, bool]:
    """Replace escapes by their characters; return also whether the text is complete, without `\\c`."""
    cut = re.search(r"(?<!\\)(?:\\\\)*\\c", text)
    whole = text[: cut.end() - 2] if cut else text
    return _ESCAPE.sub(_unescape_match, whole), cut is None


def _unescape_match(found: re.Match[str]) -> str:
    letter, octal, digits, _ = found.groups()
    if letter:
        return _LETTERS[letter]
    return chr(int(octal, 8) if octal else int(digits, 16)) if octal or digits else ""


def _split_format(format_: str) -> list[tuple[str, bool, re.Match[str] | None]]:
    """Split a format into texts, each with whether output continues after it and the directive that follows."""
    parts: list[tuple[str, bool, re.Match[str] | None]] = []
    at = 0
    for found in _DIRECTIVE.finditer(format_):
        parts.append((*unescape(format_[at : found.start()]), found))
        at = found.end()
    return [*parts, (*unescape(format_[at:]), None)]


def _format_directive(speaker: BuiltinRun, found: re.Match[str], values: deque[str]) -> str:
    if found[0] == "%%":
        return "%"
    flags, width, precision, kind = found.groups()
    value = values.popleft() if values else ""
    shape = f"%{flags}{width or ''}{f'.{precision}' if precision else ''}"
    if kind in "sbqc":
        text = unescape(value)[0] if kind == "b" else value[:1] if kind == "c" else value
        return f"{shape}s" % text
    try:
        number = Decimal(value or "0")
        if not number.is_finite() or abs(number.adjusted()) > 30:
            raise InvalidOperation
        return (f"{shape}{kind}") % (float(number) if kind in "fgeG" else int(number))
    except (InvalidOperation, ValueError, OverflowError):
        speaker.write_error(f"{shorten(value)} is not a number")
        return (f"{shape}{kind}") % 0


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
async def test(speaker: BuiltinRun, options: BuiltinOptions) -> None:
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
    speaker.set_exit_code(int(await _evaluate(speaker, words) == turned))


async def _evaluate(speaker: BuiltinRun, words: list[str]) -> bool:
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
            return await _check_file(speaker, flag, path)
        case [first, sign, second] if sign in _TEXTS:
            return _TEXTS[sign](first, second)
        case [first, sign, second] if sign in _NUMBERS:
            return _NUMBERS[sign](_parse_number(first), _parse_number(second))
    raise UsageError(f"not a condition: {shorten(' '.join(words))}")


async def _check_file(speaker: BuiltinRun, flag: str, path: str) -> bool:
    try:
        found = await speaker.tree.item(speaker.absolute_path(path))
    except (NotFound, BadParams):
        return False
    wanted = _FILES[flag]
    if wanted == "size":
        return found.get("size", 1) > 0
    kinds = {found["kind"], found.get("leadsTo", "")}
    return wanted is None or wanted in kinds


def _parse_number(text: str) -> int:
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", text):
        raise UsageError(f"{shorten(text)} is not a whole number")
    return int(text)
