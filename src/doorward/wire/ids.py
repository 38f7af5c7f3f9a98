"""Ids of requests: which are taken, by whoever reads messages and by whoever only carries them."""

from __future__ import annotations

from typing import Any, TypeGuard

Id = str | int

LONGEST = 256
_LARGEST = 2**53
"""Beyond this, programs that count in floating point take two numbers for one."""


def is_id(value: Any) -> TypeGuard[Id]:
    if type(value) is int:
        return -_LARGEST < value < _LARGEST
    return type(value) is str and len(value) <= LONGEST
