"""Phrases of one or more words, looked up at a place in a request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Generic, TypeVar

from doorward.agents.house.entities.entity import Token

T = TypeVar("T")


class Phrases(Generic[T]):
    """From phrases to what they mean. Where several fit, the longest is found."""

    def __init__(self, meanings: Mapping[str, T]) -> None:
        by_first: dict[str, list[tuple[tuple[str, ...], T]]] = {}
        for phrase, meaning in meanings.items():
            parts = tuple(phrase.split())
            by_first.setdefault(parts[0], []).append((parts, meaning))
        self._by_first = {first: tuple(sorted(many, key=lambda one: -len(one[0]))) for first, many in by_first.items()}

    def at(self, tokens: tuple[Token, ...], i: int) -> tuple[T, int] | None:
        """What begins at this token, and where it ends."""
        if i >= len(tokens):
            return None
        for parts, meaning in self._by_first.get(tokens[i].lower, ()):
            end = i + len(parts)
            if end <= len(tokens) and all(tokens[i + k].lower == part for k, part in enumerate(parts)):
                return meaning, end
        return None

    def every(self, tokens: tuple[Token, ...], i: int) -> list[tuple[T, int]]:
        """All that begin at this token, the longest first."""
        if i >= len(tokens):
            return []
        return [
            (meaning, i + len(parts))
            for parts, meaning in self._by_first.get(tokens[i].lower, ())
            if i + len(parts) <= len(tokens) and all(tokens[i + k].lower == part for k, part in enumerate(parts))
        ]

    def before(self, tokens: tuple[Token, ...], i: int, most: int = 5) -> tuple[T, int] | None:
        """What ends just before this token, and where it begins."""
        for start in range(max(0, i - most), i):
            for meaning, end in self.every(tokens, start):
                if end == i:
                    return meaning, start
        return None


def listed(*lists: Iterable[str]) -> Phrases[str]:
    """Phrases that mean themselves."""
    return Phrases({one: one for many in lists for one in many})
