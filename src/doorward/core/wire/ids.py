"""Request ids: which ones are valid, for code that parses messages and code that only relays them."""

from __future__ import annotations

from typing import Any, TypeGuard

Id = str | int

MAX_LENGTH = 256
_MAX_INTEGER = 2**53
"""Beyond this, programs with floating-point numbers cannot tell two ids apart."""


def is_id(value: Any) -> TypeGuard[Id]:
    if type(value) is int:
        return -_MAX_INTEGER < value < _MAX_INTEGER
    return type(value) is str and len(value) <= MAX_LENGTH
