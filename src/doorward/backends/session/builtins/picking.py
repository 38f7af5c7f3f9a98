"""Built-ins for pipes and for running other lines: json, table, xargs, time."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

from doorward.backends.session import interpreter
from doorward.backends.session.builtins.builtin import Kind, builtin
from doorward.backends.session.builtins.options import Options, Usage
from doorward.backends.session.builtins.records import piped_json
from doorward.backends.session.builtins.showing import as_json
from doorward.backends.session.builtins.speaking import Speaker
from doorward.backends.session.exit_codes import NEVER_RAN, TOO_LONG
from doorward.backends.session.expansion import MOST_WORDS
from doorward.backends.session.language import LONGEST
from doorward.backends.vfs.family import BY_ITS_CALLS
from doorward.command import shortened
from doorward.facts import Effects, Safety, Tier

_GROUP = "Text and values"
_STEP = re.compile(r"\.?([^.\[\]]+)|\[([0-9]{0,9})\]")
_MOST_RUNS = 200
_RUNS = Kind(
    tier=Tier.CODE,
    effects=Effects.READ | Effects.WRITE | Effects.DESTROY,
    safety=Safety.CAUTION,
    undo=BY_ITS_CALLS,
    timeout=600,
)


@builtin(
    "json",
    "[path…]",
    ["items[].name"],
    group=_GROUP,
    options={"-c --compact": "One line per value"},
    input='{"items": [{"name": "a"}, {"name": "b"}]}',
)
async def json_(speaker: Speaker, options: Options) -> None:
    """Select values from piped JSON: json items[0].name, or items[].name for each element of a list.

    Text is printed as it is, everything else as JSON; without a path, the whole input is printed, indented.
    """
    whole = piped_json(speaker)
    if not options.words:
        speaker.say(as_json(whole))
        return
    for path in options.words:
        if speaker.full:
            return
        for value in _picked(whole, path):
            speaker.say(f"{value}\n" if isinstance(value, str) else as_json(value))


@builtin("table", "[field…]", ["name"], group=_GROUP, input='[{"name": "a"}, {"name": "b"}]')
async def table_(speaker: Speaker, options: Options) -> None:
    """Print a piped JSON list of objects as a table, with all fields or the named ones."""
    rows = piped_json(speaker)
    if isinstance(rows, dict):
        rows = rows.get("items", [rows])
    if not isinstance(rows, list) or not all(isinstance(one, dict) for one in rows):
        raise Usage("the piped input must be a JSON list of objects")
    speaker.table(rows, options.words)


@builtin(
    "xargs",
    "[-n number] [-I mark] word…",
    ["echo"],
    group=_GROUP,
    kind=_RUNS,
    raw=True,
    input="a b\n",
)
async def xargs(speaker: Speaker, options: Options) -> None:
    """Run a command with the piped words as arguments, or once for each piped line with -I.

    -n limits the words for each run; with -I {} each {} is replaced by a line of the input. Each run is a call of its
    own, and the number of runs is limited.
    """
    words = list(options.words)
    size, mark = 0, ""
    while words and words[0] in ("-n", "-I"):
        flag, value, words = words[0], words[1] if len(words) > 1 else "", words[2:]
        if flag == "-I" and value:
            mark = value
        elif flag == "-n" and re.fullmatch(r"[1-9][0-9]{0,5}", value):
            size = int(value)
        else:
            raise Usage(
                f"{flag} takes {'a placeholder' if flag == '-I' else 'a number above 0'}; given {shortened(value)}"
            )
    if not words or words[0].startswith("-"):
        raise Usage("a command to run is missing")
    for run in _by_line(speaker.piped, words, mark) if mark else _by_words(speaker.piped, words, size):
        if not await _ran(speaker, run):
            return


@builtin("time", "word…", ["echo", "hello"], group="Executions", kind=_RUNS, raw=True)
async def time(speaker: Speaker, options: Options) -> None:
    """Run a command, and print how long it took."""
    if not options.words:
        raise Usage("a command to run is missing")
    clock = speaker.ctx.house.clock
    before = clock.steady()
    await _ran(speaker, list(options.words), exactly=True)
    speaker.remark(f"{clock.steady() - before:.3f} s")


def _by_line(piped: str, words: list[str], mark: str) -> Iterator[list[str]]:
    """The runs with the placeholder replaced by a line of the input; the length is checked before each is built."""
    lines = [line for line in piped.splitlines() if line]
    if len(lines) > _MOST_RUNS:
        raise Usage(f"at most {_MOST_RUNS} runs are valid; these would be {len(lines)}")
    marks, rest = sum(word.count(mark) for word in words), sum(map(len, words))
    for line in lines:
        length = rest + marks * (len(line) - len(mark))
        if length > LONGEST:
            raise Usage(f"a run has at most {LONGEST} characters; one would have {length}")
        yield [word.replace(mark, line) for word in words]


def _by_words(piped: str, words: list[str], size: int) -> Iterator[list[str]]:
    """The runs with `size` words of the input each, or one run with all."""
    most = size * _MOST_RUNS if size else MOST_WORDS
    given = piped.split(None, most)
    if len(given) > most:
        raise Usage(f"at most {_MOST_RUNS if size else 1} runs of {size or MOST_WORDS} words are valid; change -n")
    each = size or len(given) or 1
    for at in range(0, len(given), each):
        yield [*words, *given[at : at + each]]


async def _ran(speaker: Speaker, words: list[str], *, exactly: bool = False) -> bool:
    """Run one line in a copy of the session and pass on its output; return whether to continue.

    Failures become exit code 1 unless `exactly` is set, because several lines may have different codes. The code of a
    line that waits, was refused or was stopped is kept, because nothing runs after it.
    """
    async with speaker.ctx.house.sessions.apart(speaker.session) as copy:
        said = await interpreter.run(speaker.ctx, copy, shlex.join(words), aloud=False, typed=False)
    speaker.say(said.stdout)
    speaker.repeat(said.stderr)
    speaker.ticket = said.ticket
    stops = bool(said.ticket) or said.exit_code in NEVER_RAN or said.exit_code == TOO_LONG
    if said.exit_code:
        speaker.ends(said.exit_code if stops or exactly else 1)
    return not stops and not said.leaves


def _picked(value: Any, path: str) -> list[Any]:
    """The values at a path: names separated by dots, list indexes in brackets, [] for all elements."""
    found, at = [value], 0
    path = path if path != "." else ""
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            raise Usage(f"invalid path; valid: such as items[0].name; given {shortened(path)}")
        at = step.end()
        found = [inner for one in found for inner in _inside(one, step[1], step[2])]
    return found


def _inside(value: Any, name: str | None, place: str | None) -> list[Any]:
    if name is not None and isinstance(value, list) and name.isdecimal():
        name, place = None, name
    if name is not None:
        return [value[name]] if isinstance(value, dict) and name in value else []
    if place == "":
        return list(value.values()) if isinstance(value, dict) else list(value) if isinstance(value, list) else []
    return [value[int(place or 0)]] if isinstance(value, list) and int(place or 0) < len(value) else []
