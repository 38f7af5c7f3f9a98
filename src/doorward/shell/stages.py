"""Resolves the command of a stage, prepares its arguments, and calls it.

A program sees only the workspace. Paths below /workspace, /tmp and the caller's home are files there; a record or any
other virtual file can only be passed as standard input.
"""

from __future__ import annotations

import contextlib
import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from doorward.commands.catalogue import arguments
from doorward.commands.catalogue.entry import (
    ARGUMENTS_PARAMETER,
    FOLDER_PARAMETER,
    INPUT_PARAMETER,
    CatalogueEntry,
    CatalogueParameter,
)
from doorward.commands.context import Context
from doorward.commands.help.shell_line import asks_for_help
from doorward.commands.programs.catalogue_command import AREA, CatalogueCommand
from doorward.core.argtext import convert_args, parse_args
from doorward.core.command import Command, shorten
from doorward.core.errors import BadParams, UnknownCommand
from doorward.gate.executions.notices import ALL_STREAMS
from doorward.rooms.people import LOCAL
from doorward.shell.file_access import read_virtual_file
from doorward.shell.results import UNKNOWN_COMMAND, StageFault, StageResult, result_from_outcome
from doorward.shell.session import START_FOLDER, ShellSession
from doorward.shell.vfs.paths import normalize_path

_WORKSPACE = "/workspace"
_TEMPORARY = "/tmp"  # noqa: S108 - a name in our own tree
_STDIN = "-"
_COUNT_OPTIONS = {"head": "-n", "tail": "-n", "git_log": "-n"}
"""Programs that accept a number as an option, as in `head -5`, and the option that it stands for."""
_COUNT_ANYWHERE = frozenset(("git_log",))
"""Programs that accept it after other words too: `git log --oneline -3`."""
_COUNT = re.compile(r"-[0-9]{1,9}")


class PreparedProgram(msgspec.Struct, frozen=True):
    params: dict[str, Any]
    feed: str = ""
    """The virtual file to pass as standard input."""


def prepare_program(
    command: CatalogueCommand, session: ShellSession, given: Sequence[str], piped: str | None
) -> PreparedProgram:
    """The parameters of a program for the typed words. The gate refuses words that do not fit its entry."""
    entry = command.entry
    if piped and not entry.input:
        raise StageFault("it does not read standard input; remove the pipe, or name a file")
    given = _expand_count(entry.name, given)
    here = workspace_path(session.cwd, session)
    params: dict[str, Any] = {ARGUMENTS_PARAMETER: list(given), FOLDER_PARAMETER: here or "."}
    if piped is not None and entry.input:
        params[INPUT_PARAMETER] = piped
    try:
        typed = arguments.parse_arguments(entry, given)
        found = list(_find_paths(entry, typed, session))
    except BadParams:
        return PreparedProgram(params)
    if here is None and not entry.input and any(one.type == "path" for one in entry.arguments) and not found:
        raise StageFault(f"it works on workspace files, but the folder is {session.cwd}; cd /workspace, or name files")
    if not any(one.moved or one.place is None for one in found):
        return PreparedProgram(params)
    feed = _choose_input_file(entry, [one for one in found if one.given != _STDIN], piped)
    del params[ARGUMENTS_PARAMETER]
    params |= _rewrite_paths(typed, found)
    return PreparedProgram(params, feed)


def _expand_count(name: str, given: Sequence[str]) -> Sequence[str]:
    """Replace a number such as `-5` by the option that it stands for."""
    option = _COUNT_OPTIONS.get(name)
    last = given.index("--") if "--" in given else len(given)
    among = given[: last if name in _COUNT_ANYWHERE else 1] if option else ()
    place = next((place for place, word in enumerate(among) if _COUNT.fullmatch(word)), None)
    if option is None or place is None:
        return given
    return [*given[:place], option, given[place][1:], *given[place + 1 :]]


def workspace_path(path: str, session: ShellSession) -> str | None:
    """The path below the workspace of a virtual path, `.` for the workspace itself; None for other paths."""
    for top, below in ((_WORKSPACE, ""), (session.home, session.home[1:]), (_TEMPORARY, "tmp")):
        if path == top:
            return below or "."
        if path.startswith(f"{top}/"):
            rest = path[len(top) + 1 :]
            return f"{below}/{rest}" if below else rest
    return None


