"""What people taught: uses of a command with slots in them, such as `deploy {branch} to staging`."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from doorward.agents.house.plan import Around, Plan, Step, Steps, Telling
from doorward.agents.house.telling import Asked
from doorward.agents.models.model import Tool

_SLOT = re.compile(r"\{([a-zA-Z]\w{0,40})\}")
_SPACES = re.compile(r"\s+")


def plan(around: Around) -> Plan | None:
    """The plan for a request that is said just as somebody taught it; None when none is."""
    text = around.slots.said.text.strip(" ?.!")
    for command, tool in around.tools.items():
        for use in tool.uses:
            if "{" not in use.says:
                continue
            found = _pattern(use.says).fullmatch(text)
            if found is not None:
                caught = {name: value.strip("\"'“”` ") for name, value in found.groupdict().items()}
                params = {key: _filled(value, caught, tool, key) for key, value in use.params.items()}
                return made(command, params, tool, 0.95, f"it is said as in “{use.says}”")
    return None


def made(
    command: str, params: dict[str, Any], tool: Tool, score: float, reason: str, asked: Asked | None = None
) -> Plan:
    """A plan of one call."""
    wish = asked or Asked(act="run", thing=command)

    def steps() -> Steps:
        got = yield [Step(command, params)]
        return Telling(wish, tuple(got))

    return Plan(command, wish, steps(), score, reason, not tool.reads_only)


@lru_cache(maxsize=2_000)
def _pattern(says: str) -> re.Pattern[str]:
    parts = _SLOT.split(says.strip(" ?.!"))
    seen: set[str] = set()
    made = []
    for number, part in enumerate(parts):
        if number % 2 == 0:
            made.append(_SPACES.sub(r"\\s+", re.escape(part).replace(r"\ ", " ")))
        elif part in seen:
            made.append(rf"(?P={part})")
        else:
            seen.add(part)
            made.append(rf"(?P<{part}>.+?)")
    return re.compile("".join(made), re.IGNORECASE)


def _filled(value: Any, caught: dict[str, str], tool: Tool, key: str) -> Any:
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


def _spec(tool: Tool, key: str) -> Any:
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
