"""Requests that name a command, or match the examples of one."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from doorward.agents.house.plan import Reading, Step, Steps
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.sentences import describe_result
from doorward.agents.house.topics.machine import describe_program
from doorward.agents.house.words import stem, stop_words
from doorward.agents.models.model import ToolSpec
from doorward.config.published_schema import MAX_SLOTS, SLOT
from doorward.core.command import Example

_MAX_PHRASE = 400
_MAX_TEXT = 4_000
_SURE, _CLEAR = 0.72, 0.12
_NEAR = 0.45
_MOST_NEAR = 3
_GUESSED = 0.6
_IGNORED = ("sh/", "agent/ask", "help/")
_RUN = re.compile(
    r"(?:please )?(?:(?:run|execute|call|start|use|apply)\s+)?(?:the (?:command|program)\s+)?"
    r"(?P<name>[\w/-]+)(?P<rest>.*)",
    re.I,
)
_ON = re.compile(
    r"\s+(?:the )?(?:lines? |words? |content |file )?(?:(?:on|for|of|with|in) )?(?:the )?(?:file )?"
    r"(?P<path>[\w~-]*[./][\w./~-]*\w)\W*",
    re.IGNORECASE,
)
_HELD_BACK = re.compile(r"[,;?]|\b(?:not|never|don['’]?t|if|unless|but|when|until|or)\b", re.IGNORECASE)
"""Words in a slot that speak against acting."""
_PRONOUNS = frozenset(("it", "its", "them", "those", "these", "that", "they", "their"))
_FILES = ("files", "file", "paths", "path")


def read_taught(context: RequestContext) -> Reading | None:
    """Return the reading of a phrase that the catalogue or the recipe teaches; None if none matches exactly."""
    text = context.text.strip(" ?.!")
    best: tuple[int, Reading] | None = None
    for command, tool in context.tools.items():
        for use in tool.uses:
            found = match_slots(use.says, text) if "{" in use.says else None
            if found is None or (not tool.reads_only and any(_HELD_BACK.search(one) for one in found.values())):
                continue
            fixed = len(SLOT.sub("", use.says))
            if best is None or fixed > best[0]:
                params = {key: _fill(value, found, tool, key) for key, value in use.params.items()}
                best = fixed, _reading(context, command, params, f"“{use.says}”", score=0.95, guessed=False)
    return best[1] if best else None


def read(context: RequestContext) -> Iterable[Reading]:
    """Read the name of a program with a path, or a request that is near to one read-only command only."""
    named = _read_named(context)
    if named is not None:
        return [named]
    near = _read_near(context)
    return [near] if near is not None else []


def _reading(
    context: RequestContext, command: str, params: dict[str, Any], says: str, *, score: float, guessed: bool
) -> Reading:
    def steps() -> Steps:
        (result,) = yield [Step(command, params)]
        is_program = isinstance(result.value, dict) and "exitCode" in result.value
        return describe_program(result) if is_program else describe_result(result)

    return Reading(
        name=command,
        steps=steps,
        explained=frozenset(range(len(context.request))),
        score=score,
        changes=not context.tools[command].reads_only,
        says=says,
        guessed=guessed,
    )


class _Phrase(msgspec.Struct, frozen=True):
    """A phrase in its pieces: the words that it begins with, and each slot with the fixed words behind it."""

    begins: re.Pattern[str]
    slots: tuple[tuple[str, re.Pattern[str]], ...]


@lru_cache(maxsize=2_000)
def _phrase(says: str) -> _Phrase | None:
    """Return None for a phrase that cannot be matched: too many slots, or two side by side."""
    first, *parts = SLOT.split(says.strip(" ?.!"))
    names, fixed = parts[::2], parts[1::2]
    if len(says) > _MAX_PHRASE or len(names) > MAX_SLOTS or not all(fixed[:-1]):
        return None
    behind = [_fixed_words(one, last=number == len(fixed)) for number, one in enumerate(fixed, 1)]
    return _Phrase(_fixed_words(first, last=not names), tuple(zip(names, behind, strict=True)))


def _fixed_words(fixed: str, *, last: bool) -> re.Pattern[str]:
    """Fixed words in small or capital letters, with any blanks between; a row of blanks is passed only once."""
    pattern = re.sub(r"\s+", r"\\s+", re.escape(fixed).replace(r"\ ", " "))
    before = r"(?<!\s)" if pattern.startswith(r"\s") else ""
    return re.compile(f"{before}{pattern}{chr(92) + 'Z' if last else ''}", re.IGNORECASE)


def match_slots(says: str, text: str) -> dict[str, str] | None:
    """Return the words in the slots of a phrase; None if the text does not match it.

    Fixed words are searched from left to right, each once behind the last. The first place where they stand leaves
    the most room for the others, so there is never a reason to go back.
    """
    phrase = _phrase(says) if len(text) <= _MAX_TEXT else None
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


def _fill(value: Any, caught: Mapping[str, str], tool: ToolSpec, key: str) -> Any:
    """Return a parameter of an example with its slots filled."""
    if isinstance(value, str):
        whole = SLOT.fullmatch(value)
        if whole is not None and whole[1] in caught:
            return _typed(caught[whole[1]], _properties(tool).get(key))
        return SLOT.sub(lambda one: caught.get(one[1], one[0]), value)
    if isinstance(value, list):
        return [_fill(one, caught, tool, "") for one in value]
    if isinstance(value, dict):
        return {name: _fill(one, caught, tool, "") for name, one in value.items()}
    return value


def _properties(tool: ToolSpec) -> Mapping[str, Any]:
    found = tool.schema.get("properties")
    return found if isinstance(found, Mapping) else {}


def _typed(text: str, spec: Any) -> Any:
    """Return a word as a parameter takes it."""
    kind = spec.get("type") if isinstance(spec, Mapping) else None
    if kind == "integer" and re.fullmatch(r"-?\d{1,18}", text):
        return int(text)
    if kind == "number" and re.fullmatch(r"-?\d{1,18}(?:\.\d+)?", text):
        return float(text)
    if kind == "boolean" and text.lower() in ("yes", "true", "on", "no", "false", "off"):
        return text.lower() in ("yes", "true", "on")
    return text


def _read_named(context: RequestContext) -> Reading | None:
    """Read `run uname`, `uptime`, `data/describe` or `run sort on notes.txt`: a read-only command and one path."""
    found = _RUN.fullmatch(context.text.strip())
    if found is None:
        return None
    word = found["name"].lower()
    command = context.offered(word) if "/" in word else context.offered(f"shell/{word}")
    if not command or not context.tools[command].reads_only:
        return None
    tool = context.tools[command]
    rest = found["rest"].strip(" ?.!")
    params: dict[str, Any] = {}
    if rest:
        path = _ON.fullmatch(f" {rest}")
        key = next((one for one in _FILES if one in _properties(tool)), "")
        if path is None or not key:
            return None
        params = {key: [path["path"]] if _properties(tool)[key].get("type") == "array" else path["path"]}
    required = tool.schema.get("required") or ()
    if any(one not in params for one in required):
        return None
    return _reading(context, command, params, f"the command {command}", score=0.9, guessed=False)


class _Entry(msgspec.Struct, frozen=True):
    command: str
    use: Example | None
    stems: frozenset[str]


class _Ranking:
    """The words of all tools and of their examples, weighed by how rare they are."""

    def __init__(self, tools: Mapping[str, ToolSpec]) -> None:
        self.entries: list[_Entry] = []
        for name, tool in tools.items():
            if name.startswith(_IGNORED):
                continue
            summary = tool.description.partition("\n")[0]
            self.entries.append(_Entry(name, None, _stems(f"{re.sub('[/_]', ' ', name)} {summary}")))
            self.entries += [_Entry(name, use, _stems(use.says)) for use in tool.uses if "{" not in use.says]
        seen = Counter(word for one in self.entries for word in one.stems)
        many = len(self.entries) or 1
        self._weights = {word: math.log(1 + many / count) for word, count in seen.items()}
        self._rare = math.log(1 + many)

    def _norm(self, stems: Iterable[str]) -> float:
        return math.sqrt(sum(self._weights.get(one, self._rare) ** 2 for one in stems)) or 1.0

    def rank(self, text: str) -> list[tuple[float, _Entry]]:
        """Return the commands with words of a text, the nearest first, each with its nearest example."""
        asked = _stems(text)
        norm = self._norm(asked)
        best: dict[str, tuple[float, _Entry]] = {}
        for entry in self.entries:
            shared = sum(self._weights[word] ** 2 for word in asked & entry.stems)
            score = min(shared / (norm * self._norm(entry.stems)), 1.0)
            if shared and score > best.get(entry.command, (0.0, entry))[0]:
                best[entry.command] = (score, entry)
        return sorted(best.values(), key=lambda one: (-one[0], one[1].command))


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(one) for one in re.findall(r"\w+", text.lower()) if one not in stop_words())


_RANKINGS: dict[int, _Ranking] = {}
_MAX_RANKINGS = 8


def _ranked(context: RequestContext) -> list[tuple[float, _Entry]]:
    """Rank the tools; the same set of tools is offered again and again."""
    key = hash(
        frozenset((name, one.description, *(use.says for use in one.uses)) for name, one in context.tools.items())
    )
    if key not in _RANKINGS:
        if len(_RANKINGS) >= _MAX_RANKINGS:
            _RANKINGS.pop(next(iter(_RANKINGS)))
        _RANKINGS[key] = _Ranking(context.tools)
    return _RANKINGS[key].rank(context.text)


def nearest(context: RequestContext) -> list[str]:
    """Return what could be done instead, in the words of its examples."""
    found = [one for one in _ranked(context) if one[0] >= _NEAR][:_MOST_NEAR]
    return [f"“{entry.use.says}” ({entry.command})" if entry.use else entry.command for _, entry in found]


def _read_near(context: RequestContext) -> Reading | None:
    """Read a request whose words are those of an example of one read-only command, with the example's parameters."""
    ranked = _ranked(context)
    if not ranked or ranked[0][0] < _SURE:
        return None
    score, entry = ranked[0]
    tool = context.tools[entry.command]
    if not tool.reads_only or (len(ranked) > 1 and score - ranked[1][0] < _CLEAR):
        return None
    asked = context.request
    stems = {asked.tokens[one].stem for one in asked.meaningful}
    left = stems - entry.stems
    if len(stems) < 2 or any(one.lower in _PRONOUNS for one in asked.tokens) or asked.has("how many"):
        return None
    params = dict(entry.use.params) if entry.use else {}
    if left or any(one not in params for one in tool.schema.get("required") or ()):
        return None
    says = f"“{entry.use.says}”" if entry.use else entry.command
    return _reading(context, entry.command, params, says, score=min(score, _GUESSED), guessed=True)
