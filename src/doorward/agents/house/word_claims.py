"""The words of a request that a reader has accounted for, found by their meaning and with slips of the keyboard."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cache

from doorward.agents.house.request import Request, Token
from doorward.agents.house.words import is_one_slip_away, load, stem, stop_words

_SHORTEST = 4
"""Letters of a word that may be misspelt; the right word has more."""
_REPLACED = 7
"""Letters from which on a wrong letter counts as a slip. A shorter word is too often another word."""
_NEGATION = "not"


@cache
def _concepts() -> dict[str, tuple[tuple[str, ...], ...]]:
    """Phrases as stems by their meaning, the longest first."""
    found = load("file_words.json", dict[str, str])
    return {
        meaning: tuple(
            sorted((tuple(stem(part) for part in one.split()) for one in words.split(", ")), key=len, reverse=True)
        )
        for meaning, words in found.items()
    }


@cache
def _vocabulary() -> tuple[frozenset[str], frozenset[str]]:
    """The words that a misspelt word may stand for, and the stems of all known words."""
    words = {part for one in load("file_words.json", dict[str, str]).values() for part in one.replace(",", "").split()}
    words |= {f"{one}s" for one in words if not one.endswith("s")} | stop_words()
    return frozenset(one for one in words if len(one) > _SHORTEST), frozenset(stem(one) for one in words)


class WordClaims:
    """The tokens of a request, and the places of those that are accounted for."""

    def __init__(self, request: Request, known: Collection[str] = ()) -> None:
        """`known` are words of names, which are spelt right and may be misspelt too."""
        self.request = request.corrected(_corrections(request, known))
        self.places: set[int] = set()

    def find(self, meaning: str) -> frozenset[int]:
        """Return the places of the words that mean this and are not accounted for yet."""
        found: set[int] = set()
        tokens = self.request.tokens
        for phrase in _concepts()[meaning]:
            for at in self.request.find(phrase):
                here = range(at, at + len(phrase))
                if (self.places | found).isdisjoint(here) and all(_fits(tokens[one], phrase[one - at]) for one in here):
                    found.update(here)
        return frozenset(found)

    def claim(self, *meanings: str) -> bool:
        """Account for the words that mean one of these; whether there are any."""
        found = [self.find(one) for one in meanings]
        for one in found:
            self.places |= one
        return any(found)

    def claim_places(self, places: Iterable[int]) -> None:
        self.places.update(places)

    def claim_number(self) -> int:
        """Account for the first whole number that is no bound such as `over 5`, and return it; 0 if there is none."""
        bounds = self.find("over") | self.find("under")
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
        return token.stem in _vocabulary()[1] or token.number is not None

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
        if not left or any(place in self.places for place in range(left[0], left[-1])):
            return None
        return left[0], left[-1] + 1

    def text(self, first: int, behind: int) -> str:
        """Return a part of the request as it was typed; a quotation without its marks."""
        if behind == first + 1:
            return self.request.tokens[first].text
        return self.request.between(first, behind)


def _corrections(request: Request, known: Collection[str]) -> dict[int, str]:
    words, stems = _vocabulary()
    words |= {one for one in known if len(one) > _SHORTEST}
    found: dict[int, str] = {}
    for place, token in enumerate(request.tokens):
        lower = token.lower
        if (
            token.number is not None
            or token.kind != "word"
            or len(lower) < _SHORTEST
            or token.stem in stems
            or lower in known
            or token.is_stop
        ):
            continue
        near = {one for one in words if is_one_slip_away(lower, one) and _is_likely(lower, one)}
        near = {one for one in near if sorted(one) == sorted(lower)} or near
        if len({stem(one) for one in near}) == 1:
            found[place] = min(near)
    return found


def _fits(token: Token, part: str) -> bool:
    """Whether a token is a word of a phrase; `not` and `note` have one stem."""
    return token.kind == "word" and (part != _NEGATION or token.lower == _NEGATION)


def _is_likely(word: str, meant: str) -> bool:
    return len(word) != len(meant) or sorted(word) == sorted(meant) or len(meant) >= _REPLACED
