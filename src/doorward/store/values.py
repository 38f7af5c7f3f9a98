"""Conversion of single values between JSON and the database."""

from __future__ import annotations

import base64
import binascii
import math
from datetime import UTC, datetime
from typing import Any

import msgspec

from doorward.core.clock import to_iso
from doorward.core.command import shorten
from doorward.core.errors import BadParams

Scalar = str | int | float | bool | None

_decode = msgspec.json.Decoder().decode


def scalar(value: Any, where: str) -> Scalar:
    """Check that a value can be bound: a string, a number, a boolean or null."""
    if value is not None and not isinstance(value, str | int | float):
        raise BadParams(f"{where} takes a string, number, boolean or null; given {shorten(value)}.")
    check_storable(value, where)
    return value


def check_storable(value: Any, where: str) -> None:
    """Refuse values that JSON or the database cannot store unchanged."""
    if isinstance(value, str):
        if "\x00" in value or not _is_text(value):
            raise BadParams(f"{where} contains a NUL or half of a surrogate pair; give plain text.")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise BadParams(f"{where} takes finite numbers; given {value}.")
    elif isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise BadParams(f"{where} takes integers of at most 64 bits; given {shorten(value)}.")
    elif isinstance(value, dict):
        for key, inner in value.items():
            check_storable(key, where)
            check_storable(inner, where)
    elif isinstance(value, list):
        for inner in value:
            check_storable(inner, where)


def seconds(value: Scalar, where: str) -> Scalar:
    """Convert a time to seconds since 1970. A string is parsed as ISO 8601, in UTC if it has no time zone."""
    if not isinstance(value, str):
        return value
    try:
        moment = datetime.fromisoformat(value)
    except ValueError as error:
        raise BadParams(
            f"{where} takes a time: seconds since 1970 or ISO 8601 like 2026-01-31T12:00:00Z; given {shorten(value)}."
        ) from error
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def render_time(value: Any) -> Any:
    """Stored seconds as ISO 8601."""
    if not isinstance(value, int | float):
        return value
    return to_iso(value)


def render_value(value: Any) -> Any:
    """A database value as JSON: bytes as `{"$base64": …}`, infinities as strings."""
    if isinstance(value, bytes):
        return {"$base64": base64.b64encode(value).decode()}
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def render_type(value: Any, kind: str) -> Any:
    """A database value as JSON, given the type SQL reported."""
    if kind in ("true", "false"):
        return kind == "true"
    if kind in ("array", "object"):
        return _decode(value)
    return render_value(value)


def column(value: Any, where: str) -> Scalar | bytes:
    """A JSON value as a value of a table column."""
    if isinstance(value, dict) and list(value) == ["$base64"] and isinstance(value["$base64"], str):
        try:
            return base64.b64decode(value["$base64"], validate=True)
        except binascii.Error as error:
            raise BadParams(f"{where} is not base64; given {shorten(value['$base64'])}.") from error
    if isinstance(value, dict | list):
        check_storable(value, where)
        return msgspec.json.encode(value).decode()
    return scalar(value, where)


def _is_text(value: str) -> bool:
    return value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value)
