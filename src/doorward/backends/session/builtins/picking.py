"""json, table, xargs and time: what was piped in, picked apart and handed on, and lines that are run by others."""

from __future__ import annotations

import re
import shlex
from typing import Any

from doorward.backends.session import interpreter
from doorward.backends.session.builtins.builtin import Kind, builtin
from doorward.backends.session.builtins.options import Options, Usage
from doorward.backends.session.builtins.records import piped_json
from doorward.backends.session.builtins.showing import as_json
from doorward.backends.session.builtins.speaking import Speaker
from doorward.backends.vfs.family import BY_ITS_CALLS
from doorward.command import shortened
from doorward.facts import Effects, Safety, Tier

_GROUP = "Text and values"
_STEP = re.compile(r"\.?([^.\[\]]+)|\[([0-9]{0,9})\]")
_MOST_RUNS = 200
_STOPS = 75
"""From this exit code on, something waits, was refused or was stopped, and what stands behind it is not run."""
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
    options={"-c --compact": "Each on one line"},
    input='{"items": [{"name": "a"}, {"name": "b"}]}',
)
async def json_(speaker: Speaker, options: Options) -> None:
    """Pick values out of JSON that is piped in: json items[0].name, or items[].name for every one of a list.

    Texts are printed as they are, everything else as JSON; without a path, all of it in good order.
    """
    whole = piped_json(speaker)
    if not options.words:
        speaker.say(as_json(whole))
        return
    for path in options.words:
        for value in _picked(whole, path):
            speaker.say(f"{value}\n" if isinstance(value, str) else as_json(value))


@builtin("table", "[field…]", ["name"], group=_GROUP, input='[{"name": "a"}, {"name": "b"}]')
async def table_(speaker: Speaker, options: Options) -> None:
    """Print a JSON list of objects that is piped in as a table, with all fields or those that are named."""
    rows = piped_json(speaker)
    if isinstance(rows, dict):
        rows = rows.get("items", [rows])
    if not isinstance(rows, list) or not all(isinstance(one, dict) for one in rows):
        raise Usage("only a JSON list of objects makes a table")
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
    """Run a line of the shell with the words that are piped in behind it, or one for each line with -I.

    -n puts so many words behind each; with -I {} every {} becomes a line of the input. Each run is a call of its own,
    and there are at most so many as one call may make.
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
            raise Usage(f"{flag} takes {'a mark' if flag == '-I' else 'a number above 0'}; given {shortened(value)}")
    if not words or words[0].startswith("-"):
        raise Usage("a word to run is missing")
    runs = _runs(speaker.piped, words, size, mark)
    if len(runs) > _MOST_RUNS:
        raise Usage(f"at most {_MOST_RUNS} runs are made, and these would be {len(runs)}; give -n")
    for run in runs:
        if not await _ran(speaker, run):
            return


@builtin("time", "word…", ["echo", "hello"], group="What runs", kind=_RUNS, raw=True)
async def time(speaker: Speaker, options: Options) -> None:
    """Run a line of the shell, and say how long it took."""
    if not options.words:
        raise Usage("a word to run is missing")
    clock = speaker.ctx.house.clock
    before = clock.steady()
    await _ran(speaker, list(options.words), well=0)
    speaker.remark(f"{clock.steady() - before:.3f} s")


def _runs(piped: str, words: list[str], size: int, mark: str) -> list[list[str]]:
    if mark:
        return [[word.replace(mark, line) for word in words] for line in piped.splitlines() if line]
    given = piped.split()
    each = size or len(given) or 1
    return [[*words, *given[at : at + each]] for at in range(0, len(given), each)]


async def _ran(speaker: Speaker, words: list[str], *, well: int = _STOPS) -> bool:
    """Run one line, in a copy of the session, and pass on what it says; whether to go on.

    Exit codes below `well` become a plain 1, since several lines may have several.
    """
    async with speaker.ctx.house.sessions.apart(speaker.session) as copy:
        said = await interpreter.run(speaker.ctx, copy, shlex.join(words), aloud=False, typed=False)
    speaker.say(said.stdout)
    speaker.repeat(said.stderr)
    speaker.ticket = said.ticket
    if said.exit_code:
        speaker.ends(said.exit_code if said.exit_code >= well else 1)
    return said.exit_code < _STOPS and not said.leaves


def _picked(value: Any, path: str) -> list[Any]:
    """The values at a path: names with dots between them, places of lists in brackets, [] for every one."""
    found, at = [value], 0
    path = path if path != "." else ""
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            raise Usage(f"a path is such as items[0].name; given {shortened(path)}")
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
