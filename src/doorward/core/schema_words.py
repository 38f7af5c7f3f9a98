"""JSON Schema in words: usage lines of commands, and requirements and names for error sentences."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from jsonschema_rs import ValidationError

_TYPES = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}
_BOUNDS = {
    "minimum": ("be at least", ""),
    "maximum": ("be at most", ""),
    "exclusiveMinimum": ("be greater than", ""),
    "exclusiveMaximum": ("be less than", ""),
    "minLength": ("have at least", "character"),
    "maxLength": ("have at most", "character"),
    "minItems": ("have at least", "item"),
    "maxItems": ("have at most", "item"),
    "minProperties": ("have at least", "field"),
    "maxProperties": ("have at most", "field"),
}
_MAX_OPTIONS = 40


def usage_line(schema: Mapping[str, Any], required: Sequence[str]) -> str:
    """Parameters on one line: required ones bare, optional ones in brackets."""
    return " ".join(usage_words(schema, required).values()) or "none"


def usage_words(schema: Mapping[str, Any], required: Sequence[str]) -> dict[str, str]:
    """How each parameter is typed: required ones bare, optional ones in brackets."""
    words = {key: f"--{key}=<{_type_word(spec)}>" for key, spec in schema["properties"].items()}
    return {key: word if key in required else f"[{word}]" for key, word in words.items()}


def _type_word(spec: Any) -> str:
    """The type of a parameter in one word, or its values."""
    if not isinstance(spec, dict):  # a schema can also be true
        return "value"
    if "enum" in spec:
        return "|".join(str(value) for value in spec["enum"])
    kind = spec.get("type")
    if isinstance(kind, str):
        return kind
    if "anyOf" in spec:
        return "|".join(_type_word(one) for one in spec["anyOf"] if one != {"type": "null"})
    return "value"


def closest_fault(fault: ValidationError) -> ValidationError:
    """The fault itself or, where a value fits no alternative, the fault in the only alternative that has its type."""
    if fault.kind.name != "anyOf":
        return fault
    close = [one for one in _alternatives(fault) if one.kind.name != "type" or one.instance_path != fault.instance_path]
    return closest_fault(close[0]) if len(close) == 1 else fault


def requirement(fault: ValidationError) -> str:
    """What the violated keyword requires, as words to follow "must"; empty for keywords that need the schema itself."""
    keyword, detail = fault.kind.name, fault.kind.as_dict()
    if keyword in _BOUNDS:
        words, unit = _BOUNDS[keyword]
        return f"{words} {detail['limit']}{f' {unit}' if unit else ''}{'s' if unit and detail['limit'] != 1 else ''}"
    if keyword == "type":
        return f"be {_join_types(detail['types'])}"
    if keyword == "enum":
        shown = [_to_word(value) for value in detail["options"][:_MAX_OPTIONS]]
        rest = len(detail["options"]) - len(shown)
        return f"be one of {', '.join(shown)}{f' and {rest} more' if rest else ''}"
    if keyword == "const":
        return f"be {_to_word(detail['expected_value'])}"
    if keyword == "multipleOf":
        return f"be a multiple of {detail['multiple_of']}"
    if keyword == "pattern":
        return f"match {detail['pattern']}"
    if keyword == "anyOf" and all(one.kind.name == "type" for one in _alternatives(fault)):
        return f"be {_join_types([name for one in _alternatives(fault) for name in one.kind.as_dict()['types']])}"
    return ""


def names_around(fault: ValidationError, schema: Any) -> list[str]:
    """The names that the object with this fault may have; empty when the schema does not list them."""
    for step in list(fault.schema_path)[:-1] if list(fault.instance_path) else []:
        try:
            schema = schema[step]
        except (LookupError, TypeError):
            return []
    return list(schema.get("properties", {})) if isinstance(schema, Mapping) else []


def _alternatives(fault: ValidationError) -> list[ValidationError]:
    """The first fault in each alternative."""
    return [faults[0] for faults in fault.kind.as_dict()["context"] if faults]


def _join_types(names: list[str]) -> str:
    """Types with an article. Null is left out beside others: it stands for a parameter that is not given."""
    others = [name for name in dict.fromkeys(names) if name != "null"]
    return " or ".join(_TYPES.get(name, name) for name in others) or "null"


def _to_word(value: Any) -> str:
    return value if isinstance(value, str) and value else json.dumps(value)
