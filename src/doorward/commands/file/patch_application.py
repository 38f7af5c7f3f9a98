"""Applies the hunks of a patch to the content of a file. Every line must match exactly."""

from __future__ import annotations

from collections.abc import Sequence

from doorward.commands.file.patch_parser import FilePatch, Hunk
from doorward.commands.file.text import decode_text, split_lines
from doorward.core.errors import Conflict, NotFound

_PLACES_SHOWN = 10
_LONGEST_LINE = 160


def apply_patch(patch: FilePatch, present: bytes | None) -> bytes | None:
    """The content of the file after the patch; None when the patch deletes it."""
    if patch.action == "add":
        if present is not None:
            raise Conflict(f"The patch adds {patch.path!r}, but this file exists already. Nothing was changed.")
        return "".join(line for hunk in patch.hunks for line in hunk.new).encode()
    if present is None:
        raise NotFound(f"The patch changes {patch.path!r}, but there is no such file. Nothing was changed.")
    if patch.action == "delete" and not patch.hunks:
        return None
    text = decode_text(present, patch.path)
    windows = "\r\n" in text and text.count("\r\n") == text.count("\n")
    lines = split_lines(text.replace("\r\n", "\n") if windows else text)
    if not patch.exact_end and lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    made: list[str] = []
    done = 0
    for number, hunk in enumerate(patch.hunks, 1):
        start = _find_hunk(patch, number, hunk, lines, done)
        made += [*lines[done:start], *hunk.new]
        done = start + len(hunk.old)
    made += lines[done:]
    if patch.action == "delete":
        if made:
            raise Conflict(
                f"The patch deletes {patch.path!r}, but {len(made)} lines of it are not in the patch. "
                "Nothing was changed."
            )
        return None
    new = "".join(made)
    return (new.replace("\n", "\r\n") if windows else new).encode()


def _find_hunk(patch: FilePatch, number: int, hunk: Hunk, lines: Sequence[str], done: int) -> int:
    """The index of the line where the hunk begins, at or after `done`."""
    for anchor in hunk.anchors:
        found = next((n for n in range(done, len(lines)) if lines[n].strip() == anchor), None)
        if found is None:
            raise _fail(patch, number, f"the line {anchor[:_LONGEST_LINE]!r} does not occur after line {done}")
        done = found + 1
    size = len(hunk.old)
    if hunk.line is not None:
        stated = hunk.line if not size else hunk.line - 1
        if stated >= done and tuple(lines[stated : stated + size]) == hunk.old and stated <= len(lines):
            return stated
    if not size:
        return done if hunk.anchors else len(lines)
    places = [n for n in range(done, len(lines) - size + 1) if tuple(lines[n : n + size]) == hunk.old]
    if hunk.at_end:
        places = [n for n in places if n + size == len(lines)]
    if not places:
        raise _fail(patch, number, _describe_mismatch(hunk, lines, done))
    if len(places) > 1 and not hunk.anchors:
        shown = ", ".join(str(n + 1) for n in places[:_PLACES_SHOWN])
        more = " and more" if len(places) > _PLACES_SHOWN else ""
        raise _fail(patch, number, f"its lines occur {len(places)} times, at lines {shown}{more}; give more context")
    return places[0]


def _describe_mismatch(hunk: Hunk, lines: Sequence[str], done: int) -> str:
    """The place where most of the hunk's first lines match, and the line that differs there."""
    best, matched = -1, 0
    for n in range(done, len(lines)):
        same = 0
        while same < len(hunk.old) and n + same < len(lines) and lines[n + same] == hunk.old[same]:
            same += 1
        if same > matched:
            best, matched = n, same
    if best < 0:
        return f"its first line {_show(hunk.old[0])} does not occur after line {done}"
    place = best + matched
    given = f"line {place + 1} is {_show(lines[place])}" if place < len(lines) else f"the file ends at line {place}"
    return f"at line {best + 1} it expects {_show(hunk.old[matched])}, but {given}"


def _show(line: str) -> str:
    ends = "" if line.endswith("\n") else " without a newline at its end"
    return f"{line.removesuffix(chr(10))[:_LONGEST_LINE]!r}{ends}"


def _fail(patch: FilePatch, number: int, fault: str) -> Conflict:
    return Conflict(
        f"Hunk {number} of {len(patch.hunks)} of {patch.path!r} does not apply: {fault}. Nothing was changed.",
        hint="Read the file again and make a new patch.",
    )
