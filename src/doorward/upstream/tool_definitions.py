"""Tool definitions as servers send them, with a digest and the diff of two versions."""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Iterator
from typing import Any

import msgspec

from doorward.core.escape_invisible import escape_invisible

_canonical = msgspec.json.Encoder(order="sorted").encode


class ToolDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as its server describes it. The content is untrusted: it is shown but never relied on."""

    name: str
    title: str = ""
    description: str = ""
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None = None
    annotations: dict[str, Any] | None = None
    digest: str
    """Hash of the whole definition in canonical form."""
    whole: dict[str, Any]
    """The whole definition as received."""


def read_definition(whole: dict[str, Any]) -> ToolDefinition:
    """Read a definition; raises ValueError with a clause that says why it is invalid."""
    name, schema = whole.get("name"), whole.get("inputSchema")
    if not isinstance(name, str) or not name:
        raise ValueError("a tool has no name")
    if not isinstance(schema, dict):
        raise ValueError(f"the tool {name[:80]!r} has no inputSchema that is an object")
    output, annotations = whole.get("outputSchema"), whole.get("annotations")
    return ToolDefinition(
        name=name,
        title=_text_or_empty(whole.get("title")),
        description=_text_or_empty(whole.get("description")),
        input_schema=schema,
        output_schema=output if isinstance(output, dict) else None,
        annotations=annotations if isinstance(annotations, dict) else None,
        digest=compute_digest(whole),
        whole=whole,
    )


def compute_digest(whole: dict[str, Any]) -> str:
    return hashlib.sha256(_canonical(whole)).hexdigest()


def _text_or_empty(value: Any) -> str:
    return value if isinstance(value, str) else ""


_MOST_LINES = 1_000
_LONGEST_LINE = 500
_LONGEST_NAME = 100
_MOST_SHOWN = 200
_FIRST_FIELDS = ("description", "title", "inputSchema")
"""The fields that matter for models and validation come first, so that added fields cannot push them out of view."""
_LOOKS_LIKE_JSON = tuple('"[{-0123456789')
_WORDS_OF_JSON = frozenset(("", "true", "false", "null"))


def render_difference(before: dict[str, Any], after: dict[str, Any]) -> str:
    """Diff lines: `-` for removed and `+` for added values, each with its path. Invisible characters are escaped."""
    compared = difflib.unified_diff(_render_lines(before), _render_lines(after), lineterm="", n=1)
    found = [line for line in list(compared)[2:] if not line.startswith("@@")]
    if len(found) > _MOST_SHOWN:
        more = f"… and {len(found) - _MOST_SHOWN} more lines of difference not shown"
        found = [*found[:_MOST_SHOWN], more]
    if not found and before != after:
        found = ["(the difference is in the part that is not shown)"]
    return "\n".join(found)


def _render_lines(whole: dict[str, Any]) -> list[str]:
    """Write a definition with one line for each value, in an order that does not depend on how it was sent."""
    lines: list[str] = []
    rest = hashlib.sha256()
    hidden = 0
    for line in _iterate_lines(whole):
        if len(lines) < _MOST_LINES:
            lines.append(line)
        else:
            rest.update(f"{line}\n".encode("utf-8", "surrogatepass"))
            hidden += 1
    if hidden:
        lines.append(f"({hidden} more lines not shown, with the hash {rest.hexdigest()[:16]})")
    return lines


def _iterate_lines(whole: dict[str, Any]) -> Iterator[str]:
    order = [*(key for key in _FIRST_FIELDS if key in whole), *sorted(key for key in whole if key not in _FIRST_FIELDS)]
    for key in order:
        for place, text in _iterate_leaves(_render_name(key), whole[key]):
            for line in text.split("\n"):
                shown = _escape(line)
                yield f"{place}: {shown[:_LONGEST_LINE]}"
                for at in range(_LONGEST_LINE, len(shown), _LONGEST_LINE):
                    yield f"{place} (continued): {shown[at : at + _LONGEST_LINE]}"


def _iterate_leaves(place: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for key in sorted(value):
            yield from _iterate_leaves(f"{place}.{_render_name(key)}", value[key])
    elif isinstance(value, list) and value:
        for number, item in enumerate(value):
            yield from _iterate_leaves(f"{place}[{number}]", item)
    elif isinstance(value, str) and value not in _WORDS_OF_JSON and not value.startswith(_LOOKS_LIKE_JSON):
        yield place, value
    else:  # a text that could be mistaken for a number or keyword is quoted
        yield place, json.dumps(value, ensure_ascii=False)


def _render_name(key: str) -> str:
    """A member name. One that could be mistaken for another, or for several, is quoted."""
    plain = key.replace("_", "").replace("-", "").replace("$", "").isalnum()
    shown = _escape(key if plain else json.dumps(key, ensure_ascii=False))
    if len(shown) <= _LONGEST_NAME:
        return shown
    mark = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{shown[:_LONGEST_NAME]}…({mark})"


def _escape(text: str) -> str:
    """Escape invisible characters. Backslashes are doubled, so that they do not look like escapes."""
    return escape_invisible(text.replace("\\", "\\\\"), lines=False)
