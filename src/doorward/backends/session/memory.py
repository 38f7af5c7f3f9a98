"""Secret variables of sessions, kept in memory only, until this process ends."""

from __future__ import annotations

from collections.abc import Mapping

Key = tuple[str, str, str, str]
"""The id of a session with its tenant, user and agent."""
_MOST_CHARACTERS = 4_000_000


class Memory:
    """Secret variables by session. When the limit is exceeded, the least recently used sessions are dropped."""

    def __init__(self, most: int = _MOST_CHARACTERS) -> None:
        self._most = most
        self._held: dict[Key, tuple[float, dict[str, str]]] = {}
        self._characters = 0

    def of(self, key: Key) -> Mapping[str, str]:
        return self._held[key][1] if key in self._held else {}

    def keep(self, key: Key, values: Mapping[str, str], now: float) -> None:
        """Replace the values of a session."""
        self.forget(key)
        if not values:
            return
        self._held[key] = now, dict(values)
        self._characters += _size(values)
        while self._characters > self._most:
            self.forget(next(iter(self._held)))

    def forget(self, key: Key) -> None:
        if key in self._held:
            self._characters -= _size(self._held.pop(key)[1])

    def tidy(self, before: float) -> None:
        """Drop the values of sessions not used since then."""
        for key in [key for key, (used, _) in self._held.items() if used < before]:
            self.forget(key)


def _size(values: Mapping[str, str]) -> int:
    return sum(len(name) + len(value) for name, value in values.items())
