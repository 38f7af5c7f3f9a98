"""The words of a request as topics take them: what is counted, by whom, where, when and how many."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

from doorward.agents.house.dates import TimeSpan
from doorward.agents.house.plan import Reading, Steps
from doorward.agents.house.request import Token
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.topics.vocabulary import reserved_stems, vocabulary
from doorward.agents.house.words import singular, stem


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split("|"))


_BETWEEN = _words("a|an|the|'s|our|my|your|all|any|of|there|these|those|this")
"""Words that may stand between the words of a phrase."""
_BEFORE_NAME = _words("the|our|room|user|channel|recipe|persona")
_DO = _words("do|done|doing|run|make|made|try|tried|call|execute|executed|use|used|up|say|write|post|mention")
_DID = _words("did|ran|made|tried|executed|used|attempted|requested|performed|said|wrote")
_JOINTS = _words("in|of|from|by|at|on|to|for|about|?")
_NEWEST = "last|latest|newest|most recent|most recently|recent|recently|lately"
_OLDEST = "first|oldest|earliest"
_COMMAND = re.compile(r"[a-z][\w-]*(?:/[\w.-]+)+")
_NO_NAMES = _words("not|no|without|except|other|than|more|less|fewer|or|but|only|both|between")


class Limit(NamedTuple):
    most: int
    """How many are wanted; 0 if it was not said."""
    newest: bool
    """Whether the newest are wanted and not the oldest."""


class Wording:
    """A request and the places of the words that were taken so far."""

    def __init__(self, context: RequestContext) -> None:
        self.context = context
        self.request = context.request
        self.used: set[int] = set()
        self._fillers = self.find(vocabulary().fillers)
        self.guessed_name = False
        """Whether a word was taken for a name because of its place only."""

    def has(self, phrases: str) -> bool:
        return bool(self.find(phrases))

    def find(self, phrases: str) -> set[int]:
        """Return the places of phrases, which are separated by bars. `^` and `$` are the ends of the request."""
        found: set[int] = set()
        for phrase in _stems(phrases):
            first = next((one for one in phrase if one != "^"), "")
            for at, one in enumerate(self.request.stems):
                if one == first:
                    found.update(self._match(phrase, at))
        return found

    def take(self, phrases: str) -> bool:
        found = self.find(phrases)
        self.used |= found
        return bool(found)

    def _match(self, phrase: tuple[str, ...], at: int) -> list[int]:
        tokens = self.request.tokens
        places: list[int] = []
        for part in phrase:
            if part in "^$":
                beyond = tokens[:at] if part == "^" else tokens[at:]
                if any(one.kind != "mark" for one in beyond):
                    return []
                continue
            while places and at < len(tokens) and tokens[at].stem != part and tokens[at].lower in _BETWEEN:
                at += 1
            if at >= len(tokens) or tokens[at].stem != part or tokens[at].kind != "word":
                return []
            places.append(at)
            at += 1
        return places

    @property
    def rest(self) -> list[int]:
        """The places of the meaningful words that nothing has taken."""
        return sorted(self.request.meaningful - self.used - self._fillers)

    def span(self) -> TimeSpan | None:
        """Take the first period."""
        for one in self.context.spans:
            if not one.places & self.used - self.find(_NEWEST):
                self.used |= one.places
                return one
        return None

    def count(self) -> bool:
        return self.take("how many times|times each|how many|count|number of|total number|total of|how often|how much")

    def group(self, fields: dict[str, str]) -> str:
        """Take `by caller`, `per room` or the like, and return the field."""
        for phrases, field in fields.items():
            for one in phrases.split("|"):
                if self.take(f"by {one}|per {one}|each {one}|every {one}|grouped by {one}"):
                    return field
        return ""

    def limit(self) -> Limit | None:
        """Take words such as `the last 5` or `five newest`."""
        found = self.find(f"{_NEWEST}|{_OLDEST}") - self.used
        if not found:
            return None
        newest = bool(self.find(_NEWEST) - self.used)
        self.used |= found
        tokens = self.request.tokens
        for place in (max(found) + 1, min(found) - 1):
            if 0 <= place < len(tokens) and place not in self.used:
                number = tokens[place].number
                if number is not None and number >= 1:
                    self.used.add(place)
                    return Limit(min(int(number), 200), newest)
                if tokens[place].lower in ("few", "several", "couple", "some"):
                    self.used.add(place)
        lately = self.find("recent|recently|lately")
        if lately & found and not self.has("most recent|most recently"):
            return Limit(0, newest)
        behind = list(takewhile(lambda one: one not in _JOINTS, (one.lower for one in tokens[max(found) + 1 :])))[:3]
        plural = any(one.endswith("s") and singular(one) != one and one not in ("was", "is", "has") for one in behind)
        return Limit(0 if plural else 1, newest)

    def command(self, *, any_area: bool = False) -> str:
        """Take the name of a command: one that is offered, or of an area that is. `any_area` takes every such name."""
        for place, one in enumerate(self.request.tokens):
            known = one.lower in self.context.tools and "/" in one.lower
            looks_so = one.kind == "path" and "." not in one.lower and _COMMAND.fullmatch(one.lower)
            if place not in self.used and (known or looks_so):
                area = one.lower.partition("/")[0]
                if known or any_area or any(name.startswith(f"{area}/") for name in self.context.tools):
                    self.used.add(place)
                    return one.lower
        return ""

    def person(self, leads: Iterable[str] = (), end: int | None = None) -> str:
        """Take who did something: `what did anna do`, `by anna`, `anna's calls`, `everything anna ran`, `my calls`."""
        tokens, speaker = self.request.tokens, self.context.conversation.speaker
        known = self.known("users", "id") | self.known("executions", "caller") | self.known("messages", "sender")
        for place, one in enumerate(tokens[:end]):
            before, after = self._lower(place - 1), self._lower(place + 1)
            does = before in ("did", "has", "have", "was", "is") and any(each.lower in _DO for each in tokens[place:])
            if speaker and one.lower in ("i", "me", "my"):
                if one.lower == "my" or does or before in ("by", "from") or after in _DID:
                    self.used.add(place)
                    return speaker
            elif self._is_free(place) and (
                one.lower in known or does or before in ("by", *leads) or after == "'s" or after in _DID
            ):
                self.guessed_name |= one.lower not in known
                return self._named(place, f"{one.lower} do|do {one.lower}")
        return ""

    def room(self, nouns: str = "", leads: Iterable[str] = (), end: int | None = None) -> str:
        """Take the name of a room beside a noun or behind some words. `this room` is that of the conversation."""
        here = self.context.conversation.room
        if here and self.take("this room|this channel|this chat|in here|here $|around here"):
            return here
        known = self.known("rooms", "name") | self.known("rooms", "id")
        return self.name("room|channel", known, ("in", "of", "for", *leads), nouns, end)

    def name(
        self, nouns: str, known: Collection[str], leads: Iterable[str] = (), behind: str = "", end: int | None = None
    ) -> str:
        """Take a known name. If none are known, take a word beside a noun, before `behind`, or behind `leads`."""
        stems = {stem(one) for one in nouns.split("|")}
        stems_behind = stems | {stem(one) for one in behind.split("|") if one}
        for place, one in enumerate(self.request.tokens[:end]):
            if place in self.used or one.kind not in ("word", "quoted") or not one.lower:
                continue
            if one.lower in known:
                return self._named(place, nouns)
            if known or not (self._is_free(place) or one.kind == "quoted"):
                continue
            before, after = self._lower(place - 1), self._lower(place + 1)
            lead = self._lower(place - 2) if before in _BEFORE_NAME else before
            if (
                stem(before) in stems
                or stem(after) in stems_behind
                or lead in ("called", "named", *leads)
                or (before == "the" and lead == "from")
                or after == "'s"
            ):
                self.guessed_name = True
                return self._named(place, nouns)
        return ""

    def known(self, collection: str, field: str) -> frozenset[str]:
        """Return the values of a field of a system collection, in small letters, as far as they are known."""
        for profile in self.context.conversation.data:
            if profile.name == collection and profile.kind == "system":
                fields = (one for one in profile.fields if one.name == field)
                return frozenset(str(value).lower() for one in fields for value in one.values)
        return frozenset()

    def behind(self, markers: str) -> list[Token]:
        """Take the meaningful words behind the first of these words; all that is left belongs to them."""
        found = self.find(markers)
        places = [one for one in self.rest if one > min(found) and one not in found] if found else []
        if not places:
            return []
        self.used |= {*found, *places}
        return [self.request.tokens[one] for one in places]

    def reading(self, name: str, steps: Callable[[], Steps], says: str = "", score: float = 1.0) -> Reading:
        """Return a reading that explains the words taken so far."""
        score -= 0.15 * self.guessed_name
        return Reading(name=name, steps=steps, explained=frozenset(self.used | self._fillers), score=score, says=says)

    def _named(self, place: int, beside: str) -> str:
        self.used.add(place)
        self.take(f"{beside}|called|named")
        return self.request.tokens[place].text

    def _lower(self, place: int) -> str:
        return self.request.tokens[place].lower if 0 <= place < len(self.request) else ""

    def _is_free(self, place: int) -> bool:
        """Whether a word may be a name that is not known."""
        one = self.request.tokens[place]
        if one.stem in reserved_stems() or one.lower in _NO_NAMES or one.kind != "word" or one.number is not None:
            return False
        other = any(place in span.places for span in self.context.spans) or place in self.context.record_nouns
        return place not in self.used and not one.is_stop and not other


@lru_cache(maxsize=2_000)
def _stems(phrases: str) -> tuple[tuple[str, ...], ...]:
    return tuple(
        tuple(part if part in "^$" or part == "'s" else stem(part) for part in one.split())
        for one in phrases.split("|")
    )
