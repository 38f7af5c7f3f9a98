"""Requests that name a command, or match the examples of one."""

from __future__ import annotations

import re
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
_SURE, _CLEAR = 0.65, 0.1
_NEAR = 0.6
_MOST_NEAR = 3
_IGNORED = ("sh/", "agent/ask", "help/")
_RUN = re.compile(
    r"(?:please )?(?:(?:run|execute|call|start|use|apply)\s+)?(?:the (?:command|program)\s+)?"
    r"(?P<name>[\w/-]+)(?P<rest>.*)",
    re.IGNORECASE,
)
_ON = re.compile(
    r"\s+(?:the )?(?:lines? |words? |content |file )?(?:(?:on|for|of|with|in) )?(?:the )?(?:file )?"
    r"(?P<path>[\w~-]*[./][\w./~-]*\w)\W*",
    re.IGNORECASE,
)
_HELD_BACK = re.compile(r"[,;?]|\b(?:not|never|don['’]?t|if|unless|but|when|until|or)\b", re.IGNORECASE)
"""Words in a slot that speak against acting."""
_PRONOUNS = frozenset(("it", "its", "them", "those", "these", "that", "they", "their"))


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
                params = {key: _fill(value, found, _properties(tool).get(key)) for key, value in use.params.items()}
                best = fixed, _reading(context, command, params, f"“{use.says}”", 0.95)
    return best[1] if best else None


def read(context: RequestContext) -> Iterable[Reading]:
    """Read the name of a program with a path, or a request that is near to one read-only command only."""
    found = _read_named(context) or _read_near(context)
    return [found] if found is not None else []


def _reading(
    context: RequestContext, command: str, params: dict[str, Any], says: str, score: float, *, guessed: bool = False
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


def _fill(value: Any, caught: Mapping[str, str], spec: Any = None) -> Any:
    """Return a parameter of an example with its slots filled."""
    if isinstance(value, str):
        whole = SLOT.fullmatch(value)
        if whole is not None and whole[1] in caught:
            return _typed(caught[whole[1]], spec)
        return SLOT.sub(lambda one: caught.get(one[1], one[0]), value)
    if isinstance(value, list):
        return [_fill(one, caught) for one in value]
    if isinstance(value, dict):
        return {name: _fill(one, caught) for name, one in value.items()}
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
    word = found["name"].lower() if found is not None else ""
    command = context.offered(word if "/" in word else f"shell/{word}")
    if found is None or not command or not context.tools[command].reads_only:
        return None
    properties = _properties(context.tools[command])
    params: dict[str, Any] = {}
    rest = found["rest"].strip(" ?.!")
    if rest:
        path = _ON.fullmatch(f" {rest}")
        key = next((one for one in ("files", "file", "paths", "path") if one in properties), "")
        if path is None or not key:
            return None
        params = {key: [path["path"]] if properties[key].get("type") == "array" else path["path"]}
    if _lacks_parameter(context.tools[command], params):
        return None
    return _reading(context, command, params, f"the command {command}", 0.9)


def _lacks_parameter(tool: ToolSpec, params: Mapping[str, Any]) -> bool:
    return any(one not in params for one in tool.schema.get("required") or ())


@lru_cache(maxsize=2_000)
def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(one) for one in re.findall(r"[^\W_]+", text.lower()) if one not in stop_words())


class _Match(msgspec.Struct, frozen=True):
    """How near a request is to a command, by the share of words that it has in common with its nearest example."""

    score: float
    command: str
    use: Example | None = None
    stems: frozenset[str] = frozenset()


def _rank(context: RequestContext) -> list[_Match]:
    """Return the commands with words of the request, the nearest first."""
    asked = _stems(context.text[:_MAX_TEXT])
    found = []
    for command, tool in context.tools.items():
        if command.startswith(_IGNORED):
            continue
        best = _Match(0, command)
        summary = f"{command} {tool.description.partition(chr(10))[0]}"
        for use in (None, *(one for one in tool.uses if "{" not in one.says)):
            stems = _stems(use.says if use else summary)
            score = 2 * len(asked & stems) / (len(asked) + len(stems) or 1)
            best = _Match(score, command, use, stems) if score > best.score else best
        found.append(best)
    return sorted(found, key=lambda one: (-one.score, one.command))


def nearest(context: RequestContext) -> list[str]:
    """Return what could be done instead, in the words of its examples."""
    asked = {context.request.tokens[one].stem for one in context.request.meaningful}
    found = [one for one in _rank(context) if one.score >= _NEAR and len(asked & one.stems) > 1]
    found = [one for one in found if not context.tools[one.command].destroys][:_MOST_NEAR]
    return [f"“{one.use.says}” ({one.command})" if one.use else one.command for one in found]


def _read_near(context: RequestContext) -> Reading | None:
    """Read a request whose words are those of an example of one read-only command, with the example's parameters."""
    asked = context.request
    stems = {asked.tokens[one].stem for one in asked.meaningful}
    if len(stems) < 2 or any(one.lower in _PRONOUNS for one in asked.tokens) or asked.has("how many"):
        return None
    ranked = _rank(context)
    if not ranked or ranked[0].score < _SURE or (len(ranked) > 1 and ranked[0].score - ranked[1].score < _CLEAR):
        return None
    best, tool = ranked[0], context.tools[ranked[0].command]
    params = dict(best.use.params) if best.use else {}
    if not tool.reads_only or stems - best.stems or _lacks_parameter(tool, params):
        return None
    says = f"“{best.use.says}”" if best.use else best.command
    return _reading(context, best.command, params, says, min(best.score, 0.6), guessed=True)
