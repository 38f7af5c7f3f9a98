"""File name patterns, matched against the virtual files that the caller may list.

`*`, `?` and `[…]` match within one name, `**` matches any folders. A pattern without a match stays as it was typed, as
in other shells. A pattern that would have to scan too much is refused instead of giving a partial result.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence

import msgspec

from doorward.commands.context import Context
from doorward.shell import file_access
from doorward.shell.results import StageFault
from doorward.shell.vfs.paths import normalize_path

MAX_FOLDERS = 100
MAX_NAMES = 10_000
_LONGEST = 500
_DEEPEST = 50
"""Limits, because the cost of compiling a long pattern and matching a deep one grows faster than its length."""
_SIGNS = re.compile(r"[*?\[]")

Segment = tuple[str, bool]
"""A piece of a word, and whether `*`, `?` and `[` in it are pattern characters."""


class _PatternName(msgspec.Struct, frozen=True):
    """The text between two slashes."""

    text: str
    pattern: str
    """The text for `fnmatch`, with literal pattern characters escaped."""
    active: bool

    @property
    def hidden(self) -> bool:
        return self.text.startswith(".")


_MOUNT_PARENTS = ("", "/home")
"""Folders that contain only mounts, each of which is listed separately."""


def is_pattern(segments: Sequence[Segment]) -> bool:
    return any(active and _SIGNS.search(text) for text, active in segments)


async def match_glob(ctx: Context, cwd: str, segments: Sequence[Segment]) -> list[str]:
    """The paths that a pattern matches, as they would be typed, in order."""
    names = _split_names(segments)
    typed = "".join(text for text, _ in segments)
    if len(names) > _DEEPEST or any(one.active and len(one.pattern) > _LONGEST for one in names):
        most = f"{_LONGEST} characters in each of at most {_DEEPEST} names"
        raise StageFault(f"a pattern has at most {most}; put text that is not a pattern in quotes", 1)
    first = next(place for place, one in enumerate(names) if one.active)
    before = "/".join(one.text for one in names[:first])
    prefix = f"{before}/" if first else ""
    base = normalize_path(prefix, cwd) if prefix else cwd
    rest = [one for one in names[first:] if one.text]
    folders = typed.endswith("/")
    if any(one.pattern == "**" for one in rest):
        if base.rstrip("/") in _MOUNT_PARENTS:
            raise StageFault(
                f"{typed}: ** works below one top-level folder, as in /workspace/**; use it there, or use find", 1
            )
        found = await _match_any_depth(ctx, base, rest, folders=folders)
    else:
        found = await _match_levels(ctx, base, rest, folders=folders)
    if len(found) > MAX_NAMES:
        raise StageFault(f"{typed} matches {len(found)} names; the maximum is {MAX_NAMES}; use find instead", 1)
    slash = "/" if folders else ""
    return [_typed_path(prefix, base, path) + slash for path in sorted(found)]


def _split_names(segments: Sequence[Segment]) -> list[_PatternName]:
    names: list[_PatternName] = []
    text, pattern, active = "", "", False
    for piece, means in segments:
        for place, part in enumerate(piece.split("/")):
            if place:
                names.append(_PatternName(text, pattern, active))
                text, pattern, active = "", "", False
            text += part
            pattern += part if means else _SIGNS.sub(lambda sign: f"[{sign[0]}]", part)
            active = active or (means and _SIGNS.search(part) is not None)
    return [*names, _PatternName(text, pattern, active)]


async def _match_levels(ctx: Context, base: str, names: Sequence[_PatternName], *, folders: bool) -> list[str]:
    reached, looked = [base], 0
    for place, name in enumerate(names):
        fits = re.compile(fnmatch.translate(name.pattern)).match
        only_folders = folders or place < len(names) - 1
        deeper: list[str] = []
        for folder in reached:
            looked += 1
            if looked > MAX_FOLDERS:
                raise StageFault(f"the pattern has to list more than {MAX_FOLDERS} folders; use find instead", 1)
            for path, is_folder in await file_access.list_names(
                ctx, folder, recursive=False, hidden=name.hidden, most=MAX_NAMES
            ):
                own = path.rpartition("/")[2]
                if fits(own) and own.startswith(".") == name.hidden and (is_folder or not only_folders):
                    deeper.append(path)
        reached = deeper
    return reached


async def _match_any_depth(ctx: Context, base: str, names: Sequence[_PatternName], *, folders: bool) -> list[str]:
    hidden = any(one.hidden for one in names)
    start = len(base.rstrip("/")) + 1
    listed = await file_access.list_names(ctx, base, recursive=True, hidden=hidden, most=MAX_NAMES)
    patterns = [None if one.pattern == "**" else re.compile(fnmatch.translate(one.pattern)) for one in names]
    fitting = (one for one in listed if _path_matches(one[0][start:].split("/"), names, patterns))
    return [path for path, is_folder in fitting if is_folder or not folders]


def _path_matches(
    parts: Sequence[str], names: Sequence[_PatternName], patterns: Sequence[re.Pattern[str] | None]
) -> bool:
    """Whether a path matches. For each name, it tracks how many patterns may have been consumed so far."""
    reached = {0}
    for part in parts:
        _skip_double_stars(reached, patterns)
        after = set()
        for place in reached:
            if place == len(names) or part.startswith(".") != names[place].hidden:
                continue
            pattern = patterns[place]
            if pattern is None:
                after |= {place, place + 1}
            elif pattern.match(part):
                after.add(place + 1)
        reached = after
    return len(names) in reached


def _skip_double_stars(reached: set[int], patterns: Sequence[re.Pattern[str] | None]) -> None:
    """`**` also matches no folder at all."""
    for place, pattern in enumerate(patterns):
        if pattern is None and place in reached:
            reached.add(place + 1)


def _typed_path(prefix: str, base: str, path: str) -> str:
    own = path[len(base.rstrip("/")) + 1 :]
    if prefix:
        return prefix + own
    return f"./{own}" if own.startswith("-") else own
