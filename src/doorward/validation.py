"""Validators of JSON Schema, made in one way: nothing is fetched, no pattern can stall, no value is repeated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jsonschema_rs

Validator = jsonschema_rs.Draft202012Validator


def validator(schema: Any, keywords: Mapping[str, Any] | None = None) -> Validator:
    """What holds values against a schema. ValueError or ReferencingError: it is none, or refers elsewhere."""
    return Validator(
        schema,
        retriever=_refuse_remote,
        pattern_options=jsonschema_rs.RegexOptions(),
        mask="it",
        keywords=dict(keywords or {}),
    )


def _refuse_remote(uri: str) -> Any:
    raise ValueError(f"a schema may not refer to {uri!r}: remote references are not followed")
