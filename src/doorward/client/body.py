"""What is sent: values that JSON has a form for, and the names of those that it has none for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec

from doorward.errors import BadParams


def encoded(body: Mapping[str, Any]) -> bytes:
    """A body as JSON. What has no form there is refused: the encoder would write NaN as null, and null be stored."""
    for name, value in body.items():
        _written(value, f"The value of {name!r}")
    return _written(dict(body), "This")


def parameters(command: str, given: Mapping[str, Any] | None, named: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a call, each given once and each with a form in JSON."""
    twice = set(given or {}) & set(named)
    if twice:
        raise BadParams(f"{command}: given both by name and in params: {', '.join(sorted(twice))}.")
    params = {**(given or {}), **named}
    for name, value in params.items():
        _written(value, f"{command}: the parameter {name!r}")
    return params


def text(value: Any, what: str, such_as: str) -> str:
    """A name that must be text; anything else is what a program gives that lost it on the way."""
    if not isinstance(value, str):
        raise BadParams(f"{what} is given as text, such as {such_as!r}; given was {_shown(value)}.")
    return value


def _written(value: Any, what: str) -> bytes:
    """A value as JSON, if it can be written so without a loss."""
    try:
        plain = msgspec.to_builtins(value, str_keys=True)
        written = msgspec.json.encode(plain)
        odd = _odd_number(plain)
    except RecursionError as error:
        raise BadParams(f"{what} cannot be written as JSON: it nests too deeply, or holds itself.") from error
    except (TypeError, ValueError) as error:
        raise BadParams(f"{what} cannot be written as JSON: {str(error).removesuffix('.')}.") from error
    if odd is not None:
        where, number = odd
        inside = f" at {where}" if where else ""
        raise BadParams(f"{what} cannot be written as JSON: valid are finite numbers; given{inside} was {number}.")
    return written


def _odd_number(value: Any, where: str = "") -> tuple[str, float] | None:
    """Where there is a number without an end, or none at all, and which."""
    if isinstance(value, float):
        return None if math.isfinite(value) else (where, value)
    inner: list[tuple[str, Any]] = []
    if isinstance(value, dict):
        inner = [(f"{where}.{key}" if where else str(key), one) for key, one in value.items()]
    elif isinstance(value, list | tuple):
        inner = [(f"{where}[{number}]", one) for number, one in enumerate(value)]
    for path, one in inner:
        found = _odd_number(one, path)
        if found is not None:
            return found
    return None


def _shown(value: Any) -> str:
    return repr(value) if value is None or isinstance(value, bool | int | float) else f"a {type(value).__name__}"
