"""A house of this test's own, with its REST door."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import AsyncIterator, Callable
from typing import Any

import argon2
import pytest
from rest_door import Rest


@pytest.fixture(autouse=True)
def cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashes that cost next to nothing; what real ones are is told in tests/rooms/test_passwords.py."""
    cheap = functools.partial(argon2.PasswordHasher, time_cost=1, memory_cost=8, parallelism=1)
    monkeypatch.setattr(argon2, "PasswordHasher", cheap)


@pytest.fixture
def rest_of() -> Callable[..., Any]:
    """The REST door of a driver's house."""

    @contextlib.asynccontextmanager
    async def made(driver: Any) -> AsyncIterator[Rest]:
        async with contextlib.AsyncExitStack() as closing:
            yield Rest(driver, closing)

    return made


@pytest.fixture
async def rest(driver: Any, rest_of: Callable[..., Any]) -> AsyncIterator[Rest]:
    async with rest_of(driver) as one:
        yield one
