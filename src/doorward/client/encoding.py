"""Encodes requests: JSON bodies, and the URL paths of the server's resources."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import msgspec

from doorward.core.errors import BadParams, Unreachable


def encode_body(body: Mapping[str, Any]) -> bytes:
    """Encode a body as JSON. Raises for NaN and infinity, which the encoder would silently write as null."""
    for name, value in body.items():
        _encode_value(value, f"The value of {name!r}")
    return _encode_value(dict(body), "This")


def merge_parameters(command: str, given: Mapping[str, Any] | None, named: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the parameters of a call. Raises for a parameter given twice or not representable in JSON."""
    twice = set(given or {}) & set(named)
    if twice:
        raise BadParams(f"{command}: parameters given both by name and in params: {', '.join(sorted(twice))}.")
    params = {**(given or {}), **named}
    for name, value in params.items():
        _encode_value(value, f"{command}: the parameter {name!r}")
    return params


def require_text(value: Any, what: str, such_as: str) -> str:
    """Return a value that must be a string; raises otherwise."""
    if not isinstance(value, str):
        raise BadParams(f"{what} must be a string, such as {such_as!r}; given: {_describe_value(value)}.")
    return value


def _encode_value(value: Any, what: str) -> bytes:
    """Encode a value as JSON; raises when it cannot be represented exactly."""
    try:
        plain = msgspec.to_builtins(value, str_keys=True)
        written = msgspec.json.encode(plain)
        odd = _find_non_finite(plain)
    except RecursionError as error:
        raise BadParams(f"{what} cannot be written as JSON: it is nested too deeply or contains itself.") from error
    except (TypeError, ValueError) as error:
        raise BadParams(f"{what} cannot be written as JSON: {str(error).removesuffix('.')}.") from error
    if odd is not None:
        where, number = odd
        inside = f" at {where}" if where else ""
        raise BadParams(f"{what} cannot be written as JSON: numbers must be finite; given{inside}: {number}.")
    return written


def _find_non_finite(value: Any, where: str = "") -> tuple[str, float] | None:
    """Find a NaN or an infinity; returns its path and value."""
    if isinstance(value, float):
        return None if math.isfinite(value) else (where, value)
    inner: list[tuple[str, Any]] = []
    if isinstance(value, dict):
        inner = [(f"{where}.{key}" if where else str(key), one) for key, one in value.items()]
    elif isinstance(value, list | tuple):
        inner = [(f"{where}[{number}]", one) for number, one in enumerate(value)]
    for path, one in inner:
        found = _find_non_finite(one, path)
        if found is not None:
            return found
    return None


def _describe_value(value: Any) -> str:
    return repr(value) if value is None or isinstance(value, bool | int | float) else f"a {type(value).__name__}"


def quote_part(name: str, *, deep: bool = False) -> str:
    """Quote a name or an id for a URL path. With `deep`, it may contain slashes."""
    require_text(name, "A name or an id", "shell/ls" if deep else "general")
    pieces = name.split("/") if deep else [name]
    if any(piece in ("", ".", "..") for piece in pieces):
        raise BadParams(f"Invalid name {name!r}; valid: a name or an id, without empty parts, '.' or '..'.")
    return "/".join(quote(piece, safe="") for piece in pieces)


class Page(list[dict[str, Any]]):
    """One page of a list. `next` is the cursor of the following page, and None on the last one."""

    next: Any = None
    total: int | None = None

    @classmethod
    def of(cls, said: Any) -> Page:
        if not isinstance(said, dict) or not isinstance(said.get("items"), list):
            raise Unreachable("The response is not a Doorward list.")
        page = cls(said["items"])
        page.next, page.total = said.get("next", said.get("cursor")), said.get("total")
        return page
