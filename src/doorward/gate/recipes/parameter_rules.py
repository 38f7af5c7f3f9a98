"""Parameter rules: constraints of a recipe on the parameters of a command."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from doorward.core.command import shorten
from doorward.core.validation import validator
from doorward.gate.recipes.globs import compile_glob
from doorward.gate.recipes.schema import SchemaFault

_KEYWORD_TYPES = {
    "glob": {"string", "array"},
    "pattern": {"string"},
    "minLength": {"string"},
    "maxLength": {"string"},
    "minimum": {"number", "integer"},
    "maximum": {"number", "integer"},
    "exclusiveMinimum": {"number", "integer"},
    "exclusiveMaximum": {"number", "integer"},
    "multipleOf": {"number", "integer"},
    "items": {"array"},
    "minItems": {"array"},
    "maxItems": {"array"},
    "uniqueItems": {"array"},
}
"""The value types that each keyword of a rule applies to."""


class ParameterRule:
    """One compiled rule. A value of a type that none of its keywords applies to is refused."""

    def __init__(self, rule: Mapping[str, Any]) -> None:
        self._text = json.dumps(rule, ensure_ascii=True)
        self._validator = validator(_to_schema(rule), {"glob": _GlobKeyword})

    def __str__(self) -> str:
        return self._text if len(self._text) <= 200 else f"{self._text[:200]}…"

    def allows(self, value: Any) -> bool:
        return self._validator.is_valid(value)


class _GlobKeyword:
    """The keyword `glob` for the validator: one of the globs must match the path, or each path of a list."""

    def __init__(self, parent: dict[str, Any], value: str | list[str], path: list[str | int]) -> None:
        self._globs: list[Callable[[str], bool]] = [compile_glob(glob) for glob in _as_list(value)]

    def validate(self, instance: Any) -> None:
        for path in _as_list(instance):
            if not isinstance(path, str) or not any(matches(path) for matches in self._globs):
                raise ValueError("no glob matches")


def find_faults(rule: Mapping[str, Any], path: tuple[str | int, ...]) -> Iterator[SchemaFault]:
    """Find faults beyond the recipe schema: invalid globs and expressions, and keywords that do not fit the type."""
    for number, glob in enumerate(_as_list(rule.get("glob", []))):
        try:
            compile_glob(glob)
        except ValueError as error:
            where = (*path, "glob", number) if isinstance(rule["glob"], list) else (*path, "glob")
            yield SchemaFault(where, f"{error}; given {shorten(glob)}")
    if "pattern" in rule:
        yield from _find_expression_faults(rule["pattern"], (*path, "pattern"))
    types = set(_as_list(rule["type"])) if "type" in rule else None
    for word in rule:
        if types is not None and word in _KEYWORD_TYPES and not _KEYWORD_TYPES[word] & types:
            judged = " or ".join(sorted(_KEYWORD_TYPES[word]))
            yield SchemaFault(
                (*path, word),
                f"it does not apply to values of type {', '.join(sorted(types))}; valid with type {judged}",
            )
    if "items" in rule:
        yield from find_faults(rule["items"], (*path, "items"))


def _find_expression_faults(expression: str, path: tuple[str | int, ...]) -> Iterator[SchemaFault]:
    try:
        validator({"pattern": expression})
    except ValueError:
        yield SchemaFault(
            path,
            f"{shorten(expression)} is not a supported regular expression;"
            " valid: one without look-around and back-references, and not too large",
        )


def _to_schema(rule: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a rule to a JSON schema that refuses values its keywords do not apply to, unlike plain JSON Schema."""
    schema = {key: value for key, value in rule.items() if key != "description"}
    judged = set().union(*(_KEYWORD_TYPES.get(word, set()) for word in schema))
    if judged and "type" not in schema:
        schema["type"] = sorted(judged)
    if "items" in schema:
        schema["items"] = _to_schema(schema["items"])
    return schema


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
