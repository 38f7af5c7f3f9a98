"""Built-ins that change virtual files: mkdir, rmdir, rm, cp, mv, touch, tee.

For workspace files they call the sandboxed program of the same name, in one call that can be undone. Records below
/data are changed by data/* commands.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence

from doorward.core.errors import BadParams, DoorwardError, NotFound
from doorward.shell.builtins.builtin import REMOVES, REPLACES, WRITES, builtin
from doorward.shell.builtins.options import BuiltinOptions, UsageError
from doorward.shell.builtins.run import BuiltinRun
from doorward.shell.vfs.data_mount import DataMount
from doorward.shell.vfs.inner_calls import unwrap_outcome
from doorward.shell.vfs.paths import join_path

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
async def mkdir(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Create folders."""
    await _call_program(speaker, options)


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
async def rmdir(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Remove empty folders."""
    await _call_program(speaker, options)


@builtin(
    "touch",
    "[-c] [-d date] file…",
    ["empty.txt"],
    group=_GROUP,
    kind=WRITES,
    options={"-c --no-create": "Do not create files", "-d --date DATE": "Use this time instead of now"},
)
async def touch(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Create empty files, or set the times of files to now."""
    await _call_program(speaker, options)


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
async def rm(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Remove files, folders and records. When one of the records does not exist, none is removed."""
    paths = [speaker.absolute_path(word) for word in _require_words(options)]
    for path in paths:
        if speaker.tree.workspace_path(path) == ".":
            raise BadParams(f"{path} is the workspace and cannot be removed; rm -r {path}/* removes its contents.")
    if all(speaker.tree.workspace_path(path) is not None for path in paths):
        await _call_program(speaker, options, readies=False)
        return
    for path, word in zip(paths, options.words, strict=True):
        await _check_exists(speaker, path, word)
    for change in await speaker.tree.remove(paths, recursive="-r" in options):
        if "-v" in options:
            speaker.write_line(f"removed {change['path']!r}")


@builtin(
    "cp", "[-ranuvpT] source… target", ["server.conf", "server.conf.bak"], group=_GROUP, kind=REPLACES, options=_OF_CP
)
async def cp(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Copy files and folders; a record below /data becomes a JSON file, and a JSON file becomes a record."""
    await _copy(speaker, options, move=False)


@builtin(
    "mv",
    "[-nuvT] source… target",
    ["drafts/old.md", "drafts/older.md"],
    group=_GROUP,
    kind=REPLACES,
    options={key: told for key, told in _OF_CP.items() if key[1] in "nuvT"},
)
async def mv(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Move or rename files and folders."""
    await _copy(speaker, options, move=True)


@builtin(
    "tee",
    "[-a] file…",
    ["-a", "notes/today.md"],
    group=_GROUP,
    kind=WRITES,
    options={"-a --append": "Append instead of overwriting"},
    input="One more line.\n",
)
async def tee(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Write the piped input to virtual files, and print it."""
    for word in _require_words(options):
        try:
            await speaker.tree.write(speaker.absolute_path(word), speaker.piped, append="-a" in options)
        except DoorwardError as error:
            speaker.report_error(error, word)
    speaker.write(speaker.piped)


async def _copy(speaker: BuiltinRun, options: BuiltinOptions, *, move: bool) -> None:
    if len(options.words) < 2:
        raise UsageError("a source or a target is missing")
    *sources, target = (speaker.absolute_path(word) for word in options.words)
    if all(speaker.tree.workspace_path(path) is not None for path in (*sources, target)):
        await _call_program(speaker, options)
        return
    into = target
    for source, word in zip(sources, options.words, strict=False):
        await _check_exists(speaker, source, word)
    if len(sources) > 1 and (await speaker.tree.item(target))["kind"] != "folder":
        raise BadParams(f"{target} is not a folder, but there are {len(sources)} sources.")
    for source in sources:
        into = join_path(target, posixpath.basename(source)) if len(sources) > 1 else target
        for change in await speaker.tree.copy(source, into, move=move):
            if "-v" in options:
                speaker.write_line(f"{source!r} -> {change.get('target', into)!r}")


async def _check_exists(speaker: BuiltinRun, path: str, word: str) -> None:
    try:
        await speaker.tree.item(path)
    except NotFound as error:
        raise NotFound(f"{word}: No such file or directory") from error


def _require_words(options: BuiltinOptions) -> Sequence[str]:
    if not options.words:
        raise UsageError("a path is missing")
    return options.words


async def _call_program(speaker: BuiltinRun, options: BuiltinOptions, *, readies: bool = True) -> None:
    """Call the sandboxed program of the same name, with paths that it understands."""
    tree = speaker.tree
    folder = tree.workspace_path(speaker.session.cwd)
    called: dict[str, str] = {}
    for word in _require_words(options):
        path = speaker.absolute_path(word)
        real = tree.workspace_path(path)
        if real is None:
            mount, parts = tree.require_mount(path)
            if isinstance(mount, DataMount):
                raise BadParams(f"{path} is a record, not a file; change it with insert, update and delete.")
            raise mount.read_only_error(parts, "changed in this way")
        if readies:
            await tree.ensure_folder(path)
        ending = "/" if word.endswith("/") and real != "." else ""
        called[word if _is_relative(word) and folder is not None else _relative_path(folder or ".", real) + ending] = (
            word
        )
    if folder not in (None, "."):
        await tree.ensure_folder(speaker.session.cwd)
    values = [f"{name}={value}" if name.startswith("--") else name + value for name, value in options.values.items()]
    words = [*sorted(options.flags), *values, "--", *called]
    await run_program(speaker, f"shell/{speaker.word}", {"arguments": words, "folder": folder or "."}, called)


def _is_relative(word: str) -> bool:
    """Whether a path means the same in the virtual folder and in the workspace folder behind it."""
    return not word.startswith(("/", "~")) and ".." not in word.split("/")


def _relative_path(folder: str, real: str) -> str:
    return real if folder == "." else posixpath.relpath(real, folder)


async def run_program(
    speaker: BuiltinRun, command: str, params: Mapping[str, object], called: Mapping[str, str]
) -> None:
    """Run a program by an inner call and pass on its output, with paths as they were typed."""
    outcome = await speaker.ctx.services.run_nested(speaker.ctx.call, command, params)
    ran = outcome.result if isinstance(outcome.result, dict) else {}
    if outcome.status in ("done", "failed") and isinstance(ran.get("exitCode"), int):
        speaker.write(ran.get("stdout", ""))
        speaker.write_stderr(restore_typed_paths(ran.get("stderr", ""), called))
        speaker.set_exit_code(ran["exitCode"])
    else:
        unwrap_outcome(outcome)


def restore_typed_paths(text: str, called: Mapping[str, str]) -> str:
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
