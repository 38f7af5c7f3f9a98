"""Built-ins that read virtual files: ls, ll, cat, stat, tree."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

from doorward.backends.session.builtins.builtin import builtin
from doorward.backends.session.builtins.options import Options, Usage
from doorward.backends.session.builtins.showing import human, in_columns, shown, when
from doorward.backends.session.builtins.speaking import Speaker
from doorward.backends.vfs.drawing import drawn
from doorward.backends.vfs.mount import FIXED, Look, Span
from doorward.backends.vfs.shapes import Item
from doorward.backends.vfs.tree import MOST_LINES
from doorward.backends.vfs.walking import walked
from doorward.errors import BadParams, DoorwardError

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
_ORDERS: dict[str, Callable[[Item], tuple[int | str, str]]] = {
    "-t": lambda one: (one.get("modified", ""), one["name"]),
    "-S": lambda one: (one.get("size", 0), one["name"]),
}


@builtin("ls", "[-alhRtSr1dF] [path…]", ["/workspace"], group=_GROUP, options=_LS, says="what is in the workspace")
async def ls(speaker: Speaker, options: Options) -> None:
    """List files and folders of the virtual tree, by name.

    With -l, the first column shows the kind of each entry and whether you may read and write it here.
    """
    await _listed(speaker, options)


@builtin("ll", "[path…]", ["/workspace"], group=_GROUP, options=_LS)
async def ll(speaker: Speaker, options: Options) -> None:
    """List files and folders with sizes and times: ls -lh."""
    await _listed(speaker, Options(options.flags | {"-l", "-h"}, options.values, options.words))


@builtin(
    "cat",
    "[-n] [file…]",
    ["/system/version"],
    group=_GROUP,
    options={"-n --number": "Number the lines"},
    also=["less", "more"],
)
async def cat(speaker: Speaker, options: Options) -> None:
    """Print virtual files one after another; - is the piped input."""
    number = 1
    for word in options.words or ("-",):
        try:
            text = speaker.piped if word == "-" else await _text(speaker, word)
        except DoorwardError as error:
            await _complain(speaker, word, error)
            continue
        if "-n" not in options:
            speaker.say(text)
            continue
        if speaker.full:
            return
        for line in text.splitlines(keepends=True):
            speaker.say(f"{number:>6}\t{line}")
            number += 1


@builtin("stat", "path…", ["/workspace"], group=_GROUP)
async def stat(speaker: Speaker, options: Options) -> None:
    """Show the kind, size and time of the last change of paths and, for workspace files, mode and digest."""
    if not options.words:
        raise Usage("a path is missing")
    for word in options.words:
        try:
            found = await speaker.tree.item(speaker.path(word))
        except DoorwardError as error:
            speaker.report(error, word)
            continue
        for key, value in found.items():
            if key != "name":
                speaker.line(f"{key:>10}: {shown(str(value))}")


@builtin(
    "tree",
    "[-ad] [-L depth] [folder]",
    ["/workspace"],
    group=_GROUP,
    options={"-a": "Include hidden names", "-d": "Only folders", "-L DEPTH": "Maximum depth"},
)
async def tree(speaker: Speaker, options: Options) -> None:
    """Draw a folder as a tree."""
    if len(options.words) > 1:
        raise Usage("it takes one folder")
    start = speaker.path(options.words[0] if options.words else ".")
    met = await walked(speaker.tree, start, hidden="-a" in options)
    items = [one for one in met.items if one["kind"] == "folder" or "-d" not in options]
    deep = options.number("-L", 50, least=1, most=50)
    root = start.rstrip("/")
    items = [one for one in items if one["path"][len(root) :].count("/") <= deep]
    text, cut = drawn(start, items, deep, _MOST)
    speaker.say(text)
    folders = sum(one["kind"] == "folder" for one in items)
    speaker.line(f"\n{folders} folders, {len(items) - folders} files")
    if cut or met.cut:
        speaker.remark(met.note or f"only the first {_MOST} lines are shown")


async def _text(speaker: Speaker, word: str) -> str:
    content = await speaker.tree.read(speaker.path(word), Span(limit=MOST_LINES))
    if content["cut"]:
        speaker.complain(f"{word}: only the first {MOST_LINES} lines are shown")
    return content["content"]


async def _complain(speaker: Speaker, word: str, error: DoorwardError) -> None:
    """Report why a file could not be read, with the usual message for a folder."""
    if isinstance(error, BadParams):
        with contextlib.suppress(DoorwardError):
            if (await speaker.tree.item(speaker.path(word)))["kind"] == "folder":
                speaker.complain(f"{word}: Is a directory")
                return
    speaker.report(error, word)


async def _listed(speaker: Speaker, options: Options) -> None:
    words = options.words or (".",)
    alone: list[Item] = []
    folders: list[tuple[str, list[Item]]] = []
    for word in words:
        try:
            await _look(speaker, options, word, alone, folders)
        except DoorwardError as error:
            speaker.report(error, f"cannot access {shown(word)!r}")
    blocks = [_block(speaker, options, alone)] if alone else []
    headed = len(words) > 1 or "-R" in options
    for name, items in folders:
        blocks.append((f"{shown(name)}:\n" if headed else "") + _block(speaker, options, items))
    speaker.say("\n".join(blocks))


async def _look(
    speaker: Speaker, options: Options, word: str, alone: list[Item], folders: list[tuple[str, list[Item]]]
) -> None:
    path = speaker.path(word)
    hidden = "-a" in options or "-A" in options
    if "-d" in options:
        alone.append({**await speaker.tree.item(path), "name": word})
        return
    if "-R" in options:
        met = await walked(speaker.tree, path, hidden=hidden)
        folders += _by_folder(path, word, met.items)
        if met.cut:
            speaker.remark(met.note)
        return
    given = await speaker.tree.items(path, Look(limit=_MOST, hidden=hidden))
    if given["note"]:
        speaker.remark(f"{word}: {given['note']}")
    if len(given["items"]) == 1 and given["items"][0]["path"] == path:
        alone.append({**given["items"][0], "name": word})
    else:
        folders.append((word, given["items"]))


def _by_folder(start: str, word: str, items: Sequence[Item]) -> list[tuple[str, list[Item]]]:
    inside: dict[str, list[Item]] = {start: []}
    for one in items:
        inside.setdefault(one["path"].rpartition("/")[0] or "/", []).append(one)
        if one["kind"] == "folder":
            inside.setdefault(one["path"], [])
    return [(word.rstrip("/") + path[len(start) :], inside[path]) for path in sorted(inside)]


def _block(speaker: Speaker, options: Options, items: Sequence[Item]) -> str:
    items = sorted(items, key=lambda one: one["name"])
    for flag, order in _ORDERS.items():
        if flag in options:
            items = sorted(items, key=order, reverse=True)
    if "-r" in options:
        items = list(reversed(items))
    marks = "-F" in options or "-p" in options
    names = [shown(one["name"]) + ("/" if marks and one["kind"] == "folder" else "") for one in items]
    if "-l" not in options:
        return in_columns(names, 0 if "-1" in options else speaker.columns)
    now = speaker.ctx.house.clock.now()
    sizes = ["-" if "size" not in one else human(one["size"]) if "-h" in options else str(one["size"]) for one in items]
    widest = max((len(size) for size in sizes), default=0)
    lines = [
        f"{_may(speaker, one)}  {size:>{widest}}  {when(one.get('modified', ''), now):<12}  {name}\n"
        for one, size, name in zip(items, sizes, names, strict=True)
    ]
    return "".join(lines)


def _may(speaker: Speaker, one: Item) -> str:
    """The permissions column: the letter of the kind, r, and w if the caller may write it here."""
    area = one["path"].split("/")[1]
    change = {"data": "data/update", "workspace": "file/write", "tmp": "file/write", "home": "file/write"}.get(area)
    fixed = one.get("note", "").startswith(FIXED)
    writable = change is not None and not fixed and speaker.ctx.may(change).allowed
    letter = {"folder": "d", "symlink": "l", "file": "-"}.get(one["kind"], "?")
    return f"{letter}r{'w' if writable else '-'}"
