"""What people taught: uses of a command with slots in them, such as `deploy {branch} to staging`."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import msgspec

from doorward.agents.house.plan import Around, Plan, Step, Steps, Telling
from doorward.agents.house.telling import Asked
from doorward.agents.models.model import ToolSpec
from doorward.config.published_schema import MAX_SLOTS
from doorward.config.published_schema import SLOT as _SLOT

_SPACES = re.compile(r"\s+")
_END = r"\Z"
_LONGEST_PHRASE = 400
_LONGEST_TEXT = 4_000
"""What is longer is not said as anybody taught it."""


def plan(around: Around) -> Plan | None:
    """The plan for a request that is said just as somebody taught it; None when none is."""
    text = around.slots.said.text.strip(" ?.!")
    for command, tool in around.tools.items():
        for use in tool.uses:
            if "{" not in use.says:
                continue
            found = caught(use.says, text)
            if found is not None:
                params = {key: _filled(value, found, tool, key) for key, value in use.params.items()}
                return made(command, params, tool, 0.95, f"it is said as in “{use.says}”")
    return None


def made(
    command: str, params: dict[str, Any], tool: ToolSpec, score: float, reason: str, asked: Asked | None = None
) -> Plan:
    """A plan of one call."""
    wish = asked or Asked(act="run", thing=command)

    def steps() -> Steps:
        got = yield [Step(command, params)]
        return Telling(wish, tuple(got))

    return Plan(command, wish, steps(), score, reason, not tool.reads_only)


class _Phrase(msgspec.Struct, frozen=True):
    """A phrase in its pieces: what it begins with, and each slot with the fixed words behind it."""

    begins: re.Pattern[str]
    slots: tuple[tuple[str, re.Pattern[str]], ...]


@lru_cache(maxsize=2_000)
def _phrase(says: str) -> _Phrase | None:
    """None for a phrase of which no sentence can be told: one with too many slots, or with two side by side."""
    first, *parts = _SLOT.split(says.strip(" ?.!"))
    names, fixed = parts[::2], parts[1::2]
    if len(says) > _LONGEST_PHRASE or len(names) > MAX_SLOTS or not all(fixed[:-1]):
        return None
    behind = [_words(one, last=number == len(fixed)) for number, one in enumerate(fixed, 1)]
    return _Phrase(_words(first, last=not names), tuple(zip(names, behind, strict=True)))


def _words(fixed: str, *, last: bool) -> re.Pattern[str]:
    """Fixed words as they may be said: in small or capital letters, with any blanks between them, the last at the end.

    Blanks are looked at from their beginning only, so that a long row of them is passed once.
    """
    pattern = _SPACES.sub(r"\\s+", re.escape(fixed).replace(r"\ ", " "))
    before = r"(?<!\s)" if pattern.startswith(r"\s") else ""
    return re.compile(f"{before}{pattern}{_END if last else ''}", re.IGNORECASE)


def caught(says: str, text: str) -> dict[str, str] | None:
    """What stands in the slots of a phrase; None when the text is not said like it.

    Fixed words are looked for from left to right, each once behind the last: the first place where they stand leaves
    the most room for what comes behind, so that there is never a reason to go back and try another.
    """
    phrase = _phrase(says) if len(text) <= _LONGEST_TEXT else None
    begun = phrase.begins.match(text) if phrase is not None else None
    if phrase is None or begun is None:
        return None
    values: dict[str, str] = {}
    at = begun.end()
    for name, behind in phrase.slots:
        found = behind.search(text, at + 1)
        value = text[at : found.start()] if found is not None else ""
        if found is None or not value or "\n" in value or values.setdefault(name, value).lower() != value.lower():
            return None
        at = found.end()
    return {name: value.strip("\"'“”` ") for name, value in values.items()}


def _filled(value: Any, caught: dict[str, str], tool: ToolSpec, key: str) -> Any:
    if isinstance(value, str):
        whole = _SLOT.fullmatch(value)
        if whole is not None and whole[1] in caught:
            return typed(caught[whole[1]], _spec(tool, key))
        return _SLOT.sub(lambda one: caught.get(one[1], one[0]), value)
    if isinstance(value, list):
        return [_filled(one, caught, tool, "") for one in value]
    if isinstance(value, dict):
        return {name: _filled(one, caught, tool, "") for name, one in value.items()}
    return value


def _spec(tool: ToolSpec, key: str) -> Any:
    properties = tool.schema.get("properties", {}) if isinstance(tool.schema, dict) else {}
    return properties.get(key, {})


def typed(text: str, spec: Any) -> Any:
    """A word as a parameter takes it."""
    kind = spec.get("type") if isinstance(spec, dict) else None
    if kind == "integer" and re.fullmatch(r"-?\d{1,18}", text):
        return int(text)
    if kind == "number" and re.fullmatch(r"-?\d{1,18}(?:\.\d+)?", text):
        return float(text)
    if kind == "boolean" and text.lower() in ("yes", "true", "on", "no", "false", "off"):
        return text.lower() in ("yes", "true", "on")
    return text