class _PathArgument(msgspec.Struct, frozen=True):
    parameter: CatalogueParameter
    given: str
    whole: str
    """The absolute path in the virtual tree."""
    place: str | None
    """The path below the workspace; None when it is elsewhere."""
    moved: bool
    """Whether the program needs another path than the typed one."""


def _find_paths(entry: CatalogueEntry, typed: Mapping[str, Any], session: ShellSession) -> Iterator[_PathArgument]:
    here = workspace_path(session.cwd, session)
    for one in entry.parameters:
        if one.type != "path" or one.name not in typed:
            continue
        for given in typed[one.name] if one.many else [typed[one.name]]:
            if given == _STDIN and entry.input and not one.is_option:
                yield _PathArgument(one, given, given, None, moved=False)
                continue
            whole = normalize_path(given, session.cwd, session.home)
            place = workspace_path(whole, session)
            as_typed = here is not None and (not given.startswith(("/", "~/")) or given.startswith(_WORKSPACE))
            yield _PathArgument(one, given, whole, place, moved=place is not None and not as_typed)


def _choose_input_file(entry: CatalogueEntry, found: Sequence[_PathArgument], piped: str | None) -> str:
    """The virtual file to pass as standard input; empty when there is none. A program can read only one."""
    first = next((one for one in found if one.place is None), None)
    if first is None:
        return ""
    if not entry.input:
        raise StageFault(f"{first.whole} is not a file of the workspace, and {entry.name} does not read standard input")
    if first.parameter.is_option or first.parameter.required:
        raise StageFault(f"{first.whole} is not a file of the workspace; copy it there first")
    others = [one.whole for one in found if one is not first and one.parameter is first.parameter]
    if others or piped:
        also = others[0] if others else "a pipe"
        raise StageFault(
            f"it can read one virtual file as standard input, but got {first.whole} and {also};"
            " copy them into the workspace first"
        )
    return first.whole


def _rewrite_paths(typed: Mapping[str, Any], found: Sequence[_PathArgument]) -> dict[str, Any]:
    """The parameters by name, with paths that the program can open."""
    params = dict(typed)
    for name in {one.parameter.name for one in found}:
        ours = [one for one in found if one.parameter.name == name]
        values = [f"{_WORKSPACE}/{one.place}" if one.moved else one.given for one in ours if one.place is not None]
        if not values:
            del params[name]
        else:
            params[name] = values if ours[0].parameter.many else values[0]
    return params


_INPUT = "input"
_CD = f"{AREA}/cd"
_BASH = "bash"
_MAX_SUBCOMMANDS = 5
"""Maximum subcommands named in the error when only the program was typed, such as `tar` instead of `tar create`."""


class ResolvedCommand(msgspec.Struct, frozen=True):
    command: Command
    words: tuple[str, ...]
    """The remaining words, its arguments."""
    builtin: bool = False
    word: str = ""
    """The word that was typed."""


def resolve_command(ctx: Context, words: Sequence[str]) -> ResolvedCommand:
    """Resolve the command of a stage; raise a fault with the nearest names when there is none."""
    found = _candidates(ctx, words)
    if not found:
        raise StageFault(_describe_unknown(ctx, words[0]), UNKNOWN_COMMAND)
    allowed = (one for one in found if ctx.services.get_ruling(ctx.caller, ctx.call.room, one.command).allowed)
    return next(allowed, found[0])


async def call_stage(
    ctx: Context,
    session: ShellSession,
    words: Sequence[str],
    piped: str | None = None,
    *,
    streams: bool = False,
    columns: int = 0,
) -> StageResult:
    """Call the command of a stage and wait for its end. With `streams`, a program's output is streamed to the client.

    `columns` is the width of the screen; 0 when there is none.
    """
    one = resolve_command(ctx, words)
    if not one.builtin and asks_for_help(one.command, one.words):
        one = _resolve_help(ctx, one)
    params = await _build_params(ctx, session, one, piped)
    if one.builtin and columns:
        params["columns"] = columns
    return await _call(ctx, session, shorten(words[0], 60)[1:-1], one.command, params, streams=streams)


async def call_command(
    ctx: Context, session: ShellSession, name: str, params: Mapping[str, Any], *, streams: bool
) -> StageResult:
    """Call a command by its name, with its own parameters; a program starts in the session's folder."""
    command = resolve_command(ctx, [name]).command
    if isinstance(command, CatalogueCommand) or command.name == _CD:
        params = {FOLDER_PARAMETER: workspace_path(session.cwd, session) or ".", **params}
    return await _call(ctx, session, name, command, params, streams=streams)


