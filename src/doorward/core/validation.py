"""JSON Schema validators that fetch nothing, cannot stall on a pattern and do not quote values in errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jsonschema_rs

Validator = jsonschema_rs.Draft202012Validator


def validator(schema: Any, keywords: Mapping[str, Any] | None = None) -> Validator:
    """Compile a schema. Raises ValueError or ReferencingError when it is invalid or refers elsewhere."""
    return Validator(
        schema,
        retriever=_refuse_remote,
        pattern_options=jsonschema_rs.RegexOptions(),
        mask="it",
        keywords=dict(keywords or {}),
    )


def _refuse_remote(uri: str) -> Any:
    raise ValueError(f"a schema may not refer to {uri!r}: remote references are not followed")
