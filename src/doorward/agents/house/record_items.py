"""A request about records, cut into items: phrases with their meanings, clues, comparisons and periods."""

from __future__ import annotations

import msgspec

from doorward.agents.house.lexicon import Lexicon, Match, Meaning
from doorward.agents.house.record_clues import Clue, ClueName, Comparison, clues_at, comparison_at, state_of
from doorward.agents.house.record_links import paths_to, referring
from doorward.agents.house.record_query import Path
from doorward.agents.house.request import Request
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.words import name_words, same_words, stem


class Item(msgspec.Struct, kw_only=True):
    """A piece of the request: matches of the same words, a clue, a comparison or a period."""

    first: int
    behind: int
    matches: tuple[Match, ...] = ()
    clues: tuple[Clue, ...] = ()
    comparison: Comparison | None = None
    span: int = -1
    state: tuple[str, bool] | None = None
    """A boolean field of the target and what the word says of it."""

    def of_kind(self, kind: str) -> list[Meaning]:
        return [one.meaning for one in self.matches if one.meaning.kind == kind]

    def is_clue(self, *names: ClueName) -> Clue | None:
        return next((one for one in self.clues if one.name in names), None)


class RecordItems:
    """The items of a request, as far as they have to do with one collection and those it is linked to."""

    def __init__(self, context: RequestContext, target: str) -> None:
        self.context = context
        self.request: Request = context.request
        self.lexicon: Lexicon = context.lexicon
        self.target = target
        self.profile = self.lexicon.profile(target)
        self.referring = referring(self.lexicon, target)
        self.items: list[Item] = []
        self.mentioned: dict[str, Item] = {}
        """The nouns of collections that were read, with the first item of each."""
        self.items = self._cover()

    def _cover(self) -> list[Item]:
        matches: dict[int, list[Match]] = {}
        for one in self.lexicon.matches(self.request):
            if self._reach(one.meaning) is not None:
                matches.setdefault(one.first, []).append(one)
        spans = {one.first: number for number, one in enumerate(self.context.spans)}
        items: list[Item] = []
        at = 0
        while at < len(self.request):
            item = self._item_at(at, matches, spans)
            if item is not None:
                items.append(item)
            at = item.behind if item is not None else at + 1
        return items

    def _item_at(self, at: int, matches: dict[int, list[Match]], spans: dict[int, int]) -> Item | None:
        comparison = comparison_at(self.request, at)
        if at in spans:
            span = self.context.spans[spans[at]]
            named = [one for place in range(at, span.behind) for one in matches.get(place, ()) if _is_value(one)]
            if named:
                return Item(first=at, behind=named[0].behind, matches=tuple(named))
            if comparison is None or span.behind >= comparison.behind:
                return Item(first=at, behind=span.behind, span=spans[at])
        clues = clues_at(self.request, at)
        near = matches.get(at, [])
        longest = max((one.behind for one in near), default=at)
        if comparison is not None and comparison.behind > longest:
            return Item(first=at, behind=comparison.behind, comparison=comparison)
        clue_end = clues[0].behind if clues else at
        if near and longest >= clue_end:
            chosen = tuple(one for one in near if one.behind == longest)
            same = tuple(one for one in clues if one.behind == longest)
            if any(one.name in ("not", "without") for one in same) and all(one.meaning.weight < 1 for one in chosen):
                chosen = ()
            state = self._state_at(at) if longest == at + 1 else None
            return Item(first=at, behind=longest, matches=chosen, clues=same, state=state)
        number = self.request.tokens[at].number
        if number and number <= 1_000 and any(one.meaning.kind == "collection" for one in matches.get(at + 1, ())):
            limit = Clue(name="limit", first=at, behind=at + 1, number=int(number))
            return Item(first=at, behind=at + 1, clues=(limit,))
        state = self._state_at(at)
        if state is not None and clue_end <= at + 1:
            return Item(first=at, behind=at + 1, state=state, clues=tuple(clues))
        if clues:
            return Item(first=at, behind=clue_end, clues=tuple(one for one in clues if one.behind == clue_end))
        return None

    def _state_at(self, at: int) -> tuple[str, bool] | None:
        """Return the boolean field that a word such as `open`, `unpaid` or `inactive` speaks of."""
        word = self.request.tokens[at].lower
        if word == "back" and at and self.request.tokens[at - 1].lower == "due":
            return None
        found = []
        for field in self.profile.fields:
            if field.kind != "boolean":
                continue
            stems = frozenset(stem(one) for one in name_words(field.name))
            state = state_of(word, stems)
            if state is not None:
                found.append((field.name, state))
        return found[0] if len(set(found)) == 1 else None

    def _reach(self, meaning: Meaning) -> tuple[str, Path] | None:
        """Return how the target leads to a meaning: `own` with a path, or `back` with a collection and link."""
        chains = paths_to(self.lexicon, self.target, meaning.collection)
        if chains:
            return "own", chains[0]
        for collection, link in self.referring:
            inner = paths_to(self.lexicon, collection, meaning.collection)
            if inner:
                return "back", (collection, link, *inner[0])
        return None

    def _clue_before(self, at: int, *names: ClueName) -> Clue | None:
        """Return the clue right before an item; only stop words may stand between."""
        if at == 0:
            return None
        place = at - 1
        while place > 0 and self.items[place].clues and self.items[place].is_clue("filler") is not None:
            place -= 1
        before = self.items[place]
        between = self.request.tokens[before.behind : self.items[place + 1].first]
        return before.is_clue(*names) if all(one.is_stop for one in between) else None

    def _group_before(self, at: int) -> Clue | None:
        """Return a word such as `per` before a field, or before the noun right before it: `per member level`."""
        clue = self._clue_before(at, "group")
        if clue is None and at > 1 and self.items[at - 1].of_kind("collection"):
            clue = self._clue_before(at - 1, "group")
        return clue

    def _has(self, *names: ClueName) -> bool:
        return any(one.is_clue(*names) is not None for one in self.items)

    def _is_field_behind(self, at: int) -> bool:
        """Whether a field follows at once, as in `late fee`."""
        behind = self.items[at + 1] if at + 1 < len(self.items) else None
        if behind is None or behind.first != self.items[at].behind or behind.of_kind("collection"):
            return False
        return bool(behind.of_kind("field"))

    def _group_word(self, place: int) -> Clue | None:
        before = next((one for one in reversed(self.items) if one.behind <= place), None)
        between = self.request.tokens[before.behind : place] if before is not None else ()
        return before.is_clue("group") if before is not None and all(one.is_stop for one in between) else None

    def _is_stop(self, place: int) -> bool:
        return place < len(self.request) and self.request.tokens[place].is_stop

    def _is_fine(self, place: int) -> bool:
        return place < len(self.request) and self.request.stems[place] in same_words(stem("fine"))

    def _contains_behind(self, at: int) -> Clue | None:
        behind = self.items[at + 1] if at + 1 < len(self.items) else None
        return behind.is_clue("contains") if behind is not None else None

    def _number_behind(self, item: Item) -> int:
        """Return the place of the number of `stock 0` or `quantity of 5`; 0 if there is none."""
        place = item.behind
        while place < len(self.request) and self.request.tokens[place].lower in ("of", "is", "=", "equals"):
            place += 1
        if place >= len(self.request) or self.request.tokens[place].kind != "number":
            return 0
        return 0 if any(one.first <= place < one.behind for one in self.items if one.comparison) else place


def _is_value(match: Match) -> bool:
    return match.meaning.kind == "value" and match.meaning.weight > 0.8
