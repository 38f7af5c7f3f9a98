"""What a server says of one of its tools, and the mark by which a change of it is known."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

_canonical = msgspec.json.Encoder(order="sorted").encode


class Definition(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as its server describes it. All of this is somebody else's word: it is shown and never trusted."""

    name: str
    title: str = ""
    description: str = ""
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None = None
    annotations: dict[str, Any] | None = None
    digest: str
    """A hash of the whole definition as it came, in canonical form."""
    whole: dict[str, Any]
    """All of it, as it came."""


def read(whole: dict[str, Any]) -> Definition:
    """A definition as it came; ValueError, with a clause that says why, when it is none."""
    name, schema = whole.get("name"), whole.get("inputSchema")
    if not isinstance(name, str) or not name:
        raise ValueError("a tool has no name")
    if not isinstance(schema, dict):
        raise ValueError(f"the tool {name[:80]!r} has no inputSchema that is an object")
    output, annotations = whole.get("outputSchema"), whole.get("annotations")
    return Definition(
        name=name,
        title=_text(whole.get("title")),
        description=_text(whole.get("description")),
        input_schema=schema,
        output_schema=output if isinstance(output, dict) else None,
        annotations=annotations if isinstance(annotations, dict) else None,
        digest=digest(whole),
        whole=whole,
    )


def digest(whole: dict[str, Any]) -> str:
    return hashlib.sha256(_canonical(whole)).hexdigest()


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
