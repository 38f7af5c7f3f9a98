"""Masks secrets in a server's texts, escapes invisible characters and limits the length."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import msgspec

from doorward import redact
from doorward.errors import DoorwardError
from doorward.visible import visible

_SHORTEST = 4
"""Shorter secrets are not masked, because that would mask ordinary words too."""
_LOOKED_AT = 20_000
"""Only this many characters are kept, so that a secret cut off here is never shown."""


_KEPT = frozenset({"type", "role", "mimeType"})
"""Fields that hold a keyword of the protocol and no secret."""
_encode = msgspec.json.Encoder().encode


T = TypeVar("T")


class Discretion:
    def __init__(self, secrets: Iterable[str] = ()) -> None:
        spelled = {form for one in set(secrets) if len(one) >= _SHORTEST for form in _spellings(one)}
        self._secrets = sorted(spelled, key=len, reverse=True)
        self._encoded = [_encode(one)[1:-1] for one in self._secrets]

    def of(self, text: str, most: int = 500) -> str:
        """The text on one line, with secrets masked and at most `most` characters."""
        shown = visible(redact.text(text[:_LOOKED_AT], self._secrets), lines=False)
        return shown if len(shown) <= most else f"{shown[:most]}…"

    def hiding(self, value: T) -> T:
        """Mask the server's own secrets in a value; returns the same object when it contains none.

        Most answers contain none, so the encoded value is searched once first.
        """
        if not self._secrets:
            return value
        text = _encode(value)
        if not any(one in text for one in self._encoded):
            return value
        hidden: T = self._hidden(value)
        return hidden

    def _hidden(self, value: Any) -> Any:
        if isinstance(value, str):
            for secret in self._secrets:
                value = value.replace(secret, redact.HIDDEN)
            return value
        if isinstance(value, list):
            return [self._hidden(one) for one in value]
        if isinstance(value, dict):
            return {
                self._hidden(key): one if key in _KEPT and isinstance(one, str) else self._hidden(one)
                for key, one in value.items()
            }
        return value

    def with_error(self, error: DoorwardError) -> DoorwardError:
        """Mask secrets in an error's message, which may quote a program, an address or a server's output."""
        error.message = self.of(error.message, 2_000)
        error.args = (error.message,)
        return error


def _spellings(secret: str) -> Iterator[str]:
    """A secret as it is, and as it appears in JSON text, which many tools return."""
    yield secret
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
