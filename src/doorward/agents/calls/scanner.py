"""A text scanner that counts its own work.

The author of an answer decides what it costs to parse, so every search goes through here. Results of earlier searches
that lie ahead are reused, which limits the work to a few scans per character; a test checks the count.
"""

from __future__ import annotations

import re

from doorward.core.argtext import find_json_end

_NOT_FOUND = -1


class Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.characters_scanned = 0
        """Number of characters scanned so far."""
        self._literals: dict[str, tuple[int, int]] = {}
        self.has_unclosed_bracket = False
        """Whether an unclosed bracket was found."""

    def find(self, literal: str, at: int) -> int:
        """Return the next position of a literal, or -1. Start positions must not go backwards."""
        before, place = self._literals.get(literal, (0, 0))
        if literal in self._literals and before <= at and (place == _NOT_FOUND or at <= place):
            return place
        place = self.text.find(literal, at)
        self.characters_scanned += (len(self.text) if place == _NOT_FOUND else place) - at + len(literal)
        self._literals[literal] = (at, place)
        return place

    def search(self, pattern: re.Pattern[str], at: int) -> re.Match[str] | None:
        match = pattern.search(self.text, at)
        self.characters_scanned += (match.end() if match else len(self.text)) - at
        return match

    def match(self, pattern: re.Pattern[str], at: int) -> re.Match[str] | None:
        match = pattern.match(self.text, at)
        self.characters_scanned += (match.end() - at if match else 0) + 1
        return match

    def end_of_json(self, at: int) -> int:
        """Return the end of the object or list that starts here, or -1. After an unclosed one, always -1."""
        if self.has_unclosed_bracket:
            return _NOT_FOUND
        end = find_json_end(self.text, at)
        self.has_unclosed_bracket = end == _NOT_FOUND
        self.characters_scanned += (len(self.text) if self.has_unclosed_bracket else end) - at
        return end

    def end_of_line(self, at: int) -> int:
        end = self.find("\n", at)
        return len(self.text) if end == _NOT_FOUND else end

    def skip_whitespace(self, at: int) -> int:
        match = self.match(_WHITESPACE, at)
        return match.end() if match else at


_WHITESPACE = re.compile(r"\s*+")
