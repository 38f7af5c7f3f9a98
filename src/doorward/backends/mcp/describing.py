"""How the words of upstream servers are shown: in full view, within measure, and plainly as theirs."""

from __future__ import annotations

from typing import Any

from doorward.upstream.offering import ToolOffer
from doorward.visible import visible

_LONGEST_SUMMARY = 160
_LONGEST_DESCRIPTION = 6_000
_LONGEST_WORDS = 2_000
"""Characters of a description inside a schema."""
_DEEPEST = 64
_WORDS = frozenset(("description", "title", "$comment"))
_VALUES = frozenset(("enum", "const", "default", "examples"))
_NAMED = frozenset(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"))
_CLAIMS = {
    "readOnlyHint": ("only reads", "may change something"),
    "destructiveHint": ("may destroy something", "destroys nothing"),
    "idempotentHint": ("changes nothing more when repeated", "does more when repeated"),
    "openWorldHint": ("reaches beyond its own system", "stays within its own system"),
}


def one_line(text: str, longest: int) -> str:
    """A text on one line, hidden characters written out, no longer than this."""
    line = " ".join(visible(text).split())
    return line if len(line) <= longest else f"{line[:longest]}…"


def summary(offer: ToolOffer) -> str:
    definition = offer.shown
    said = definition.description.strip().partition("\n")[0] or definition.title
    server = offer.upstream.id
    return f"{server}: {one_line(said, _LONGEST_SUMMARY)}" if said.strip() else f"{server}: {definition.name}"


def description(offer: ToolOffer) -> str:
    """What a model reads: whose words these are, the words, what the server claims, and what Doorward warns of."""
    definition = offer.shown
    lines = [f"Tool {definition.name} of the MCP server {offer.upstream.id}; these are that server's words:"]
    lines.append(_cut(definition.description or definition.title, _LONGEST_DESCRIPTION) or "(none)")
    if claimed := claims(definition.annotations):
        lines.append(f"(The server claims, unchecked, that it {claimed}.)")
    lines += [f"(Doorward warns: {warning}.)" for warning in offer.warnings]
    return "\n".join(lines)


def claims(annotations: dict[str, Any] | None) -> str:
    """What a server says about the effects of its tool, as a clause; empty when it says nothing."""
    given = annotations or {}
    return ", ".join(
        yes if given[hint] else no for hint, (yes, no) in _CLAIMS.items() if isinstance(given.get(hint), bool)
    )


def for_approval(offer: ToolOffer) -> str:
    """What a person reads beside the parameters before deciding."""
    definition, config = offer.shown, offer.upstream.config
    lines = [f"It calls the tool {definition.name} of the MCP server {config.id}, which says of it:"]
    lines.append(_cut(definition.description or definition.title, _LONGEST_WORDS) or "(nothing)")
    if claimed := claims(definition.annotations):
        lines.append(f"The server claims, unchecked, that it {claimed}.")
    if offer.new:
        lines.append("This tool is new: the server added it after it was known, so its calls ask until it is approved.")
    lines += [f"Warning: {warning}." for warning in offer.warnings]
    return "\n".join(lines)


def parameters(schema: dict[str, Any]) -> dict[str, Any]:
    """A server's schema as it is, but with its words in full view, and with the parts that may go without saying."""
    shown: dict[str, Any] = {"type": "object", **_shown(schema, 0)}
    properties = shown.get("properties")
    if not isinstance(properties, dict):
        shown["properties"] = {}
    elif not all(isinstance(one, dict) for one in properties.values()):
        shown["properties"] = {key: _as_object(one) for key, one in properties.items()}
    return shown


def _as_object(spec: Any) -> Any:
    """The schemas `true` and `false`, which say of every value that it fits or does not, in the longer form."""
    return spec if not isinstance(spec, bool) else {} if spec else {"not": {}}


def _shown(node: Any, depth: int) -> Any:
    if depth > _DEEPEST:
        return node
    if isinstance(node, list):
        return [_shown(one, depth + 1) for one in node]
    if not isinstance(node, dict):
        return node
    return {key: _member(key, value, depth) for key, value in node.items()}


def _member(key: str, value: Any, depth: int) -> Any:
    if key in _WORDS and isinstance(value, str):
        return _cut(value, _LONGEST_WORDS)
    if key in _VALUES:
        return value
    if key in _NAMED and isinstance(value, dict):
        return {name: _shown(one, depth + 1) for name, one in value.items()}
    return _shown(value, depth + 1)


def _cut(text: str, longest: int) -> str:
    shown = visible(text.strip().replace("\r\n", "\n"))
    return shown if len(shown) <= longest else f"{shown[:longest]}… ({len(shown)} characters)"
