"""Words of a server, and about it, as people and models may read them: no secrets, nothing hidden, not too much."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import msgspec

from doorward import redact
from doorward.errors import DoorwardError
from doorward.visible import visible

_SHORTEST = 4
"""A shorter secret would hide ordinary words wherever its letters occur."""
_LOOKED_AT = 20_000
"""Characters of a text that are looked at. What follows is dropped, so a secret that is cut here is never shown."""


_KEPT = frozenset({"type", "role", "mimeType"})
"""Fields by which messages of the protocol are told apart, which hold a word of the protocol and no secret."""
_encode = msgspec.json.Encoder().encode


T = TypeVar("T")


class Discretion:
    def __init__(self, secrets: Iterable[str] = ()) -> None:
        spelled = {form for one in set(secrets) if len(one) >= _SHORTEST for form in _spellings(one)}
        self._secrets = sorted(spelled, key=len, reverse=True)
        self._encoded = [_encode(one)[1:-1] for one in self._secrets]

    def of(self, text: str, most: int = 500) -> str:
        """The text on one line, with secrets hidden and at most so many characters."""
        shown = visible(redact.text(text[:_LOOKED_AT], self._secrets), lines=False)
        return shown if len(shown) <= most else f"{shown[:most]}…"

    def hiding(self, value: T) -> T:
        """What a server answered, with exactly the secrets hidden that it was given; the same object if it has none.

        Most answers hold none, and one look at all of it together tells.
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
        """The same error, fit to be shown: it may name a program, an address or a server's last words."""
        error.message = self.of(error.message, 2_000)
        error.args = (error.message,)
        return error


def _spellings(secret: str) -> Iterator[str]:
    """A secret as it is, and as it stands in a text that is JSON itself, which is how many tools answer."""
    yield secret
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
