"""Built-ins that read virtual files: ls, ll, cat, stat, tree."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

from doorward.core.errors import BadParams, DoorwardError
from doorward.shell.builtins.builtin import builtin
from doorward.shell.builtins.formatting import escape_name, format_columns, format_size, format_time
from doorward.shell.builtins.options import BuiltinOptions, UsageError
from doorward.shell.builtins.run import BuiltinRun
from doorward.shell.vfs.mount import READ_ONLY_NOTE, ListOptions, ReadSpan
from doorward.shell.vfs.schema import VirtualFile
from doorward.shell.vfs.traversal import draw_tree, walk_tree
from doorward.shell.vfs.tree import MAX_LINES

_GROUP = "Files and folders"
_MOST = 10_000
_LS = {
    "-a --all": "Include names that start with a dot",
    "-A --almost-all": "Same as -a",
    "-l": "Show your permissions, the size and the time of each entry",
    "-h --human-readable": "Show sizes such as 1.5K",
    "-R --recursive": "Include the folders below",
    "-t": "Newest first",
    "-S": "Largest first",
    "-r --reverse": "Reverse the order",
    "-1": "One name per line",
    "-d --directory": "List folders themselves, not their contents",
    "-F --classify": "Append a slash to folders",
    "-p": "Same as -F",
}
_ORDERS: dict[str, Callable[[VirtualFile], tuple[int | str, str]]] = {
    "-t": lambda one: (one.get("modified", ""), one["name"]),
    "-S": lambda one: (one.get("size", 0), one["name"]),
}


@builtin("ls", "[-alhRtSr1dF] [path…]", ["/workspace"], group=_GROUP, options=_LS, says="what is in the workspace")
async def ls(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """List files and folders of the virtual tree, by name.

    With -l, the first column shows the kind of each entry and whether you may read and write it here.
    """
    await _list(speaker, options)


@builtin("ll", "[path…]", ["/workspace"], group=_GROUP, options=_LS)
async def ll(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """List files and folders with sizes and times: ls -lh."""
    await _list(speaker, BuiltinOptions(options.flags | {"-l", "-h"}, options.values, options.words))


@builtin(
    "cat",
    "[-n] [file…]",
    ["/system/version"],
    group=_GROUP,
    options={"-n --number": "Number the lines"},
    also=["less", "more"],
)
async def cat(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Print virtual files one after another; - is the piped input."""
    number = 1
    for word in options.words or ("-",):
        try:
            text = speaker.piped if word == "-" else await _read_text(speaker, word)
        except DoorwardError as error:
            await _report_unreadable(speaker, word, error)
            continue
        if "-n" not in options:
            speaker.write(text)
            continue
        if speaker.is_full:
            return
        for line in text.splitlines(keepends=True):
            speaker.write(f"{number:>6}\t{line}")
            number += 1


