"""The schema of a command's parameters in the form that every client and model API accepts for a tool.

Model APIs, and the clients built on them, accept no keyword at the top of such a schema that combines schemas; some
clients leave the whole tool out without a word. The parameters are therefore listed as plain properties, and the
conditions between them are given in words. The gate still validates every call against the full schema.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from doorward.core.escape_invisible import escape_invisible

PROPERTY_NAME = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
"""The names of parameters that model APIs accept."""
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_CONDITIONS = (
    *("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "enum", "const"),
    *("dependentSchemas", "dependentRequired", "dependencies"),
)
_DEEPEST = 8
_LONGEST_CONDITIONS = 2_000


class ToolSchema(msgspec.Struct, frozen=True):
    schema: dict[str, Any]
    conditions: str = ""
    """What the full schema requires in addition, as a sentence for models; empty for nothing."""


def flatten_schema(schema: dict[str, Any]) -> ToolSchema:
    """Remove from the top of a schema what strict clients refuse. A schema without that is returned as it is."""
    own = schema.get("properties", {})
    is_plain = (
        not any(key in schema for key in (*_CONDITIONS, *_REFERENCES))
        and all(map(PROPERTY_NAME.fullmatch, own))
        and all(name in own for name in schema.get("required", ()))
    )
    if is_plain:
        return ToolSchema(schema)
    found = _collect(schema, schema, 0)
    shown = {name: spec for name, spec in found.properties.items() if PROPERTY_NAME.fullmatch(name)}
    hidden = {name: spec for name, spec in found.properties.items() if name not in shown}
    left_out = {*_CONDITIONS, *_REFERENCES, "unevaluatedProperties", "required"}
    if schema.get("additionalProperties") is False:  # a parameter that only a part names is refused by the whole
        shown = {name: spec for name, spec in shown.items() if name in own}
        left_out |= {"additionalProperties"} if hidden else set()
    flat = {key: value for key, value in schema.items() if key not in left_out} | {"properties": shown}
    if required := [name for name in found.required if name in shown]:
        flat["required"] = required
    conditions = {key: schema[key] for key in _CONDITIONS if key in schema}
    if hidden:
        conditions = {"properties": hidden, "required": [one for one in found.required if one in hidden], **conditions}
    return ToolSchema(flat, _describe(conditions))


def _describe(conditions: Mapping[str, Any]) -> str:
    if not conditions:
        return ""
    text = escape_invisible(json.dumps(conditions, ensure_ascii=False, separators=(",", ":")), lines=False)
    if len(text) > _LONGEST_CONDITIONS:
        return "The full schema of the parameters has further conditions; help/describe shows it."
    return f"The parameters must also match this JSON Schema: {text}"


class _Parameters(msgspec.Struct, frozen=True):
    """The parameters that a schema or a part of it names, and those of them that it always requires."""

    properties: dict[str, Any]
    required: tuple[str, ...]

    def and_always(self, other: _Parameters) -> _Parameters:
        """Add a part that always applies. The schema that a parameter has already is the more general one."""
        return self._join(other, (*self.required, *other.required))

    def and_perhaps(self, other: _Parameters) -> _Parameters:
        """Add a part that may apply."""
        return self._join(other, self.required)

    def or_else(self, other: _Parameters) -> _Parameters:
        """Join two alternatives: a parameter may match the schema of either."""
        return self._join(other, (one for one in self.required if one in other.required), either=True)

    def _join(self, other: _Parameters, required: Iterable[str], *, either: bool = False) -> _Parameters:
        properties = dict(self.properties)
        for name, spec in other.properties.items():
            known = properties.get(name)
            properties[name] = spec if not known else _either(known, spec) if either else known
        return _Parameters(properties, tuple(dict.fromkeys(required)))


def _collect(root: Mapping[str, Any], part: Any, depth: int) -> _Parameters:
    """Collect the parameters of a schema, from all its parts that apply to the same object."""
    if not isinstance(part, dict) or depth > _DEEPEST:
        return _Parameters({}, ())
    named, needed = part.get("properties"), part.get("required")
    specs = {name: {} if spec is True else spec for name, spec in named.items()} if isinstance(named, dict) else {}
    required = tuple(name for name in needed if isinstance(name, str)) if isinstance(needed, list) else ()
    properties = {name: spec for name, spec in specs.items() if spec is not False}
    found = _Parameters(properties | {name: {} for name in required if name not in properties}, required)
    for inner in (_resolve(root, part), *_parts(part, "allOf")):
        found = found.and_always(_collect(root, inner, depth + 1))
    for keyword in ("anyOf", "oneOf"):
        if branches := [_collect(root, inner, depth + 1) for inner in _parts(part, keyword)]:
            found = found.and_always(functools.reduce(_Parameters.or_else, branches))
    for keyword in ("then", "else"):
        found = found.and_perhaps(_collect(root, part.get(keyword), depth + 1))
    return found


def _either(known: Any, spec: Any) -> Any:
    """A schema that accepts what either accepts."""
    kinds = known["anyOf"] if list(known) == ["anyOf"] else [known]
    return known if not spec or spec in kinds else {"anyOf": [*kinds, spec]}


def _parts(part: Mapping[str, Any], keyword: str) -> list[Any]:
    found = part.get(keyword)
    return found if isinstance(found, list) else []


def _resolve(root: Mapping[str, Any], part: Mapping[str, Any]) -> Any:
    """The part of the same document that a reference names, or None."""
    reference = part.get("$ref")
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return None
    node: Any = root
    for step in reference[2:].split("/"):
        key = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(node, dict) or key not in node:
            return None
        node = node[key]
    return node
