"""Masks secrets in a server's texts, escapes invisible characters and limits the length."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import msgspec

from doorward.core import redact
from doorward.core.errors import DoorwardError
from doorward.core.escape_invisible import escape_invisible

_MIN_SECRET_LENGTH = 4
"""Shorter secrets are not masked, because that would mask ordinary words too."""
_MAX_TEXT = 20_000
"""Only this many characters are kept, so that a secret cut off here is never shown."""


_KEYWORD_FIELDS = frozenset({"type", "role", "mimeType"})
"""Fields that hold a keyword of the protocol and no secret."""
_encode = msgspec.json.Encoder().encode


T = TypeVar("T")


class SecretMask:
    def __init__(self, secrets: Iterable[str] = ()) -> None:
        spelled = {form for one in set(secrets) if len(one) >= _MIN_SECRET_LENGTH for form in _spellings(one)}
        self._secrets = sorted(spelled, key=len, reverse=True)
        self._encoded = [_encode(one)[1:-1] for one in self._secrets]

    def mask_text(self, text: str, most: int = 500) -> str:
        """The text on one line, with secrets masked and at most `most` characters."""
        shown = escape_invisible(redact.text(text[:_MAX_TEXT], self._secrets), lines=False)
        return shown if len(shown) <= most else f"{shown[:most]}…"

    def mask_value(self, value: T) -> T:
        """Mask the server's own secrets in a value; returns the same object when it contains none.

        Most answers contain none, so the encoded value is searched once first.
        """
        if not self._secrets:
            return value
        text = _encode(value)
        if not any(one in text for one in self._encoded):
            return value
        hidden: T = self._mask(value)
        return hidden

    def _mask(self, value: Any) -> Any:
        if isinstance(value, str):
            for secret in self._secrets:
                value = value.replace(secret, redact.HIDDEN)
            return value
        if isinstance(value, list):
            return [self._mask(one) for one in value]
        if isinstance(value, dict):
            return {
                self._mask(key): one if key in _KEYWORD_FIELDS and isinstance(one, str) else self._mask(one)
                for key, one in value.items()
            }
        return value

    def mask_error(self, error: DoorwardError) -> DoorwardError:
        """Mask secrets in an error's message, which may quote a program, an address or a server's output."""
        error.message = self.mask_text(error.message, 2_000)
        error.args = (error.message,)
        return error


def _spellings(secret: str) -> Iterator[str]:
    """A secret as it is, and as it appears in JSON text, which many tools return."""
    yield secret
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
