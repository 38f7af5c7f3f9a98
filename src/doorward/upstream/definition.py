"""Tool definitions as servers send them, with a digest that reveals changes."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

_canonical = msgspec.json.Encoder(order="sorted").encode


class Definition(msgspec.Struct, frozen=True, kw_only=True):
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


def read(whole: dict[str, Any]) -> Definition:
    """Read a definition; raises ValueError with a clause that says why it is invalid."""
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
