"""Sets or removes one entry of a JSON configuration file, leaving every other byte unchanged."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from doorward.config import jsonc
from doorward.config.jsonc import JsonMember, JsonNode, error_at, parse_jsonc


def entries(text: str, container: str) -> dict[str, Any]:
    """Return all entries. Raises when a name occurs twice."""
    if not text.strip("\ufeff \t\r\n"):
        return {}
    held = _find_member(text, parse_jsonc(text), container)
    found: dict[str, Any] = {}
    for one in (held.node.members if held is not None else None) or []:
        if one.key in found:
            raise error_at(text, one.start, f"{one.key!r} occurs twice")
        found[one.key] = one.node.value
    return found


def entry(text: str, container: str, name: str) -> Any:
    """Return the entry, or None."""
    return entries(text, container).get(name)


def set_entry(text: str, container: str, name: str, value: Mapping[str, Any]) -> str:
    """Return the text with this entry set, in the style of the rest."""
    if not text.strip("\ufeff \t\r\n"):
        return json.dumps({container: {name: value}}, indent=2, ensure_ascii=False) + "\n"
    root = _require_object(text, parse_jsonc(text), "the file")
    held = _find_member(text, root, container)
    if held is None:
        return jsonc.insert_member(text, root, container, {name: value}, 0)
    inside = _require_object(text, held.node, f"{container!r}")
    ours = _find_member(text, inside, name)
    if ours is None:
        return jsonc.insert_member(text, inside, name, value, 1)
    if ours.node.value == value:
        return text
    return jsonc.replace_value(text, ours.node, value, 2, lines=jsonc.spans_lines(text, inside))


def remove_entry(text: str, container: str, name: str) -> str:
    """Return the text without this entry."""
    held = _find_member(text, _require_object(text, parse_jsonc(text), "the file"), container)
    inside = None if held is None else _require_object(text, held.node, f"{container!r}")
    ours = None if inside is None else _find_member(text, inside, name)
    if inside is None or ours is None or inside.members is None:
        return text
    return jsonc.remove_entry(text, inside, inside.members.index(ours))


def _require_object(text: str, node: JsonNode, what: str) -> JsonNode:
    if node.members is None:
        raise error_at(text, node.start, f"{what} must be a JSON object")
    return node


def _find_member(text: str, node: JsonNode, key: str) -> JsonMember | None:
    """Return the member with that key. Raises when it occurs twice, because no edit is safe then."""
    found = [one for one in node.members or [] if one.key == key]
    if len(found) > 1:
        raise error_at(text, found[1].start, f"{key!r} occurs twice")
    return found[0] if found else None
