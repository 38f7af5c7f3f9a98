"""Console blocks of a document: the commands, and what each is said to print, compared with wildcards.

`…` stands for anything in a line, and alone on a line for any lines. Ids and times are examples: an id stands for
whichever real id is met in its place, from then on and in later commands too.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
ANYTHING = "…"
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ID = re.compile(r"\b[0-9][0-9a-z]{15}\b")
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
_ERASED = re.compile(r"\r\x1b\[K[^\r\n]*(?=\r\x1b\[K)|\r\x1b\[K")
"""A line that a terminal wrote and took back, such as how long a slow command has run so far."""
_SPECIAL = re.compile(f"{_ID.pattern}|{_TIME.pattern}|{ANYTHING}")


class Step(NamedTuple):
    """One command and the lines that it is said to print."""

    command: str
    expected: list[str]

    @property
    def answer(self) -> str:
        """What the person in the document answers when asked."""
        found = re.search(r"\[y/N\]: (\w+)", "\n".join(self.expected))
        return found[1] if found else ""


def blocks(text: str, language: str) -> list[str]:
    return [found[2] for found in _BLOCK.finditer(text) if found[1] == language]


def steps(text: str) -> list[Step]:
    found: list[Step] = []
    for block in blocks(text, "console"):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append(Step(line[2:], []))
            else:
                found[-1].expected.append(line)
    return found


def with_known_ids(text: str, known: dict[str, str]) -> str:
    return _ID.sub(lambda found: known.get(found[0], found[0]), text)


def compare(expected: list[str], printed: str, known: dict[str, str]) -> str:
    """Empty when what was printed is as expected, else what differs; adds the ids that were met to `known`."""
    lines = [line.rstrip() for line in _ERASED.sub("", printed).splitlines()]
    place, gap = 0, False
    for line in expected:
        if line == ANYTHING:
            gap = True
            continue
        while place < len(lines) and not _is_like(line, lines[place], known) and gap:
            place += 1
        if place == len(lines) or not _is_like(line, lines[place], known):
            return f"not printed in its place: {line!r}\nprinted was:\n" + "\n".join(lines)
        place, gap = place + 1, False
    if place < len(lines) and not gap:
        return "printed beyond what is expected:\n" + "\n".join(lines[place:])
    return ""


def _is_like(expected: str, printed: str, known: dict[str, str]) -> bool:
    names: list[str] = []
    pattern, end = "", 0
    for special in _SPECIAL.finditer(expected):
        pattern += re.escape(expected[end : special.start()]) + _wildcard(special[0], known, names)
        end = special.end()
    found = re.fullmatch(pattern + re.escape(expected[end:]), printed)
    if found is not None:
        known.update(zip(names, found.groups(), strict=True))
    return found is not None


def _wildcard(text: str, known: dict[str, str], names: list[str]) -> str:
    if text == ANYTHING:
        return ".*"
    if not _ID.fullmatch(text):
        return _TIME.pattern
    if text in known:
        return re.escape(known[text])
    names.append(text)
    return f"({_ID.pattern})"
