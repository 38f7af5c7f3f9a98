"""Passwords: rules, and hashes that are slow on purpose."""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Callable
from typing import TypeVar

from doorward.core.errors import BadParams, Overloaded

MIN_LENGTH = 12
MAX_LENGTH = 1_000
_MAX_PARALLEL = 2
"""Hashes computed at a time. Each takes 64 MB and a full processor core."""
_MAX_WAITING = 30

T = TypeVar("T")


class PasswordHasher:
    """Computes and checks hashes in threads, a few at a time."""

    def __init__(self) -> None:
        self._places = asyncio.Semaphore(_MAX_PARALLEL)
        self._waiting = 0
        self._decoy = ""

    async def hash(self, password: str) -> str:
        return await self._run_in_thread(lambda: _hash(_encode(password)))

    async def verify(self, password: str, hash: str | None) -> bool:
        """Whether this is the password. Without a hash the same work is done, so that timing reveals nothing."""
        if not self._decoy:
            self._decoy = await self.hash("")
        fits = await self._run_in_thread(lambda: _verify(hash or self._decoy, _encode(password)))
        return fits and hash is not None

    async def _run_in_thread(self, work: Callable[[], T]) -> T:
        if self._waiting >= _MAX_WAITING:
            raise Overloaded("Too many passwords are being checked now.", retry_after=2.0)
        self._waiting += 1
        try:
            async with self._places:
                return await asyncio.to_thread(work)
        finally:
            self._waiting -= 1


def check_password(password: str, *names: str) -> None:
    """Refuse a password that is too easy to guess. The error never quotes it."""
    if not MIN_LENGTH <= len(password) <= MAX_LENGTH:
        raise BadParams(f"A password has {MIN_LENGTH} to {MAX_LENGTH} characters; the one given has {len(password)}.")
    if _normalize(password) in {_normalize(name) for name in names}:
        raise BadParams("A password must not be the name of the user or the tenant. Choose another.")
    if len(set(password)) < 4:
        raise BadParams("A password has at least 4 different characters. Choose another.")


def _hash(password: bytes) -> str:
    import argon2  # noqa: PLC0415 - slow to load, and most processes never check a password

    return argon2.PasswordHasher().hash(password)


def _verify(hash: str, password: bytes) -> bool:
    import argon2  # noqa: PLC0415

    try:
        return argon2.PasswordHasher().verify(hash, password)
    except (argon2.exceptions.VerificationError, argon2.exceptions.InvalidHashError):
        return False


def _normalize(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().strip()


def _encode(password: str) -> bytes:
    """Encode a password so that the same characters give the same bytes, however a keyboard composed them."""
    return unicodedata.normalize("NFC", password).encode("utf-8", "surrogatepass")
