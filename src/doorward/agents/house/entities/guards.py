"""What in a request speaks against following it."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from doorward.agents.house.entities.entity import EntityValue, Span
from doorward.agents.house.entities.knowledge import vocabulary
from doorward.agents.house.entities.line import Line

_APOSTROPHES = str.maketrans(dict.fromkeys("’ʼ´`‘′", "'"))
_ELSEWHERE = re.compile(r"@(?P<at>\w[\w-]*)\b|(?P<name>[A-Za-z][\w-]*)\s?[,:]\s+(?P<next>\w+)")
_PLACED = ("compare", "age", "span", "size", "limit")
_ELSES = ("quoted", "path", "glob", "url", "email")
_SAID_TO = "it is said to {name}, and not to me"


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.DOTALL)


def guarded(line: Line) -> tuple[str, str]:
    """Why nothing should be done, and why nothing should be changed; each is empty when nothing speaks against it."""
    outside = bare(_outside(line, _ELSES))
    unplaced = bare(_outside(line, _ELSES, placed=True))
    whole = bare(line.text)
    nothing = no_change = ""
    for guard in vocabulary().guards:
        looked_at = whole if guard.quotes else unplaced if guard.placed else outside
        if not _compiled(guard.pattern).search(looked_at):
            continue
        if guard.unless and _compiled(guard.unless).search(looked_at):
            continue
        if guard.stops == "all":
            nothing = nothing or guard.why
        else:
            no_change = no_change or guard.why
    return nothing, nothing or no_change or _said_to_another(line)


def _outside(line: Line, shapes: tuple[str, ...], *, placed: bool = False) -> str:
    """The text without quotations and names of files and, where `placed`, without what became a condition."""
    kept = list(line.text)
    for token in line.tokens:
        if token.shape in shapes:
            kept[token.start : token.end] = " " * (token.end - token.start)
    if placed:
        for entity in line.found:
            if entity.kind in _PLACED and not _to_come(entity.value, line):
                kept[entity.start : entity.end] = " " * (entity.end - entity.start)
    return "".join(kept)


def _to_come(value: EntityValue, line: Line) -> bool:
    """Whether a stretch of time is still ahead, so that nothing is wished for now."""
    return isinstance(value, Span) and value.since is not None and value.since > line.now.timestamp()


def _said_to_another(line: Line) -> str:
    """Whether the message begins with the name of somebody else."""
    found = _ELSEWHERE.match(line.text)
    if found is None:
        return ""
    words = vocabulary()
    if found["at"]:
        return _SAID_TO.format(name=found["at"])
    name = found["name"].lower()
    if found["next"].lower() not in words.acts or name in words.acts or name in words.questions:
        return ""
    return "" if name in words.greetings or name in words.known else _SAID_TO.format(name=found["name"])


def bare(text: str) -> str:
    """A text as the guards compare it: no letter looks like another, and nothing invisible parts a word."""
    text = unicodedata.normalize("NFKC", text)
    text = "".join(one for one in text if unicodedata.category(one) != "Cf")
    return " ".join(text.translate(_APOSTROPHES).split())
