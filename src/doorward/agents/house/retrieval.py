"""The last resort: the offered command whose words and uses are nearest, if it is clear of the next one."""

from __future__ import annotations

import math
import re
import weakref
from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec

from doorward.agents.house import knowledge, taught
from doorward.agents.house.entities import stem, words
from doorward.agents.house.plan import Around, Plan
from doorward.agents.models.model import ToolSpec
from doorward.core.command import Example

_MOST_NEAR = 3
_SURE, _CLEAR = 0.72, 0.12
_KEPT = 8
_TURNS = knowledge.words("accounting: turns")
_IGNORED = ("sh/", "agent/ask", "help/")


class Ranked(msgspec.Struct, frozen=True):
    command: str
    score: float
    use: Example | None
    """The use that was nearest, if it was one."""


class _Entry(msgspec.Struct, frozen=True):
    command: str
    use: Example | None
    stems: Counter[str]
    norm: float


class _Ranking:
    """The words of all tools, weighed by how rare they are."""

    def __init__(self, tools: Mapping[str, ToolSpec]) -> None:
        texts: list[tuple[str, Example | None, Counter[str]]] = []
        for name, tool in tools.items():
            if name.startswith(_IGNORED):
                continue
            summary = tool.description.partition("\n")[0]
            texts.append((name, None, _stems(f"{name.replace('/', ' ').replace('_', ' ')} {summary}")))
            texts += [(name, use, _stems(use.says)) for use in tool.uses if "{" not in use.says]
        many = len(texts) or 1
        seen = Counter(word for _, _, one in texts for word in one)
        self._weights = {word: math.log(1 + many / count) for word, count in seen.items()}
        self._rare = math.log(1 + many)
        self._entries = [_Entry(name, use, one, self._norm(one)) for name, use, one in texts]

    def _weight(self, word: str) -> float:
        return self._weights.get(word, self._rare)

    def _norm(self, one: Counter[str]) -> float:
        return math.sqrt(sum(self._weight(word) ** 2 for word in one)) or 1.0

    def ranked(self, text: str) -> list[Ranked]:
        asked = _stems(text)
        norm = self._norm(asked)
        best: dict[str, Ranked] = {}
        for entry in self._entries:
            shared = asked.keys() & entry.stems.keys()
            if not shared:
                continue
            score = sum(self._weight(word) ** 2 for word in shared) / (norm * entry.norm)
            known = best.get(entry.command)
            if known is None or score > known.score:
                best[entry.command] = Ranked(entry.command, min(score, 1.0), entry.use)
        return sorted(best.values(), key=lambda one: (-one.score, one.command))


_CACHE: dict[int, tuple[weakref.ref[Any] | None, int, _Ranking]] = {}


def _ranking(tools: Mapping[str, ToolSpec]) -> _Ranking:
    """Made once for each set of tools, since the same is offered again and again."""
    key = hash(frozenset((name, tool.description, *(use.says for use in tool.uses)) for name, tool in tools.items()))
    found = _CACHE.get(key)
    if found is None:
        if len(_CACHE) >= _KEPT:
            _CACHE.pop(next(iter(_CACHE)))
        found = _CACHE[key] = (None, 0, _Ranking(tools))
    return found[2]


def ranked(around: Around) -> list[Ranked]:
    return _ranking(around.tools).ranked(around.slots.said.text)


def nearest(around: Around) -> list[str]:
    """What could be done instead, in the words of its uses."""
    found = [one for one in ranked(around) if one.score >= 0.25][:_MOST_NEAR]
    return [f"“{one.use.says}” ({one.command})" if one.use is not None else one.command for one in found]


def plan(around: Around) -> Plan | None:
    """A plan of the one command that is clearly meant, with all that it needs; None when none is clear."""
    found = ranked(around)
    if not found or found[0].score < _SURE:
        return None
    best = found[0]
    if _turned(around, best):
        return None
    if len(found) > 1 and best.score - found[1].score < _CLEAR and best.score < 0.97:
        return None
    tool = around.tools[best.command]
    if not tool.reads_only and not _begins_alike(around, best):
        return None
    params = _params(around, tool, best.use)
    if params is None:
        return None
    near = f"it is near to “{best.use.says if best.use else best.command}”"
    return msgspec.structs.replace(taught.made(best.command, params, tool, best.score, near), guessed=True)


