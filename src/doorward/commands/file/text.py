"""File content as text: decoding, lines, digests and diffs."""

from __future__ import annotations

import base64
import binascii
import difflib
import hashlib
from collections.abc import Container, Iterator
from typing import Literal, NamedTuple

from doorward.core.errors import BadParams

LONGEST_DIFF = 20_000
_MOST_LINES_COMPARED = 2_000
_CONTEXT = 3

Opcode = tuple[Literal["replace", "delete", "insert", "equal"], int, int, int, int]
Group = list[tuple[str, int, int, int, int]]


def digest(content: bytes | None) -> str:
    """SHA-256 in hex; the empty string for a file that does not exist."""
    return "" if content is None else hashlib.sha256(content).hexdigest()


def is_text(content: bytes) -> bool:
    if b"\x00" in content:
        return False
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def decode_text(content: bytes, path: str) -> str:
    if not is_text(content):
        raise BadParams(
            f"The file {path!r} is binary ({len(content)} bytes). Only UTF-8 text can be shown or edited; "
            'read it with encoding="base64".'
        )
    return content.decode()


def decode_content(content: str, encoding: str) -> bytes:
    try:
        return content.encode() if encoding == "utf-8" else base64.b64decode(content, validate=True)
    except UnicodeEncodeError as error:
        raise BadParams(
            f"content has half a character (a lone surrogate) at position {error.start}. Give valid text, or base64."
        ) from error
    except (binascii.Error, ValueError) as error:
        raise BadParams(f"content is not base64 ({error}). Give base64 without line breaks.") from error


def split_lines(text: str) -> list[str]:
    """Split a text into lines with their ends. Only a line feed ends a line, as in editors and diffs."""
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


class Diff(NamedTuple):
    """The change of one file, or one hunk of it: a unified diff, or one sentence when either side is binary."""

    text: str
    added: int = 0
    removed: int = 0

    def shorten(self) -> str:
        """Return the text for a result, which holds no more than its beginning."""
        if len(self.text) <= LONGEST_DIFF:
            return self.text
        end = self.text.rfind("\n", 0, LONGEST_DIFF) + 1 or LONGEST_DIFF
        counts = f"It adds {self.added} lines and removes {self.removed}."
        return f"{self.text[:end]}… {len(self.text) - end} more characters of the diff are not shown. {counts}\n"


def unified_diff(path: str, before: bytes | None, after: bytes | None) -> Diff:
    """Compute the diff of one file."""
    if not is_text(before or b"") or not is_text(after or b""):
        return Diff(f"Binary file {path}: {len(before or b'')} bytes become {len(after or b'')}.")
    old = split_lines((before or b"").decode())
    new = split_lines((after or b"").decode())
    names = (
        f"--- {'/dev/null' if before is None else f'a/{path}'}\n+++ {'/dev/null' if after is None else f'b/{path}'}\n"
    )
    hunks = [_render_hunk(group, old, new) for group in _groups(old, new)]
    text = names + "".join(one.text for one in hunks)
    return Diff(text, sum(one.added for one in hunks), sum(one.removed for one in hunks))


def list_hunks(before: bytes, after: bytes) -> list[Diff]:
    """The hunks of a file's diff, each with its heading."""
    old, new = split_lines(before.decode()), split_lines(after.decode())
    return [_render_hunk(group, old, new) for group in _groups(old, new)]


def select_hunks(before: bytes, after: bytes, chosen: Container[int]) -> bytes:
    """The text with only some of the hunks of its diff applied. Hunks are numbered from 1."""
    old, new = split_lines(before.decode()), split_lines(after.decode())
    pieces: list[str] = []
    at = 0
    for number, group in enumerate(_groups(old, new), 1):
        start, end = group[0][1], group[-1][2]
        pieces += old[at:start]
        pieces += new[group[0][3] : group[-1][4]] if number in chosen else old[start:end]
        at = end
    return "".join([*pieces, *old[at:]]).encode()


def count_hunks(before: bytes, after: bytes) -> int:
    return len(_groups(split_lines(before.decode()), split_lines(after.decode())))


def _groups(old: list[str], new: list[str]) -> list[Group]:
    """Group the changes with context. Equal ends are skipped first, since comparing takes quadratic time."""
    shorter = min(len(old), len(new))
    head = 0
    while head < shorter and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < shorter - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    old_end, new_end = len(old) - tail, len(new) - tail
    if max(old_end, new_end) - head > _MOST_LINES_COMPARED:
        middle: list[Opcode] = [("replace", head, old_end, head, new_end)]
    else:
        matcher = difflib.SequenceMatcher(None, old[head:old_end], new[head:new_end])
        middle = [(tag, a + head, b + head, c + head, d + head) for tag, a, b, c, d in matcher.get_opcodes()]
    whole: list[Opcode] = [("equal", 0, head, 0, head), *middle, ("equal", old_end, len(old), new_end, len(new))]
    return list(
        _KnownOpcodes([code for code in whole if code[1] < code[2] or code[3] < code[4]]).get_grouped_opcodes(_CONTEXT)
    )


class _KnownOpcodes(difflib.SequenceMatcher[str]):
    """A matcher with precomputed opcodes, for difflib's standard grouping."""

    def __init__(self, known: list[Opcode]) -> None:
        super().__init__()
        self._known = known

    def get_opcodes(self) -> list[Opcode]:
        return self._known


def _render_hunk(group: Group, old: list[str], new: list[str]) -> Diff:
    changes = [code for code in group if code[0] != "equal"]
    added, removed = sum(d - c for _, _, _, c, d in changes), sum(b - a for _, a, b, _, _ in changes)
    return Diff("".join(_hunk_lines(group, old, new)), added, removed)


def _hunk_lines(group: Group, old: list[str], new: list[str]) -> Iterator[str]:
    yield f"@@ -{_span(group[0][1], group[-1][2])} +{_span(group[0][3], group[-1][4])} @@\n"
    for tag, a, b, c, d in group:
        if tag == "equal":
            yield from (_line(" ", line) for line in old[a:b])
            continue
        yield from (_line("-", line) for line in old[a:b])
        yield from (_line("+", line) for line in new[c:d])


def _span(start: int, end: int) -> str:
    count = end - start
    first = start + 1 if count else start
    return str(first) if count == 1 else f"{first},{count}"


def _line(sign: str, line: str) -> str:
    return f"{sign}{line}" if line.endswith("\n") else f"{sign}{line}\n\\ No newline at end of file\n"
