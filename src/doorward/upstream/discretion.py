"""Words of a server, and about it, as people and models may read them: no secrets, nothing hidden, not too much."""

from __future__ import annotations

from collections.abc import Iterable

from doorward import redact
from doorward.errors import DoorwardError
from doorward.visible import visible

_SHORTEST = 4
"""A shorter secret would hide ordinary words wherever its letters occur."""
_LOOKED_AT = 20_000
"""Characters of a text that are looked at. What follows is dropped, so a secret that is cut here is never shown."""


class Discretion:
    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = sorted((one for one in set(secrets) if len(one) >= _SHORTEST), key=len, reverse=True)

    def of(self, text: str, most: int = 500) -> str:
        """The text on one line, with secrets hidden and at most so many characters."""
        shown = visible(redact.text(text[:_LOOKED_AT], self._secrets), lines=False)
        return shown if len(shown) <= most else f"{shown[:most]}…"

    def with_error(self, error: DoorwardError) -> DoorwardError:
        """The same error, fit to be shown: it may name a program, an address or a server's last words."""
        error.message = self.of(error.message, 2_000)
        error.args = (error.message,)
        return error