def _turned(around: Around, best: Ranked) -> bool:
    """Whether a request has a word that turns its meaning, such as `not`, and what it is near to has none."""
    known = set(words(best.use.says)) if best.use is not None else set()
    spelt = [word.lower for word in around.slots.said.words]
    return any((word in _TURNS or word.endswith("n't")) and word not in known for word in spelt)


def _begins_alike(around: Around, best: Ranked) -> bool:
    """A change needs the verb of a use, or of the command's name, at its beginning."""
    first = around.slots.said.words[0].stem if around.slots.said.words else ""
    verbs = {stem(one) for one in words(best.command)}
    if best.use is not None:
        verbs |= {stem(one) for one in words(best.use.says)[:2]}
    return first in verbs - knowledge.stop()


def _params(around: Around, tool: ToolSpec, use: Example | None) -> dict[str, Any] | None:
    """Parameters by the nearest use and the types of the schema; None when one that is needed is not there."""
    properties = tool.schema.get("properties", {})
    required = set(tool.schema.get("required", ()))
    made: dict[str, Any] = {}
    said = around.slots.said.text.lower()
    if use is not None:
        for key, value in use.params.items():
            changed = _put(around, key, value, use.says)
            if changed is None:
                return None
            made[key] = changed
    for key in required - made.keys():
        value = _by_name(around, key, properties.get(key, {}))
        if value is None:
            return None
        made[key] = value
    return made if said else None


def _put(around: Around, key: str, value: Any, says: str) -> Any:
    """A parameter of a use: a value that the use names is taken from the request instead; another stays as it is."""
    spoken = str(value[0]) if isinstance(value, list) and len(value) == 1 else str(value)
    if isinstance(value, bool) or not re.search(rf"(?<!\w){re.escape(spoken)}(?!\w)", says, re.IGNORECASE):
        return (
            value
            if not isinstance(value, str | list) or spoken.lower() in around.slots.said.text.lower() or _fixed(value)
            else None
        )
    if re.search(rf"(?<!\w){re.escape(spoken)}(?!\w)", around.slots.said.text, re.IGNORECASE):
        return value
    found = _by_name(around, key, {"type": "integer" if isinstance(value, int) else "string"})
    return [found] if isinstance(value, list) and found is not None else found


def _fixed(value: Any) -> bool:
    """Whether a value is part of what the command does and not something that somebody would name."""
    return isinstance(value, str) and (value.startswith(("+", "-", "%")) or value in ("a", ".", "0"))


def _by_name(around: Around, key: str, spec: Any) -> Any:
    """A value of the request for a parameter, by what it is called and takes."""
    slots = around.slots
    kind = spec.get("type") if isinstance(spec, dict) else None
    lower = key.lower()
    if kind in ("integer", "number"):
        found = slots.said.entity("number", "limit")
        if found is None:
            return None
        return found.value.n if hasattr(found.value, "n") else found.value
    if isinstance(spec, dict) and isinstance(spec.get("enum"), list):
        named = [
            one for one in spec["enum"] if re.search(rf"\b{re.escape(str(one))}\b", slots.said.text, re.IGNORECASE)
        ]
        return named[0] if len(named) == 1 else None
    if any(word in lower for word in ("path", "file", "folder", "source", "directory", "archive")):
        found_path = slots.get("path") or slots.folder()
        return [found_path] if kind == "array" and found_path else found_path
    if lower in ("name", "room") and slots.room_named():
        return slots.room_named()
    if kind in (None, "string"):
        return slots.get("quoted") or (slots.get("name") if lower in ("id", "name") else None)
    return None


def _stems(text: str) -> Counter[str]:
    small = knowledge.stop()
    return Counter(one for one in (stem(word) for word in words(text)) if one not in small)
