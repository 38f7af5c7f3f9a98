"""Sample arguments for a tool, made from its JSON schema: for tests of servers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

_DEEPEST = 8
_PLAIN: dict[str, Any] = {"boolean": False, "null": None}
_FORMATS = {
    "date": "2026-01-01",
    "date-time": "2026-01-01T12:00:00Z",
    "time": "12:00:00Z",
    "email": "test@example.org",
    "uri": "https://example.org/",
    "url": "https://example.org/",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "ipv4": "192.0.2.1",
    "hostname": "example.org",
}
_LONGEST = 10_000


def make_arguments(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments with every required parameter: its default, example or first choice, or else a plain value."""
    made = _Sampler(schema).make(schema, 0)
    return made if isinstance(made, dict) else {}


class _Sampler:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root

    def make(self, schema: Any, depth: int) -> Any:
        if not isinstance(schema, Mapping) or depth > _DEEPEST:
            return None
        schema = self._resolve(schema)
        for key in ("const", "default"):
            if key in schema:
                return schema[key]
        for key in ("examples", "enum"):
            choices = schema.get(key)
            if isinstance(choices, list) and choices:
                return choices[0]
        for key in ("anyOf", "oneOf", "allOf"):
            parts = schema.get(key)
            if isinstance(parts, list) and parts and "type" not in schema:
                usable = [one for one in parts if isinstance(one, Mapping) and one.get("type") != "null"]
                return self.make((usable or parts)[0], depth + 1)
        kind = schema.get("type")
        if isinstance(kind, list):
            kind = next((one for one in kind if one != "null"), "null")
        if kind == "object" or "properties" in schema:
            return self._object(schema, depth)
        if kind == "array":
            return self._array(schema, depth)
        if kind in ("integer", "number"):
            return _number(schema, whole=kind == "integer")
        return _text(schema) if kind == "string" else _PLAIN.get(str(kind), "test")

    def _object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        properties, required = schema.get("properties"), schema.get("required")
        known = properties if isinstance(properties, Mapping) else {}
        return {
            name: self.make(known.get(name, {}), depth + 1)
            for name in (required if isinstance(required, list) else ())
            if isinstance(name, str)
        }

    def _array(self, schema: Mapping[str, Any], depth: int) -> list[Any]:
        least = schema.get("minItems")
        count = min(least, 10) if isinstance(least, int) else 0
        return [self.make(schema.get("items", {}), depth + 1) for _ in range(count)]

    def _resolve(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        """Follow references within the schema, up to a depth."""
        for _ in range(_DEEPEST):
            reference = schema.get("$ref")
            if not isinstance(reference, str) or not reference.startswith("#/"):
                return schema
            found: Any = self._root
            for step in reference[2:].split("/"):
                found = found.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(found, Mapping) else None
            if not isinstance(found, Mapping):
                return {}
            schema = found
        return {}


def _number(schema: Mapping[str, Any], *, whole: bool) -> float:
    value: float = 1
    if (above := _bound(schema, "exclusiveMinimum")) is not None and value <= above:
        value = above + 1
    if (least := _bound(schema, "minimum")) is not None:
        value = max(value, least)
    if (most := _bound(schema, "maximum")) is not None:
        value = min(value, most)
    if (below := _bound(schema, "exclusiveMaximum")) is not None and value >= below:
        value = below - 1
    if (step := _bound(schema, "multipleOf")) is not None and step > 0:
        value = math.ceil(value / step) * step
    return int(value) if whole else value


def _text(schema: Mapping[str, Any]) -> str:
    text = _FORMATS.get(str(schema.get("format", "")), "test")
    least, most = schema.get("minLength"), schema.get("maxLength")
    if isinstance(least, int) and len(text) < least:
        text = text.ljust(min(least, _LONGEST), "x")
    return text[:most] if isinstance(most, int) and most >= 0 else text


def _bound(schema: Mapping[str, Any], key: str) -> float | None:
    value = schema.get(key)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