@builtin("stat", "path…", ["/workspace"], group=_GROUP)
async def stat(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Show the kind, size and time of the last change of paths and, for workspace files, mode and digest."""
    if not options.words:
        raise UsageError("a path is missing")
    for word in options.words:
        try:
            found = await speaker.tree.item(speaker.absolute_path(word))
        except DoorwardError as error:
            speaker.report_error(error, word)
            continue
        for key, value in found.items():
            if key != "name":
                speaker.write_line(f"{key:>10}: {escape_name(str(value))}")


@builtin(
    "tree",
    "[-ad] [-L depth] [folder]",
    ["/workspace"],
    group=_GROUP,
    options={"-a": "Include hidden names", "-d": "Only folders", "-L DEPTH": "Maximum depth"},
)
async def tree(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Draw a folder as a tree."""
    if len(options.words) > 1:
        raise UsageError("it takes one folder")
    start = speaker.absolute_path(options.words[0] if options.words else ".")
    met = await walk_tree(speaker.tree, start, hidden="-a" in options)
    items = [one for one in met.items if one["kind"] == "folder" or "-d" not in options]
    deep = options.number("-L", 50, least=1, most=50)
    root = start.rstrip("/")
    items = [one for one in items if one["path"][len(root) :].count("/") <= deep]
    text, cut = draw_tree(start, items, deep, _MOST)
    speaker.write(text)
    folders = sum(one["kind"] == "folder" for one in items)
    speaker.write_line(f"\n{folders} folders, {len(items) - folders} files")
    if cut or met.cut:
        speaker.write_note(met.note or f"only the first {_MOST} lines are shown")


async def _read_text(speaker: BuiltinRun, word: str) -> str:
    content = await speaker.tree.read(speaker.absolute_path(word), ReadSpan(limit=MAX_LINES))
    if content["cut"]:
        speaker.write_error(f"{word}: only the first {MAX_LINES} lines are shown")
    return content["content"]


async def _report_unreadable(speaker: BuiltinRun, word: str, error: DoorwardError) -> None:
    """Report why a file could not be read, with the usual message for a folder."""
    if isinstance(error, BadParams):
        with contextlib.suppress(DoorwardError):
            if (await speaker.tree.item(speaker.absolute_path(word)))["kind"] == "folder":
                speaker.write_error(f"{word}: Is a directory")
                return
    speaker.report_error(error, word)


async def _list(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    words = options.words or (".",)
    alone: list[VirtualFile] = []
    folders: list[tuple[str, list[VirtualFile]]] = []
    for word in words:
        try:
            await _collect(speaker, options, word, alone, folders)
        except DoorwardError as error:
            speaker.report_error(error, f"cannot access {escape_name(word)!r}")
    blocks = [_format_items(speaker, options, alone)] if alone else []
    headed = len(words) > 1 or "-R" in options
    for name, items in folders:
        blocks.append((f"{escape_name(name)}:\n" if headed else "") + _format_items(speaker, options, items))
    speaker.write("\n".join(blocks))


async def _collect(
    speaker: BuiltinRun,
    options: BuiltinOptions,
    word: str,
    alone: list[VirtualFile],
    folders: list[tuple[str, list[VirtualFile]]],
) -> None:
    path = speaker.absolute_path(word)
    hidden = "-a" in options or "-A" in options
    if "-d" in options:
        alone.append({**await speaker.tree.item(path), "name": word})
        return
    if "-R" in options:
        met = await walk_tree(speaker.tree, path, hidden=hidden)
        folders += _group_by_folder(path, word, met.items)
        if met.cut:
            speaker.write_note(met.note)
        return
    given = await speaker.tree.items(path, ListOptions(limit=_MOST, hidden=hidden))
    if given["note"]:
        speaker.write_note(f"{word}: {given['note']}")
    if len(given["items"]) == 1 and given["items"][0]["path"] == path:
        alone.append({**given["items"][0], "name": word})
    else:
        folders.append((word, given["items"]))


def _group_by_folder(start: str, word: str, items: Sequence[VirtualFile]) -> list[tuple[str, list[VirtualFile]]]:
    inside: dict[str, list[VirtualFile]] = {start: []}
    for one in items:
        inside.setdefault(one["path"].rpartition("/")[0] or "/", []).append(one)
        if one["kind"] == "folder":
            inside.setdefault(one["path"], [])
    return [(word.rstrip("/") + path[len(start) :], inside[path]) for path in sorted(inside)]


def _format_items(speaker: BuiltinRun, options: BuiltinOptions, items: Sequence[VirtualFile]) -> str:
    items = sorted(items, key=lambda one: one["name"])
    for flag, order in _ORDERS.items():
        if flag in options:
            items = sorted(items, key=order, reverse=True)
    if "-r" in options:
        items = list(reversed(items))
    marks = "-F" in options or "-p" in options
    names = [escape_name(one["name"]) + ("/" if marks and one["kind"] == "folder" else "") for one in items]
    if "-l" not in options:
        return format_columns(names, 0 if "-1" in options else speaker.columns)
    now = speaker.ctx.services.clock.now()
    sizes = [
        "-" if "size" not in one else format_size(one["size"]) if "-h" in options else str(one["size"]) for one in items
    ]
    widest = max((len(size) for size in sizes), default=0)
    lines = [
        f"{_permissions(speaker, one)}  {size:>{widest}}  {format_time(one.get('modified', ''), now):<12}  {name}\n"
        for one, size, name in zip(items, sizes, names, strict=True)
    ]
    return "".join(lines)


def _permissions(speaker: BuiltinRun, one: VirtualFile) -> str:
    """The permissions column: the letter of the kind, r, and w if the caller may write it here."""
    area = one["path"].split("/")[1]
    change = {"data": "data/update", "workspace": "file/write", "tmp": "file/write", "home": "file/write"}.get(area)
    fixed = one.get("note", "").startswith(READ_ONLY_NOTE)
    writable = change is not None and not fixed and speaker.ctx.get_ruling(change).allowed
    letter = {"folder": "d", "symlink": "l", "file": "-"}.get(one["kind"], "?")
    return f"{letter}r{'w' if writable else '-'}"
