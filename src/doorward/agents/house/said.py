"""A request as it is matched: its words with what they mean, and what was found in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import tzinfo
from functools import cache, lru_cache

import msgspec

from doorward.agents.house import entities, knowledge
from doorward.agents.house.entities import Entity, Reading, Token

_KEEPS = knowledge.words("said: keeps")
_UP_TO = knowledge.form("said: up to")
_OVER_AGO = knowledge.form("said: over ago")
_POSSESSIVE = knowledge.form("said: possessive")


class Said(msgspec.Struct, frozen=True):
    """One request, or one of several in a message."""

    reading: Reading
    words: tuple[Token, ...]
    """The words that are no part of a path, a quotation or the like."""
    whole: str
    """What was written, before anything was taken from it."""
    joined_at: tuple[int, ...] = ()
    """Where each part begins that goes on from what was said before; empty where it stands for itself."""

    def is_later(self, start: int) -> int:
        """In which of the parts that go on from what was said before something stands; 0 is in none."""
        return sum(at <= start for at in self.joined_at)

    @property
    def text(self) -> str:
        return self.reading.text

    def entity(self, *kinds: str) -> Entity | None:
        """The first find of these kinds, in the order of the kinds."""
        for kind in kinds:
            for one in self.reading.found:
                if one.kind == kind:
                    return one
        return None

    def all(self, *kinds: str) -> list[Entity]:
        return [one for one in self.reading.found if one.kind in kinds]

    def places(self, phrases: Iterable[knowledge.Phrase]) -> list[tuple[int, int]]:
        """Where one of some phrases stands among the words: the first and behind the last of each."""
        return self.found_of(by_first(phrases))

    def found_of(self, firsts: Mapping[str, Sequence[knowledge.Phrase]]) -> list[tuple[int, int]]:
        """The same for phrases that are kept by their first word, so that few of them need a look."""
        found: list[tuple[int, int]] = []
        words = self.words
        for start, word in enumerate(words):
            fitting = firsts.get(word.stem, ())
            if word.lower != word.stem:
                fitting = (*fitting, *firsts.get(word.lower, ()))
            for phrase in fitting:
                many = len(phrase)
                if many == 1:
                    found.append((start, start + 1))
                elif start + many <= len(words) and all(words[start + k].stem == phrase[k] for k in range(many)):
                    found.append((start, start + many))
        return found

    def has(self, *concepts: str) -> bool:
        known = _concepts()
        return any(self.found_of(known[one]) for one in concepts if one in known)

    def content(self) -> list[int]:
        """The places of the words that say something, outside of everything that was found."""
        small, covered = knowledge.stop(), self.covered()
        return [
            place
            for place, one in enumerate(self.words)
            if one.shape == "word" and one.stem not in small and one.lower not in small and place not in covered
        ]

    def covered(self) -> set[int]:
        """The places of the words that belong to something that was found, but for names of fields in it."""
        spans = [(one.start, one.end, _own_words(one)) for one in self.reading.found]
        return {
            place
            for place, word in enumerate(self.words)
            if any(start <= word.start and word.end <= end and word.stem not in own for start, end, own in spans)
        }

    def inside(self, one: Entity) -> set[int]:
        return {place for place, word in enumerate(self.words) if one.start <= word.start and word.end <= one.end}


def _own_words(one: Entity) -> frozenset[str]:
    """The words of a comparison that may name the thing asked about, as in `orders over 100`."""
    if not isinstance(one.value, entities.Comparison):
        return frozenset()
    return frozenset(entities.stem(word) for word in one.value.field.lower().split())


def by_first(phrases: Iterable[knowledge.Phrase]) -> dict[str, list[knowledge.Phrase]]:
    """Phrases by the word that they begin with."""
    firsts: dict[str, list[knowledge.Phrase]] = {}
    for phrase in phrases:
        firsts.setdefault(phrase[0], []).append(phrase)
    return firsts


@cache
def _concepts() -> dict[str, dict[str, list[knowledge.Phrase]]]:
    return {name: by_first(phrases) for name, phrases in knowledge.concepts().items()}


@lru_cache(maxsize=64)
def said(text: str, now: float, zone: tzinfo) -> Said:
    """A request, read. The last ones are kept, since one is read again for every step of its plan."""
    plain = _UP_TO.sub("been doing", text)
    plain = _OVER_AGO.sub(r"more than \1 ago", _POSSESSIVE.sub(r"\1", plain[: knowledge.LONGEST]))
    reading = entities.read(plain, now, zone)
    words = (one for one in reading.tokens if one.shape in ("word", "number"))
    return Said(reading, tuple(_apart(one) for one in words), text)


def _apart(token: Token) -> Token:
    """Words that have lost so much with their ending that they would be taken for others keep it."""
    return msgspec.structs.replace(token, stem=token.lower) if token.lower in _KEEPS else token


def clauses(one: Said) -> list[Said]:
    """Each thing that is wished for, by itself."""
    spans = one.reading.clauses
    if len(spans) < 2:
        return [one]
    return [_part(one, start, end) for start, end in spans]


def _part(whole: Said, start: int, end: int) -> Said:
    read = whole.reading
    text = read.text[start:end]

    def moved(token: Token) -> Token:
        return msgspec.structs.replace(token, start=token.start - start, end=token.end - start)

    tokens = tuple(moved(each) for each in read.tokens if start <= each.start and each.end <= end)
    found = tuple(
        msgspec.structs.replace(each, start=each.start - start, end=each.end - start)
        for each in read.found
        if start <= each.start and each.end <= end
    )
    part = msgspec.structs.replace(read, text=text, tokens=tokens, found=found, clauses=((0, len(text)),))
    return Said(part, tuple(each for each in tokens if each.shape in ("word", "number")), text)
