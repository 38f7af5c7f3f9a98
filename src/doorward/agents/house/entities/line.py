"""A request while it is read: its tokens, the moment, and what has been found so far."""

from __future__ import annotations

from datetime import datetime

from doorward.agents.house.entities.entity import Entity, EntityKind, EntityValue, Token

Find = tuple[EntityKind, EntityValue, int, int]
"""What was found, and from which token to before which it stands."""


class Line:
    def __init__(self, text: str, tokens: tuple[Token, ...], now: datetime) -> None:
        self.text = text
        self.tokens = tokens
        self.now = now
        self.found: list[Entity] = []
        self.taken: list[tuple[int, int]] = []
        """The tokens of each find."""

    def lower(self, i: int) -> str:
        return self.tokens[i].lower if 0 <= i < len(self.tokens) else ""

    def is_word(self, i: int) -> bool:
        return 0 <= i < len(self.tokens) and self.tokens[i].shape == "word"

    def shape(self, i: int) -> str:
        return self.tokens[i].shape if 0 <= i < len(self.tokens) else ""

    def touches(self, i: int) -> bool:
        """Whether this token follows the one before without a blank."""
        return 0 < i < len(self.tokens) and self.tokens[i].start == self.tokens[i - 1].end

    def is_free(self, i: int) -> bool:
        """Whether this token, which lies behind, belongs to no find."""
        return not self.taken or i >= self.taken[-1][1]

    def take(self, find: Find) -> None:
        kind, value, first, behind = find
        start, end = self.tokens[first].start, self.tokens[behind - 1].end
        self.found.append(Entity(kind, value, start, end, self.text[start:end]))
        self.taken.append((first, behind))