async def _call(
    ctx: Context, session: ShellSession, name: str, command: Command, params: Mapping[str, Any], *, streams: bool
) -> StageResult:
    aloud = streams and (isinstance(command, CatalogueCommand) or command.name == _BASH)
    before, ctx.execution.inherited_streams = ctx.execution.inherited_streams, ALL_STREAMS if aloud else frozenset()
    try:
        outcome = await ctx.services.run_nested(ctx.call, command.name, params)
    finally:
        ctx.execution.inherited_streams = before
    made = result_from_outcome(name, outcome)
    made.streamed = aloud and outcome.status in ("done", "failed")
    if command.name == _CD and outcome.status == "done":
        folder = outcome.result["folder"]
        session.before, session.cwd = session.cwd, START_FOLDER if folder == "." else f"{START_FOLDER}/{folder}"
        made.stdout = ""
    return made


def _resolve_help(ctx: Context, one: ResolvedCommand) -> ResolvedCommand:
    """`WORD --help` shows help for every command."""
    told = resolve_command(ctx, ["help", one.command.name])
    return told if told.builtin else one


def _candidates(ctx: Context, words: Sequence[str]) -> list[ResolvedCommand]:
    registry, word, rest = ctx.services.registry, words[0], tuple(words[1:])
    found: list[ResolvedCommand] = []
    builtin = ctx.services.sessions.builtins.get(word)
    if builtin is not None and builtin in registry:
        found.append(ResolvedCommand(registry[builtin], rest, builtin=True, word=word))
    if (whole := f"{AREA}/{word}") in registry:
        found.append(ResolvedCommand(registry[whole], rest))
    elif rest and (whole := f"{AREA}/{word}_{rest[0].replace('-', '_')}") in registry:
        found.append(ResolvedCommand(registry[whole], rest[1:]))  # `git log` is one entry of the catalogue
    if not found:
        with contextlib.suppress(UnknownCommand):
            found.append(ResolvedCommand(registry.resolve(word, (), private=ctx.caller.tenant == LOCAL), rest))
    return found


async def _build_params(ctx: Context, session: ShellSession, one: ResolvedCommand, piped: str | None) -> dict[str, Any]:
    command, words = one.command, one.words
    if one.builtin:
        if one.word == "[" and words[-1:] != ("]",):
            raise StageFault("a condition in brackets must end with ]")
        return {"args": list(words), _INPUT: piped or "", "session": session.id}
    if isinstance(command, CatalogueCommand):
        prepared = prepare_program(command, session, words, piped)
        params = prepared.params
        if prepared.feed:
            params[_INPUT] = await read_virtual_file(ctx, prepared.feed)
        return params
    try:
        given = _parse_named(command, words)
    except BadParams as error:
        sentence = error.message.removeprefix(f"{command.name}: ")
        raise StageFault(f"{sentence} Parameters: {command.usage}") from error
    if piped:
        if _INPUT not in command.arguments:
            raise StageFault("it does not read standard input; remove the pipe")
        given.setdefault(_INPUT, piped)
    if command.name == _CD:
        given.setdefault(FOLDER_PARAMETER, workspace_path(session.cwd, session) or ".")
    return given


def _parse_named(command: Command, words: Sequence[str]) -> dict[str, Any]:
    """Parse parameters as `--key=value`. A single plain word is the value of the only required parameter."""
    required = command.schema.get("required", [])
    single = required or list(command.arguments)[:1]
    if command.name == _BASH and len(words) == 2 and words[0] == "-c":
        words = words[1:]
    if len(words) == 1 and not words[0].startswith("--") and len(single) == 1:
        return convert_args(command, [(single[0], words[0])])
    return convert_args(command, parse_args(words))


def _describe_unknown(ctx: Context, word: str) -> str:
    offered = {one.name for one in ctx.services.offered(ctx.caller, ctx.call.room)}
    builtins = [name for name, command in ctx.services.sessions.builtins.items() if command in offered]
    others = (name.removeprefix(f"{AREA}/") for name in sorted(offered) if not name.startswith("sh/"))
    known = dict.fromkeys((*builtins, *others))
    parts = [name.replace("_", " ", 1) for name in known if name.startswith(f"{word}_")][:_MAX_SUBCOMMANDS]
    near = parts or difflib.get_close_matches(word[:100], known, n=3, cutoff=0.6)
    nearest = f"the nearest: {', '.join(near)}" if near else "help lists all commands, search finds them by purpose"
    return f"unknown command; {nearest}"
