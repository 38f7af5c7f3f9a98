"""Published JSON Schemas: validation errors as sentences that name the field, and slots of example phrases."""

from __future__ import annotations

import difflib
import functools
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import jsonschema_rs

from doorward.core.command import shorten
from doorward.core.validation import Validator, validator

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OLD_TIER = "game"


class SchemaFault(NamedTuple):
    """One invalid value: its path, and a clause that says what is wrong, what is valid and what was given."""

    path: tuple[str | int, ...]
    reason: str

    @property
    def field(self) -> str:
        """The path as text, such as `strategy.aiCommands.whitelist[2]`."""
        return format_path(self.path)


def format_path(path: Sequence[str | int]) -> str:
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN_KEY.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f"[{shorten(step)}]"
    return text


class PublishedSchema:
    """A JSON Schema for editors, which Doorward itself validates with."""

    def __init__(self, text: bytes) -> None:
        self.schema: dict[str, Any] = json.loads(text)

    @functools.cached_property
    def _validator(self) -> Validator:
        """Built on first use, because building can take a tenth of a second."""
        return validator(self.schema)

    def first_fault(self, value: Any) -> SchemaFault | None:
        """The first fault of a value read from JSON, or None."""
        if self._validator.is_valid(value):
            return None
        return self._describe(next(self._validator.iter_errors(value)))

    def _describe(self, finding: jsonschema_rs.ValidationError) -> SchemaFault:
        path = tuple(finding.instance_path)
        node = self._node(finding.schema_path[:-1])
        details = finding.kind.as_dict()
        match finding.kind.name:
            case "additionalProperties":
                key = details["unexpected"][0]
                return SchemaFault((*path, key), _unknown_key(key, list(node["properties"])))
            case "required":
                return SchemaFault(
                    (*path, details["property"]),
                    f"it is missing; valid: {_as_clause(node['properties'][details['property']])}",
                )
            case "propertyNames":
                key = details["error"].instance
                return SchemaFault((*path, key), f"{shorten(key)} is not valid as a key; valid: {_as_clause(node)}")
            case "enum":
                return SchemaFault(path, _invalid_option(finding.instance, details["options"]))
            case "pattern" | "const":
                return SchemaFault(path, f"{shorten(finding.instance)} is not valid; valid: {_as_clause(node)}")
            case _:
                wrong = finding.message.removeprefix("it ")
                return SchemaFault(path, f"{shorten(finding.instance)} {wrong}")

    def _node(self, schema_path: Sequence[str | int]) -> Any:
        node: Any = self.schema
        for step in schema_path:
            node = node[step]
        return node


def _unknown_key(key: str, valid: list[str]) -> str:
    near = difflib.get_close_matches(key[:100], valid, n=1, cutoff=0.5)
    meant = f"; did you mean {near[0]!r}? Valid" if near else "; valid"
    return f"the key {shorten(key)} is unknown{meant}: {', '.join(valid)}"


def _invalid_option(given: Any, options: list[Any]) -> str:
    words = [str(option) for option in options]
    meant = ""
    if given == _OLD_TIER and "application" in words:
        meant = "; games belong to the tier 'application'"
    elif isinstance(given, str):
        near = difflib.get_close_matches(given[:100], words, n=1, cutoff=0.5)
        meant = f"; did you mean {near[0]!r}?" if near else ""
    return f"{shorten(given)} is not one of {', '.join(words)}{meant}"


def _as_clause(node: dict[str, Any]) -> str:
    description: str = node["description"].rstrip(".")
    return description[:1].lower() + description[1:]


SLOT = re.compile(r"\{([a-zA-Z]\w{0,40})\}")
MAX_SLOTS = 8
"""The most slots that a phrase may have, with words between each two."""


def find_slot_faults(says: str, path: tuple[str | int, ...]) -> Iterator[SchemaFault]:
    """Reasons why no sentence can match this phrase."""
    slots = SLOT.findall(says)
    if len(slots) > MAX_SLOTS:
        yield SchemaFault(path, f"it has {len(slots)} slots; valid: at most {MAX_SLOTS}")
    if not all(SLOT.split(says)[2:-1:2]):
        yield SchemaFault(path, "two slots are adjacent; valid: words between them, such as {branch} to {place}")
