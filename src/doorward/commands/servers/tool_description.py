"""Descriptions of upstream tools: hidden characters escaped, length limited, and marked as the server's words."""

from __future__ import annotations

from typing import Any

from doorward.core.escape_invisible import escape_invisible
from doorward.upstream.tool_offers import ToolOffer

_LONGEST_SUMMARY = 160
_LONGEST_DESCRIPTION = 6_000
_LONGEST_WORDS = 2_000
"""The maximum number of characters of a description in a schema."""
_DEEPEST = 64
_WORDS = frozenset(("description", "title", "$comment"))
_VALUES = frozenset(("enum", "const", "default", "examples"))
_NAMED = frozenset(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"))
_CLAIMS = {
    "readOnlyHint": ("only reads", "may change something"),
    "destructiveHint": ("may destroy something", "destroys nothing"),
    "idempotentHint": ("has no further effect when repeated", "has further effects when repeated"),
    "openWorldHint": ("reaches beyond its own system", "stays within its own system"),
}


def to_one_line(text: str, longest: int) -> str:
    """A text on one line, with hidden characters escaped, cut to `longest` characters."""
    line = " ".join(escape_invisible(text).split())
    return line if len(line) <= longest else f"{line[:longest]}…"


def summarize_tool(offer: ToolOffer) -> str:
    definition = offer.public_definition
    said = definition.description.strip().partition("\n")[0] or definition.title
    server = offer.upstream.id
    return f"{server}: {to_one_line(said, _LONGEST_SUMMARY)}" if said.strip() else f"{server}: {definition.name}"


def describe_tool(offer: ToolOffer, conditions: str) -> str:
    """The description for models: the server's words marked as such, its claims and conditions, and warnings."""
    definition = offer.public_definition
    lines = [f"Tool {definition.name} of the MCP server {offer.upstream.id}; these are that server's words:"]
    lines.append(_cut(definition.description or definition.title, _LONGEST_DESCRIPTION) or "(none)")
    if claimed := describe_claims(definition.annotations):
        lines.append(f"(The server claims, unchecked, that it {claimed}.)")
    if conditions:
        lines.append(f"({conditions})")
    lines += [f"(Doorward warns: {warning}.)" for warning in offer.warnings]
    return "\n".join(lines)


def describe_claims(annotations: dict[str, Any] | None) -> str:
    """The server's claims about the effects of its tool, as a clause; empty if it makes none."""
    given = annotations or {}
    return ", ".join(
        yes if given[hint] else no for hint, (yes, no) in _CLAIMS.items() if isinstance(given.get(hint), bool)
    )


def describe_for_approval(offer: ToolOffer) -> str:
    """The text that a person reads next to the parameters before deciding an approval."""
    definition, config = offer.public_definition, offer.upstream.config
    lines = [f"It calls the tool {definition.name} of the MCP server {config.id}. The server's description:"]
    lines.append(_cut(definition.description or definition.title, _LONGEST_WORDS) or "(none)")
    if claimed := describe_claims(definition.annotations):
        lines.append(f"The server claims, unchecked, that it {claimed}.")
    if offer.new:
        lines.append("This tool is new: the server added it later. Its calls need approval until the tool is approved.")
    lines += [f"Warning: {warning}." for warning in offer.warnings]
    return "\n".join(lines)


def escape_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """A server's schema with hidden characters in its texts escaped, and with implicit parts added."""
    shown: dict[str, Any] = {"type": "object", **_escape_node(schema, 0)}
    properties = shown.get("properties")
    if not isinstance(properties, dict):
        shown["properties"] = {}
    elif not all(isinstance(one, dict) for one in properties.values()):
        shown["properties"] = {key: _as_object(one) for key, one in properties.items()}
    return shown


def _as_object(spec: Any) -> Any:
    """Replace the boolean schemas `true` (any value) and `false` (no value) by their object form."""
    return spec if not isinstance(spec, bool) else {} if spec else {"not": {}}


def _escape_node(node: Any, depth: int) -> Any:
    if depth > _DEEPEST:
        return node
    if isinstance(node, list):
        return [_escape_node(one, depth + 1) for one in node]
    if not isinstance(node, dict):
        return node
    return {key: _escape_member(key, value, depth) for key, value in node.items()}


def _escape_member(key: str, value: Any, depth: int) -> Any:
    if key in _WORDS and isinstance(value, str):
        return _cut(value, _LONGEST_WORDS)
    if key in _VALUES:
        return value
    if key in _NAMED and isinstance(value, dict):
        return {name: _escape_node(one, depth + 1) for name, one in value.items()}
    return _escape_node(value, depth + 1)


def _cut(text: str, longest: int) -> str:
    shown = escape_invisible(text.strip().replace("\r\n", "\n"))
    return shown if len(shown) <= longest else f"{shown[:longest]}… ({len(shown)} characters)"
