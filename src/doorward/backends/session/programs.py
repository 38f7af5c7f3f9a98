"""Prepare the arguments of a sandboxed program: virtual paths become paths of the workspace.

A program sees only the workspace. Paths below /workspace, /tmp and the caller's home are files there; a record or any
other virtual file can only be passed as standard input.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from doorward.backends.session.called import StageFault
from doorward.backends.session.session import Session
from doorward.backends.shell.catalogue_command import CatalogueCommand
from doorward.backends.vfs.paths import absolute
from doorward.catalogue import words
from doorward.catalogue.entry import ARGUMENTS, FOLDER, INPUT, Entry, Parameter
from doorward.errors import BadParams

_WORKSPACE = "/workspace"
_TEMPORARY = "/tmp"  # noqa: S108 - a name in our own tree
_INPUT = "-"
_COUNTS = {"head": "-n", "tail": "-n", "git_log": "-n"}
"""Programs that accept a number as an option, as in `head -5`, and the option that it stands for."""
_ANYWHERE = frozenset(("git_log",))
"""Programs that accept it after other words too: `git log --oneline -3`."""
_COUNT = re.compile(r"-[0-9]{1,9}")


class Prepared(msgspec.Struct, frozen=True):
    params: dict[str, Any]
    feed: str = ""
    """The virtual file to pass as standard input."""


def prepare(command: CatalogueCommand, session: Session, given: Sequence[str], piped: str | None) -> Prepared:
    """The parameters of a program for the typed words. The gate refuses words that do not fit its entry."""
    entry = command.entry
    if piped and not entry.input:
        raise StageFault("it does not read standard input; remove the pipe, or name a file")
    given = _spelt_out(entry.name, given)
    here = in_workspace(session.cwd, session)
    params: dict[str, Any] = {ARGUMENTS: list(given), FOLDER: here or "."}
    if piped is not None and entry.input:
        params[INPUT] = piped
    try:
        typed = words.read(entry, given)
        found = list(_paths(entry, typed, session))
    except BadParams:
        return Prepared(params)
    if here is None and not entry.input and any(one.type == "path" for one in entry.arguments) and not found:
        raise StageFault(f"it works on workspace files, but the folder is {session.cwd}; cd /workspace, or name files")
    if not any(one.moved or one.place is None for one in found):
        return Prepared(params)
    feed = _fed(entry, [one for one in found if one.given != _INPUT], piped)
    del params[ARGUMENTS]
    params |= _rewritten(typed, found)
    return Prepared(params, feed)


def _spelt_out(name: str, given: Sequence[str]) -> Sequence[str]:
    """Replace a number such as `-5` by the option that it stands for."""
    option = _COUNTS.get(name)
    last = given.index("--") if "--" in given else len(given)
    among = given[: last if name in _ANYWHERE else 1] if option else ()
    place = next((place for place, word in enumerate(among) if _COUNT.fullmatch(word)), None)
    if option is None or place is None:
        return given
    return [*given[:place], option, given[place][1:], *given[place + 1 :]]


def in_workspace(path: str, session: Session) -> str | None:
    """The path below the workspace of a virtual path, `.` for the workspace itself; None for other paths."""
    for top, below in ((_WORKSPACE, ""), (session.home, session.home[1:]), (_TEMPORARY, "tmp")):
        if path == top:
            return below or "."
        if path.startswith(f"{top}/"):
            rest = path[len(top) + 1 :]
            return f"{below}/{rest}" if below else rest
    return None


class _Path(msgspec.Struct, frozen=True):
    parameter: Parameter
    given: str
    whole: str
    """The absolute path in the virtual tree."""
    place: str | None
    """The path below the workspace; None when it is elsewhere."""
    moved: bool
    """Whether the program needs another path than the typed one."""


def _paths(entry: Entry, typed: Mapping[str, Any], session: Session) -> Iterator[_Path]:
    here = in_workspace(session.cwd, session)
    for one in entry.parameters:
        if one.type != "path" or one.name not in typed:
            continue
        for given in typed[one.name] if one.many else [typed[one.name]]:
            if given == _INPUT and entry.input and not one.is_option:
                yield _Path(one, given, given, None, moved=False)
                continue
            whole = absolute(given, session.cwd, session.home)
            place = in_workspace(whole, session)
            as_typed = here is not None and (not given.startswith(("/", "~/")) or given.startswith(_WORKSPACE))
            yield _Path(one, given, whole, place, moved=place is not None and not as_typed)


def _fed(entry: Entry, found: Sequence[_Path], piped: str | None) -> str:
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


def _rewritten(typed: Mapping[str, Any], found: Sequence[_Path]) -> dict[str, Any]:
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
