"""Built-ins for pipes and for running other lines: json, table, xargs, time."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

from doorward.core.classification import Effects, Safety, Tier
from doorward.core.command import shorten
from doorward.shell import interpreter
from doorward.shell.builtins.builtin import BuiltinFacts, builtin
from doorward.shell.builtins.data import parse_piped_json
from doorward.shell.builtins.formatting import format_json
from doorward.shell.builtins.options import BuiltinOptions, UsageError
from doorward.shell.builtins.run import BuiltinRun
from doorward.shell.expansion import MAX_WORDS
from doorward.shell.parser import MAX_SCRIPT_CHARACTERS
from doorward.shell.results import NEVER_RAN, TIMED_OUT
from doorward.shell.vfs.schema import UNDO_BY_INNER_CALLS

_GROUP = "Text and values"
_STEP = re.compile(r"\.?([^.\[\]]+)|\[([0-9]{0,9})\]")
_MOST_RUNS = 200
_RUNS = BuiltinFacts(
    tier=Tier.CODE,
    effects=Effects.READ | Effects.WRITE | Effects.DESTROY,
    safety=Safety.CAUTION,
    undo=UNDO_BY_INNER_CALLS,
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
async def json_(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Select values from piped JSON: json items[0].name, or items[].name for each element of a list.

    Text is printed as it is, everything else as JSON; without a path, the whole input is printed, indented.
    """
    whole = parse_piped_json(speaker)
    if not options.words:
        speaker.write(format_json(whole))
        return
    for path in options.words:
        if speaker.is_full:
            return
        for value in _select(whole, path):
            speaker.write(f"{value}\n" if isinstance(value, str) else format_json(value))


@builtin("table", "[field…]", ["name"], group=_GROUP, input='[{"name": "a"}, {"name": "b"}]')
async def table_(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Print a piped JSON list of objects as a table, with all fields or the named ones."""
    rows = parse_piped_json(speaker)
    if isinstance(rows, dict):
        rows = rows.get("items", [rows])
    if not isinstance(rows, list) or not all(isinstance(one, dict) for one in rows):
        raise UsageError("the piped input must be a JSON list of objects")
    speaker.write_table(rows, options.words)


@builtin(
    "xargs",
    "[-n number] [-I mark] word…",
    ["echo"],
    group=_GROUP,
    kind=_RUNS,
    raw=True,
    input="a b\n",
)
async def xargs(speaker: BuiltinRun, options: BuiltinOptions) -> None:
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
            raise UsageError(
                f"{flag} takes {'a placeholder' if flag == '-I' else 'a number above 0'}; given {shorten(value)}"
            )
    if not words or words[0].startswith("-"):
        raise UsageError("a command to run is missing")
    for run in _runs_by_line(speaker.piped, words, mark) if mark else _runs_by_words(speaker.piped, words, size):
        if not await _run_words(speaker, run):
            return


@builtin("time", "word…", ["echo", "hello"], group="Executions", kind=_RUNS, raw=True)
async def time(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Run a command, and print how long it took."""
    if not options.words:
        raise UsageError("a command to run is missing")
    clock = speaker.ctx.services.clock
    before = clock.steady()
    await _run_words(speaker, list(options.words), exactly=True)
    speaker.write_note(f"{clock.steady() - before:.3f} s")


def _runs_by_line(piped: str, words: list[str], mark: str) -> Iterator[list[str]]:
    """The runs with the placeholder replaced by a line of the input; the length is checked before each is built."""
    lines = [line for line in piped.splitlines() if line]
    if len(lines) > _MOST_RUNS:
        raise UsageError(f"at most {_MOST_RUNS} runs are valid; these would be {len(lines)}")
    marks, rest = sum(word.count(mark) for word in words), sum(map(len, words))
    for line in lines:
        length = rest + marks * (len(line) - len(mark))
        if length > MAX_SCRIPT_CHARACTERS:
            raise UsageError(f"a run has at most {MAX_SCRIPT_CHARACTERS} characters; one would have {length}")
        yield [word.replace(mark, line) for word in words]


def _runs_by_words(piped: str, words: list[str], size: int) -> Iterator[list[str]]:
    """The runs with `size` words of the input each, or one run with all."""
    most = size * _MOST_RUNS if size else MAX_WORDS
    given = piped.split(None, most)
    if len(given) > most:
        raise UsageError(f"at most {_MOST_RUNS if size else 1} runs of {size or MAX_WORDS} words are valid; change -n")
    each = size or len(given) or 1
    for at in range(0, len(given), each):
        yield [*words, *given[at : at + each]]


async def _run_words(speaker: BuiltinRun, words: list[str], *, exactly: bool = False) -> bool:
    """Run one line in a copy of the session and pass on its output; return whether to continue.

    Failures become exit code 1 unless `exactly` is set, because several lines may have different codes. The code of a
    line that waits, was refused or was stopped is kept, because nothing runs after it.
    """
    async with speaker.ctx.services.sessions.copy_of(speaker.session) as copy:
        said = await interpreter.run_script(speaker.ctx, copy, shlex.join(words), aloud=False, typed=False)
    speaker.write(said.stdout)
    speaker.write_stderr(said.stderr)
    speaker.ticket = said.ticket
    stops = bool(said.ticket) or said.exit_code in NEVER_RAN or said.exit_code == TIMED_OUT
    if said.exit_code:
        speaker.set_exit_code(said.exit_code if stops or exactly else 1)
    return not stops and not said.leaves


def _select(value: Any, path: str) -> list[Any]:
    """The values at a path: names separated by dots, list indexes in brackets, [] for all elements."""
    found, at = [value], 0
    path = path if path != "." else ""
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            raise UsageError(f"invalid path; valid: such as items[0].name; given {shorten(path)}")
        at = step.end()
        found = [inner for one in found for inner in _step_into(one, step[1], step[2])]
    return found


def _step_into(value: Any, name: str | None, place: str | None) -> list[Any]:
    if name is not None and isinstance(value, list) and name.isdecimal():
        name, place = None, name
    if name is not None:
        return [value[name]] if isinstance(value, dict) and name in value else []
    if place == "":
        return list(value.values()) if isinstance(value, dict) else list(value) if isinstance(value, list) else []
    return [value[int(place or 0)]] if isinstance(value, list) and int(place or 0) < len(value) else []
