"""The words of a request that a reader has accounted for, found by their meaning and with slips of the keyboard."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from doorward.agents.house.request import Request
from doorward.agents.house.words import load, stem, stop_words


@cache
def _phrases() -> dict[str, tuple[tuple[str, ...], ...]]:
    """Phrases as stems by their meaning, the longest first."""
    return {
        meaning: tuple(sorted((tuple(map(stem, one.split())) for one in words.split(", ")), key=len, reverse=True))
        for meaning, words in load("file_words.json", dict[str, str]).items()
    }


@cache
def file_words() -> frozenset[str]:
    """The words of the phrases about files."""
    words = {part for one in load("file_words.json", dict[str, str]).values() for part in one.replace(",", "").split()}
    return frozenset(words | {f"{one}s" for one in words if not one.endswith("s")})


@cache
def _known_stems() -> frozenset[str]:
    return frozenset(stem(one) for one in file_words() | stop_words())


class WordClaims:
    """The tokens of a request, and the places of those that are accounted for."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.places: set[int] = set()

    def find(self, *meanings: str) -> frozenset[int]:
        """Return the places of the words that mean one of these and are not accounted for yet."""
        found: set[int] = set()
        for phrase in (phrase for one in meanings for phrase in _phrases()[one]):
            for at in self.request.find(phrase):
                here = range(at, at + len(phrase))
                if (self.places | found).isdisjoint(here) and all(
                    self._is(place, phrase[place - at]) for place in here
                ):
                    found.update(here)
        return frozenset(found)

    def _is(self, place: int, part: str) -> bool:
        """Whether a token is a word of a phrase; `not` and `note` have one stem."""
        token = self.request.tokens[place]
        return token.kind == "word" and (part != "not" or token.lower == "not")

    def claim(self, *meanings: str) -> bool:
        """Account for the words that mean one of these; whether there are any."""
        found = [self.find(one) for one in meanings]
        self.places.update(*found)
        return any(found)

    def claim_places(self, places: Iterable[int]) -> None:
        self.places.update(places)

    def claim_number(self) -> int:
        """Account for the first whole number that is no bound such as `over 5`, and return it; 0 if there is none."""
        bounds = self.find("over", "under")
        for place, token in enumerate(self.request.tokens):
            number = token.number
            if number is not None and token.lower != "one" and place not in self.places and place - 1 not in bounds:
                self.claim_places((place,))
                return abs(int(number))
        return 0

    @property
    def asks_count(self) -> bool:
        return self.request.has("how many", "how often", "number", "count")

    def is_functional(self, place: int) -> bool:
        """Whether a word has a meaning of its own, so that it hardly is a name."""
        token = self.request.tokens[place]
        return token.stem in _known_stems() or token.number is not None

    @property
    def explained(self) -> frozenset[int]:
        """The places that are accounted for, and those that carry no meaning."""
        return frozenset(self.places | (set(range(len(self.request))) - self.request.meaningful))

    @property
    def left(self) -> list[int]:
        """The places that carry meaning and are not accounted for."""
        return sorted(self.request.meaningful - self.places)

    @property
    def left_run(self) -> tuple[int, int] | None:
        """The first place of the words that are left and the one behind them, if nothing claimed is between them."""
        left = self.left
        if not left or not self.places.isdisjoint(range(left[0], left[-1])):
            return None
        return left[0], left[-1] + 1

    def text(self, first: int, behind: int) -> str:
        """Return a part of the request as it was typed; a quotation without its marks."""
        single = behind == first + 1
        return self.request.tokens[first].text if single else self.request.between(first, behind)


def places_of(request: Request, found: re.Match[str]) -> frozenset[int]:
    """Return the places of a part of `request.lower`, in which one blank stands between tokens."""
    at, places = 0, set()
    for place, token in enumerate(request.tokens):
        if at < found.end() and at + len(token.lower) > found.start():
            places.add(place)
        at += len(token.lower) + 1
    return frozenset(places)
