"""Built-ins that change virtual files: mkdir, rmdir, rm, cp, mv, touch, tee.

For workspace files they call the sandboxed program of the same name, in one call that can be undone. Records below
/data are changed by data/* commands.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence

from doorward.backends.session.builtins.builtin import REMOVES, REPLACES, WRITES, builtin
from doorward.backends.session.builtins.options import Options, Usage
from doorward.backends.session.builtins.speaking import Speaker
from doorward.backends.vfs.asking import result_of
from doorward.backends.vfs.paths import below
from doorward.backends.vfs.records import Records
from doorward.errors import BadParams, DoorwardError, NotFound

_GROUP = "Files and folders"
_VERBOSE = "Print each action"
_QUOTED = re.compile(r"(?<=['‘])[^'’\n]{1,4096}")
_OF_CP = {
    "-r -R --recursive": "Include folders with their contents",
    "-a --archive": "Recursive, and keep modes, times and symlinks",
    "-n --no-clobber": "Do not overwrite existing files",
    "-u --update": "Overwrite only older files",
    "-v --verbose": _VERBOSE,
    "-p": "Keep modes and times",
    "-T --no-target-directory": "Treat the target as a file, not as a folder to copy into",
}


@builtin(
    "mkdir",
    "[-pv] folder…",
    ["-p", "build/out"],
    group=_GROUP,
    kind=WRITES,
    options={"-p --parents": "Create parent folders; existing folders are no error", "-v --verbose": _VERBOSE},
)
async def mkdir(speaker: Speaker, options: Options) -> None:
    """Create folders."""
    await _by_program(speaker, options)


@builtin(
    "rmdir",
    "[-pv] folder…",
    ["--ignore-fail-on-non-empty", "drafts"],
    group=_GROUP,
    kind=REPLACES,
    options={
        "-p --parents": "Also remove parent folders that become empty",
        "-v --verbose": _VERBOSE,
        "--ignore-fail-on-non-empty": "Skip folders that are not empty, without an error",
    },
)
async def rmdir(speaker: Speaker, options: Options) -> None:
    """Remove empty folders."""
    await _by_program(speaker, options)


@builtin(
    "touch",
    "[-c] [-d date] file…",
    ["empty.txt"],
    group=_GROUP,
    kind=WRITES,
    options={"-c --no-create": "Do not create files", "-d --date DATE": "Use this time instead of now"},
)
async def touch(speaker: Speaker, options: Options) -> None:
    """Create empty files, or set the times of files to now."""
    await _by_program(speaker, options)


@builtin(
    "rm",
    "[-rfdv] path…",
    ["drafts/old.md"],
    group=_GROUP,
    kind=REMOVES,
    options={
        "-r -R --recursive": "Include folders with their contents",
        "-f --force": "Ignore paths that do not exist",
        "-d --dir": "Include empty folders",
        "-v --verbose": _VERBOSE,
    },
)
async def rm(speaker: Speaker, options: Options) -> None:
    """Remove files, folders and records. When one of the records does not exist, none is removed."""
    paths = [speaker.path(word) for word in _some(options)]
    for path in paths:
        if speaker.tree.real(path) == ".":
            raise BadParams(f"{path} is the workspace and cannot be removed; rm -r {path}/* removes its contents.")
    if all(speaker.tree.real(path) is not None for path in paths):
        await _by_program(speaker, options, readies=False)
        return
    for path, word in zip(paths, options.words, strict=True):
        await _exists(speaker, path, word)
    for change in await speaker.tree.remove(paths, recursive="-r" in options):
        if "-v" in options:
            speaker.line(f"removed {change['path']!r}")


@builtin(
    "cp", "[-ranuvpT] source… target", ["server.conf", "server.conf.bak"], group=_GROUP, kind=REPLACES, options=_OF_CP
)
async def cp(speaker: Speaker, options: Options) -> None:
    """Copy files and folders; a record below /data becomes a JSON file, and a JSON file becomes a record."""
    await _copied(speaker, options, move=False)


@builtin(
    "mv",
    "[-nuvT] source… target",
    ["drafts/old.md", "drafts/older.md"],
    group=_GROUP,
    kind=REPLACES,
    options={key: told for key, told in _OF_CP.items() if key[1] in "nuvT"},
)
async def mv(speaker: Speaker, options: Options) -> None:
    """Move or rename files and folders."""
    await _copied(speaker, options, move=True)


@builtin(
    "tee",
    "[-a] file…",
    ["-a", "notes/today.md"],
    group=_GROUP,
    kind=WRITES,
    options={"-a --append": "Append instead of overwriting"},
    input="One more line.\n",
)
async def tee(speaker: Speaker, options: Options) -> None:
    """Write the piped input to virtual files, and print it."""
    for word in _some(options):
        try:
            await speaker.tree.write(speaker.path(word), speaker.piped, append="-a" in options)
        except DoorwardError as error:
            speaker.report(error, word)
    speaker.say(speaker.piped)


async def _copied(speaker: Speaker, options: Options, *, move: bool) -> None:
    if len(options.words) < 2:
        raise Usage("a source or a target is missing")
    *sources, target = (speaker.path(word) for word in options.words)
    if all(speaker.tree.real(path) is not None for path in (*sources, target)):
        await _by_program(speaker, options)
        return
    into = target
    for source, word in zip(sources, options.words, strict=False):
        await _exists(speaker, source, word)
    if len(sources) > 1 and (await speaker.tree.item(target))["kind"] != "folder":
        raise BadParams(f"{target} is not a folder, but there are {len(sources)} sources.")
    for source in sources:
        into = below(target, posixpath.basename(source)) if len(sources) > 1 else target
        for change in await speaker.tree.copy(source, into, move=move):
            if "-v" in options:
                speaker.line(f"{source!r} -> {change.get('target', into)!r}")


async def _exists(speaker: Speaker, path: str, word: str) -> None:
    try:
        await speaker.tree.item(path)
    except NotFound as error:
        raise NotFound(f"{word}: No such file or directory") from error


def _some(options: Options) -> Sequence[str]:
    if not options.words:
        raise Usage("a path is missing")
    return options.words


async def _by_program(speaker: Speaker, options: Options, *, readies: bool = True) -> None:
    """Call the sandboxed program of the same name, with paths that it understands."""
    tree = speaker.tree
    folder = tree.real(speaker.session.cwd)
    called: dict[str, str] = {}
    for word in _some(options):
        path = speaker.path(word)
        real = tree.real(path)
        if real is None:
            mount, parts = tree.part(path)
            if isinstance(mount, Records):
                raise BadParams(f"{path} is a record, not a file; change it with insert, update and delete.")
            raise mount.fixed(parts, "changed in this way")
        if readies:
            await tree.ready(path)
        ending = "/" if word.endswith("/") and real != "." else ""
        called[word if _plain(word) and folder is not None else _from(folder or ".", real) + ending] = word
    if folder not in (None, "."):
        await tree.ready(speaker.session.cwd)
    values = [f"{name}={value}" if name.startswith("--") else name + value for name, value in options.values.items()]
    words = [*sorted(options.flags), *values, "--", *called]
    await hand_on(speaker, f"shell/{speaker.word}", {"arguments": words, "folder": folder or "."}, called)


def _plain(word: str) -> bool:
    """Whether a path means the same in the virtual folder and in the workspace folder behind it."""
    return not word.startswith(("/", "~")) and ".." not in word.split("/")


def _from(folder: str, real: str) -> str:
    return real if folder == "." else posixpath.relpath(real, folder)


async def hand_on(speaker: Speaker, command: str, params: Mapping[str, object], called: Mapping[str, str]) -> None:
    """Run a program by an inner call and pass on its output, with paths as they were typed."""
    outcome = await speaker.ctx.house.ask(speaker.ctx.call, command, params)
    ran = outcome.result if isinstance(outcome.result, dict) else {}
    if outcome.status in ("done", "failed") and isinstance(ran.get("exitCode"), int):
        speaker.say(ran.get("stdout", ""))
        speaker.repeat(renamed(ran.get("stderr", ""), called))
        speaker.ends(ran["exitCode"])
    else:
        result_of(outcome)


def renamed(text: str, called: Mapping[str, str]) -> str:
    """Replace quoted paths, or their beginnings, by the typed ones, in a single pass over the text."""
    lengths = {len(given) for given in called}

    def typed(found: re.Match[str]) -> str:
        path = found[0]
        for end in range(len(path), 0, -1):
            whole = path[end - 1] == "/" or path[end : end + 1] in ("", "/")
            if whole and end in lengths and path[:end] in called:
                return called[path[:end]] + path[end:]
        return path

    return _QUOTED.sub(typed, text)
