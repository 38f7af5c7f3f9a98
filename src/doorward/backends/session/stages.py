"""Resolve the command of a stage and call it.

A word is looked up among the built-ins, then among the programs of the catalogue, then among all commands. The command
is called through the gate, which alone decides. When two commands share a word (`ls` is a built-in and a program), the
first one that the caller may run is used.
"""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from doorward.backends.context import Context
from doorward.backends.session.called import Called, StageFault, called
from doorward.backends.session.exit_codes import UNKNOWN
from doorward.backends.session.programs import in_workspace, prepare
from doorward.backends.session.session import START, Session
from doorward.backends.session.virtual import read
from doorward.backends.shell.catalogue_command import AREA, CatalogueCommand
from doorward.calltext import read_args, typed
from doorward.catalogue.entry import FOLDER
from doorward.command import Command, shortened
from doorward.errors import BadParams, UnknownCommand
from doorward.executions.notices import HEARS_ALL
from doorward.rooms.people import LOCAL

_INPUT = "input"
_CD = f"{AREA}/cd"
_BASH = "bash"
_HELP = "--help"
_MOST_PARTS = 5
"""Maximum subcommands named in the error when only the program was typed, such as `tar` instead of `tar create`."""


class Meant(msgspec.Struct, frozen=True):
    command: Command
    words: tuple[str, ...]
    """The remaining words, its arguments."""
    builtin: bool = False
    word: str = ""
    """The word that was typed."""


def meant(ctx: Context, words: Sequence[str]) -> Meant:
    """Resolve the command of a stage; raise a fault with the nearest names when there is none."""
    found = _candidates(ctx, words)
    if not found:
        raise StageFault(_unknown(ctx, words[0]), UNKNOWN)
    allowed = (one for one in found if ctx.house.rules_on(ctx.caller, ctx.call.room, one.command).allowed)
    return next(allowed, found[0])


async def call(
    ctx: Context,
    session: Session,
    words: Sequence[str],
    piped: str | None = None,
    *,
    streams: bool = False,
    columns: int = 0,
) -> Called:
    """Call the command of a stage and wait for its end. With `streams`, a program's output is streamed to the client.

    `columns` is the width of the screen; 0 when there is none.
    """
    one = meant(ctx, words)
    if one.words == (_HELP,) and not one.builtin:
        one = _help_for(ctx, one)
    params = await _params(ctx, session, one, piped)
    if one.builtin and columns:
        params["columns"] = columns
    return await _asked(ctx, session, shortened(words[0], 60)[1:-1], one.command, params, streams=streams)


async def direct(ctx: Context, session: Session, name: str, params: Mapping[str, Any], *, streams: bool) -> Called:
    """Call a command by its name, with its own parameters; a program starts in the session's folder."""
    command = meant(ctx, [name]).command
    if isinstance(command, CatalogueCommand) or command.name == _CD:
        params = {FOLDER: in_workspace(session.cwd, session) or ".", **params}
    return await _asked(ctx, session, name, command, params, streams=streams)


async def _asked(
    ctx: Context, session: Session, name: str, command: Command, params: Mapping[str, Any], *, streams: bool
) -> Called:
    aloud = streams and (isinstance(command, CatalogueCommand) or command.name == _BASH)
    before, ctx.execution.hears = ctx.execution.hears, HEARS_ALL if aloud else frozenset()
    try:
        outcome = await ctx.house.ask(ctx.call, command.name, params)
    finally:
        ctx.execution.hears = before
    made = called(name, outcome)
    made.streamed = aloud and outcome.status in ("done", "failed")
    if command.name == _CD and outcome.status == "done":
        folder = outcome.result["folder"]
        session.before, session.cwd = session.cwd, START if folder == "." else f"{START}/{folder}"
        made.stdout = ""
    return made


def _help_for(ctx: Context, one: Meant) -> Meant:
    """`WORD --help` shows help for every command; catalogue programs declare no such option."""
    told = meant(ctx, ["help", one.command.name])
    return told if told.builtin else one


def _candidates(ctx: Context, words: Sequence[str]) -> list[Meant]:
    registry, word, rest = ctx.house.registry, words[0], tuple(words[1:])
    found: list[Meant] = []
    builtin = ctx.house.sessions.builtins.get(word)
    if builtin is not None and builtin in registry:
        found.append(Meant(registry[builtin], rest, builtin=True, word=word))
    if (whole := f"{AREA}/{word}") in registry:
        found.append(Meant(registry[whole], rest))
    elif rest and (whole := f"{AREA}/{word}_{rest[0].replace('-', '_')}") in registry:
        found.append(Meant(registry[whole], rest[1:]))  # `git log` is one entry of the catalogue
    if not found:
        with contextlib.suppress(UnknownCommand):
            found.append(Meant(registry.resolve(word, (), private=ctx.caller.tenant == LOCAL), rest))
    return found


async def _params(ctx: Context, session: Session, one: Meant, piped: str | None) -> dict[str, Any]:
    command, words = one.command, one.words
    if one.builtin:
        if one.word == "[" and words[-1:] != ("]",):
            raise StageFault("a condition in brackets must end with ]")
        return {"args": list(words), _INPUT: piped or "", "session": session.id}
    if isinstance(command, CatalogueCommand):
        prepared = prepare(command, session, words, piped)
        params = prepared.params
        if prepared.feed:
            params[_INPUT] = await read(ctx, prepared.feed)
        return params
    try:
        given = _by_name(command, words)
    except BadParams as error:
        sentence = error.message.removeprefix(f"{command.name}: ")
        raise StageFault(f"{sentence} Parameters: {command.usage}") from error
    if piped:
        if _INPUT not in command.arguments:
            raise StageFault("it does not read standard input; remove the pipe")
        given.setdefault(_INPUT, piped)
    if command.name == _CD:
        given.setdefault(FOLDER, in_workspace(session.cwd, session) or ".")
    return given


def _by_name(command: Command, words: Sequence[str]) -> dict[str, Any]:
    """Parse parameters as `--key=value`. A single plain word is the value of the only required parameter."""
    required = command.schema.get("required", [])
    single = required or list(command.arguments)[:1]
    if command.name == _BASH and len(words) == 2 and words[0] == "-c":
        words = words[1:]
    if len(words) == 1 and not words[0].startswith("--") and len(single) == 1:
        return typed(command, [(single[0], words[0])])
    return typed(command, read_args(words))


def _unknown(ctx: Context, word: str) -> str:
    offered = {one.name for one in ctx.house.offered(ctx.caller, ctx.call.room)}
    builtins = [name for name, command in ctx.house.sessions.builtins.items() if command in offered]
    others = (name.removeprefix(f"{AREA}/") for name in sorted(offered) if not name.startswith("sh/"))
    known = dict.fromkeys((*builtins, *others))
    parts = [name.replace("_", " ", 1) for name in known if name.startswith(f"{word}_")][:_MOST_PARTS]
    near = parts or difflib.get_close_matches(word[:100], known, n=3, cutoff=0.6)
    nearest = f"the nearest: {', '.join(near)}" if near else "help lists all commands, search finds them by purpose"
    return f"unknown command; {nearest}"
