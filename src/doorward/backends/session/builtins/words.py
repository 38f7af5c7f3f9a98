"""Built-ins for text: echo, printf, true, false, seq, basename, dirname."""

from __future__ import annotations

import re
from collections import deque
from decimal import Decimal, InvalidOperation

from doorward.backends.session.builtins.builtin import builtin
from doorward.backends.session.builtins.options import Options, Usage
from doorward.backends.session.builtins.speaking import Speaker
from doorward.command import shortened

_GROUP = "Text and values"
_MOST_NUMBERS = 100_000
_ESCAPE = re.compile(r"\\(?:([\\abfnrtv\"'])|0([0-7]{1,3})|x([0-9a-fA-F]{1,2})|(c))", re.ASCII)
_LETTERS = {"\\": "\\", "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", '"': '"', "'": "'"}
_DIRECTIVE = re.compile(r"%(?:%|([-0 +#]*)([0-9]{1,3})?(?:\.([0-9]{1,3}))?([sdiouxXfgeGcbq]))")


@builtin("true", "", group=_GROUP, raw=True)
async def true(speaker: Speaker, options: Options) -> None:
    """Succeed, and do nothing else."""


@builtin("false", "", group=_GROUP, raw=True)
async def false(speaker: Speaker, options: Options) -> None:
    """Fail with exit code 1, and do nothing else."""
    speaker.ends(1)


@builtin("echo", "[-n] [-e] [word…]", ["hello", "world"], group=_GROUP, raw=True)
async def echo(speaker: Speaker, options: Options) -> None:
    """Print words separated by blanks; -n omits the line end, -e reads escapes such as \\n and \\t."""
    words = list(options.words)
    flags = ""
    while words and re.fullmatch(r"-[neE]+", words[0]):
        flags += words.pop(0)[1:]
    text = " ".join(words)
    ended = "n" not in flags
    if flags.rfind("e") > flags.rfind("E"):
        text, whole = unescaped(text)
        ended = ended and whole
    speaker.say(f"{text}\n" if ended else text)


@builtin("printf", "format [value…]", ["%s is %d\\n", "answer", "42"], group=_GROUP, raw=True)
async def printf(speaker: Speaker, options: Options) -> None:
    """Print values in a format such as '%s %5d\\n'; the format is repeated while there are values."""
    if not options.words:
        raise Usage("a format is missing")
    format_, *given = options.words
    values, parts = deque(given), _parts(format_)
    while True:
        before = len(values)
        for text, goes_on, directive in parts:
            speaker.say(text)
            if not goes_on or speaker.full:
                return
            if directive is not None:
                speaker.say(_filled(speaker, directive, values))
        if not values or len(values) == before:
            return


@builtin("seq", "[first [step]] last", ["3"], group=_GROUP, options={"-s --separator TEXT": "Text between numbers"})
async def seq(speaker: Speaker, options: Options) -> None:
    """Print a sequence of numbers, one per line."""
    try:
        numbers = [Decimal(word) for word in options.words]
    except InvalidOperation as error:
        raise Usage(f"only numbers are valid; given {shortened(' '.join(options.words))}") from error
    if not 1 <= len(numbers) <= 3 or not all(one.is_finite() and abs(one.adjusted()) < 20 for one in numbers):
        raise Usage("it takes one to three numbers")
    last = numbers[-1]
    first = numbers[0] if len(numbers) > 1 else Decimal(1)
    step = numbers[1] if len(numbers) > 2 else Decimal(1)
    if not step:
        raise Usage("the step must not be 0")
    if (last - first) / step >= _MOST_NUMBERS:
        raise Usage(f"at most {_MOST_NUMBERS} numbers are valid")
    between, _ = unescaped(options.values.get("-s", "\n"))
    begun = False
    while not speaker.full and ((first <= last) if step > 0 else (first >= last)):
        speaker.say(f"{between if begun else ''}{first:f}")
        begun = True
        first += step
    if begun:
        speaker.line()


@builtin("basename", "path [suffix]", ["/workspace/notes/today.md", ".md"], group=_GROUP)
async def basename(speaker: Speaker, options: Options) -> None:
    """Print the last part of a path, without the given suffix."""
    if not 1 <= len(options.words) <= 2:
        raise Usage("it takes a path and an optional suffix")
    path, *suffix = options.words
    name = path.rstrip("/").rpartition("/")[2] or ("/" if path.startswith("/") else path)
    speaker.line(name.removesuffix(suffix[0]) if suffix and name != suffix[0] else name)


@builtin("dirname", "path…", ["/workspace/notes/today.md"], group=_GROUP)
async def dirname(speaker: Speaker, options: Options) -> None:
    """Print a path without its last part."""
    if not options.words:
        raise Usage("a path is missing")
    for path in options.words:
        above = path.rstrip("/").rpartition("/")[0].rstrip("/")
        speaker.line(above or ("/" if path.startswith("/") else "."))


def unescaped(text: str) -> tuple[str, bool]:
    """Replace escapes by their characters; return also whether the text is complete, without `\\c`."""
    cut = re.search(r"(?<!\\)(?:\\\\)*\\c", text)
    whole = text[: cut.end() - 2] if cut else text
    return _ESCAPE.sub(_meant, whole), cut is None


def _meant(found: re.Match[str]) -> str:
    letter, octal, digits, _ = found.groups()
    if letter:
        return _LETTERS[letter]
    return chr(int(octal, 8) if octal else int(digits, 16)) if octal or digits else ""


def _parts(format_: str) -> list[tuple[str, bool, re.Match[str] | None]]:
    """Split a format into texts, each with whether output continues after it and the directive that follows."""
    parts: list[tuple[str, bool, re.Match[str] | None]] = []
    at = 0
    for found in _DIRECTIVE.finditer(format_):
        parts.append((*unescaped(format_[at : found.start()]), found))
        at = found.end()
    return [*parts, (*unescaped(format_[at:]), None)]


def _filled(speaker: Speaker, found: re.Match[str], values: deque[str]) -> str:
    if found[0] == "%%":
        return "%"
    flags, width, precision, kind = found.groups()
    value = values.popleft() if values else ""
    shape = f"%{flags}{width or ''}{f'.{precision}' if precision else ''}"
    if kind in "sbqc":
        text = unescaped(value)[0] if kind == "b" else value[:1] if kind == "c" else value
        return f"{shape}s" % text
    try:
        number = Decimal(value or "0")
        if not number.is_finite() or abs(number.adjusted()) > 30:
            raise InvalidOperation
        return (f"{shape}{kind}") % (float(number) if kind in "fgeG" else int(number))
    except (InvalidOperation, ValueError, OverflowError):
        speaker.complain(f"{shortened(value)} is not a number")
        return (f"{shape}{kind}") % 0
