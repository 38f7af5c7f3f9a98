"""The search index of commands: names, texts and examples in an in-memory SQLite full-text index.

Before each search the index applies the changes of the registry since the last one. The caller passes the names it
may see, so that a search never reveals a command the caller may not run.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import math
import sqlite3
import threading
from collections.abc import Container, Iterator
from typing import Literal

import msgspec

from doorward.core.command import Command
from doorward.core.registry import Registry
from doorward.store import command_vectors
from doorward.store.accepted_suggestions import AcceptedSuggestions
from doorward.store.command_ranking import CommandFields, SearchQuestion, Term, explain_score, score
from doorward.store.command_texts import CommandTexts, StemCache, lexicon, phrasings, texts, words
from doorward.store.command_vectors import CommandVectors

_COLUMNS = ", ".join(CommandTexts._fields)
_MARKS = ", ".join("?" * len(CommandTexts._fields))
_WEIGHTS = "4, 2, 2, 1, 1"
_EVERYWHERE = "zzeverywhere"
"""A word that every command has. With it, an expression can contain words that count but are not required."""
_LONGEST_QUERY = 2_000
_MOST_TERMS = 32
_FEW_ENOUGH = 400
"""Approximate number of commands ranked for a question. More common words are not required to match."""
_MANY_ENOUGH = 2_500
"""The same, for the second search if the first one finds too few."""
_COMMON = 0.2
"""A word that a larger share of all commands has does not select candidates."""
_AT_A_TIME = 200
"""How many commands are indexed before the lock is released for other searches."""
_PLACES, _BY_MEANING = 20, 0.5
"""Rank fusion: the constant added to each rank, and the weight of the meaning rank relative to the word rank."""
_ENOUGH = 30
"""How many commands of each of the two rankings are fused."""
_ALONE = 0.1
"""The score of a command that is close in meaning but shares no word."""


class SearchHit(msgspec.Struct, frozen=True):
    """One search result."""

    command: str
    score: float
    """From 0 to 1."""
    why: str
    """The reason for the match, as a clause."""


class CommandIndex:
    """All commands of the server by their words. There is one index per server."""

    def __init__(
        self, registry: Registry, *, owner: str = "", accepted: AcceptedSuggestions | None = None, vectors: bool = False
    ) -> None:
        self._registry = registry
        self._accepted = accepted
        self._meanings = CommandVectors() if vectors and command_vectors.is_installed() else None
        self._meant = -1
        """The registry revision of the vectors."""
        self._owner = owner
        """The tenant that can see private commands."""
        self._lock = threading.Lock()
        self._db = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        self._db.executescript(
            f"CREATE VIRTUAL TABLE found USING fts5 ({_COLUMNS}, content = '', tokenize = 'porter unicode61');"
            "CREATE VIRTUAL TABLE vocabulary USING fts5vocab (found, 'row');"
        )
        self._stems = StemCache()
        self._rows: dict[str, tuple[int, Command]] = {}
        self._names: dict[int, str] = {}
        self._length = 0
        """The total number of words of all commands."""
        self._next = 1
        self._revision = -1
        self._known_by: dict[str, int] = {}
        """A cache: how many commands contain a stem."""
        self._fields: dict[int, CommandFields] = {}
        self._spelt: dict[str, str] = {}
        """One word for each stem of a synonym."""

    @property
    def ranking(self) -> Literal["words", "words and meaning"]:
        """What the results are ranked by if `meaning` is requested."""
        return "words" if self._meanings is None else "words and meaning"

    async def ready(self) -> None:
        """Index the latest changes on a thread. Await this before `hits`, so that the event loop is not blocked."""
        while self._registry.revision != self._revision:
            await asyncio.to_thread(self._follow)

    def hits(
        self,
        query: str,
        among: Container[str] | None = None,
        limit: int = 10,
        tenant: str = "",
        *,
        meaning: bool = False,
    ) -> list[SearchHit]:
        """The commands that match a query, best first.

        `among` limits the names that may be returned. Without it, private commands are returned only to the tenant that
        owns the server. Unlisted commands are never returned. With `meaning`, commands that are close in meaning count
        too if vectors are installed. Without it, the same query gives the same results on every installation.
        """
        self._follow()
        with self._lock:
            asked = self._parse_question(query)
            if not asked.terms or limit < 1:
                return []
            taken = self._accepted.score_boosts(tenant, asked.stems) if self._accepted is not None else {}
            learned = [self._rows[name][0] for name in taken if name in self._rows]
            fuses = meaning and self._meanings is not None
            wanted = max(limit, _ENOUGH) if fuses else limit
            rows = dict.fromkeys(self._candidates(asked, among, wanted, tenant))
            rows.update(dict.fromkeys(row for row in learned if self._may_come_out(row, among, tenant)))
            average = self._length / max(1, len(self._rows))
            found: list[tuple[float, str]] = []
            for row in rows:
                name = self._names[row]
                points = score(asked, self._fields[row], average) + taken.get(name, 0.0)
                if points > 0:
                    found.append((min(1.0, points), name))
            found.sort(key=lambda one: (-one[0], one[1]))
            if fuses:
                found = self._fused(query, found, among, limit, tenant)
            return [SearchHit(name, round(score, 3), self._why(asked, name, taken)) for score, name in found[:limit]]

    def _fused(
        self, query: str, found: list[tuple[float, str]], among: Container[str] | None, limit: int, tenant: str
    ) -> list[tuple[float, str]]:
        """Merge the rankings by words and by meaning with reciprocal rank fusion.

        The word scores are reassigned in the new order. Commands beyond the last word score get a low fixed one.
        """
        meanings = self._meanings
        if meanings is None:
            return found
        if self._meant != self._revision:
            meanings.follow(command for _, command in self._rows.values() if not command.unlisted)
            self._meant = self._revision
        places: dict[str, float] = {name: 1 / (_PLACES + place) for place, (_, name) in enumerate(found)}
        by_words = frozenset(places)
        near = (
            name
            for name in meanings.near(query, by_words)
            if name in by_words or self._may_come_out(self._rows[name][0], among, tenant)
        )
        for place, name in enumerate(itertools.islice(near, max(limit, _ENOUGH))):
            places[name] = places.get(name, 0.0) + _BY_MEANING / (_PLACES + place)
        order = sorted(places, key=lambda name: (-places[name], name))
        scores = sorted((score for score, _ in found), reverse=True) or [_ALONE]
        lowest = min(_ALONE, scores[-1])
        return [(scores[place] if place < len(scores) else lowest, name) for place, name in enumerate(order)]

    def _why(self, asked: SearchQuestion, name: str, taken: Container[str]) -> str:
        told = explain_score(asked, self._fields[self._rows[name][0]])
        return f"{told}; people here chose it for similar questions" if name in taken else told

    def known_words(self, query: str) -> frozenset[str]:
        """The stems of a question that commands contain too. Only these may be stored."""
        self._follow()
        with self._lock:
            return frozenset(stem for stem in self._parse_question(query).stems if self._count(stem))

    def query_terms(self, text: str) -> dict[str, frozenset[str]]:
        """The content words of a text in order, each with its stem and the stems of its synonyms."""
        telling = list(dict.fromkeys(word for word in words(text[:_LONGEST_QUERY]) if word not in lexicon().stop))
        with self._lock:
            found = zip(telling, self._stems.of(telling), strict=True)
            return {word: frozenset((stem, *self._similar().get(stem, ()))) for word, stem in found}

    def stems(self, text: str) -> frozenset[str]:
        """The stems of the content words of a text."""
        with self._lock:
            return frozenset(self._stems.of(word for word in words(text) if word not in lexicon().stop))

    def _parse_question(self, query: str) -> SearchQuestion:
        """Parse a question into its content words. If it has only stop words, these are used."""
        every = words(query[:_LONGEST_QUERY])
        stop = lexicon().stop
        telling = [word for word in every if word not in stop] or every
        telling = list(dict.fromkeys(telling))[:_MOST_TERMS]
        terms: dict[str, Term] = {}
        for word, stem in zip(telling, self._stems.of(telling), strict=True):
            terms.setdefault(stem, self._term(word, stem, last=word == telling[-1]))
        stems = self._stems.of(every)
        return SearchQuestion(tuple(terms.values()), frozenset(itertools.pairwise(stems)), frozenset(terms))

    def _term(self, word: str, stem: str, *, last: bool) -> Term:
        count = len(self._rows)
        direct = self._count(stem)
        alike = tuple(one for one in self._similar().get(stem, ()) if self._count(one))
        unfinished = last and not direct and len(word) > 2 and word.isalpha()
        weight = math.log(1 + count / (1 + (direct or min(map(self._count, alike), default=0))))
        if not direct and not alike:
            weight /= 2  # most likely a name of the user's own, which should not count much against a command
        return Term(word, stem, weight, alike, unfinished)

    def _candidates(
        self, asked: SearchQuestion, among: Container[str] | None, limit: int, tenant: str
    ) -> Iterator[int]:
        """The rows to rank: found by the rarer words and, if these find too few, by all words."""
        seen = 0
        given: set[int] = set()
        for expression in self._expressions(asked):
            for (row,) in self._db.execute(
                f"SELECT rowid FROM found WHERE found MATCH ? ORDER BY bm25(found, {_WEIGHTS})", (expression,)
            ):
                if row in given or not self._may_come_out(row, among, tenant):
                    continue
                given.add(row)
                yield row
                seen += 1
                if seen >= max(limit + 5, 20):
                    return
            if seen >= limit:
                return

    def _expressions(self, asked: SearchQuestion) -> Iterator[str]:
        direct = sorted((self._count(term.stem), f'"{term.word}"') for term in asked.terms if self._count(term.stem))
        everything = list(direct)
        telling = [one for one in direct if one[0] <= max(_FEW_ENOUGH, len(self._rows) * _COMMON)]
        direct = telling or direct[:1]
        near = {one for term in asked.terms for one in term.alike} - asked.stems
        alike = sorted((self._count(one), f'"{self._spelt[one]}"') for one in near)
        begun = [f'"{term.word}" *' for term in asked.terms if term.unfinished]
        needed, total = list(begun), 0
        for count, word in (*direct, *alike):
            if needed and total + count > _FEW_ENOUGH:
                continue
            needed.append(word)
            total += count
        if not needed:
            return
        if total > _FEW_ENOUGH and len(direct) > 1:  # even the rarest word has many matches
            both = f"{direct[0][1]} AND {direct[1][1]}"
            others = " OR ".join((*(word for _, word in direct[2:]), _EVERYWHERE))
            yield f"{both} AND ({others})"
        rest = [word for _, word in direct if word not in needed]
        expression = f"({' OR '.join(needed)})"
        yield f"{expression} AND ({' OR '.join((*rest, _EVERYWHERE))})" if rest else expression
        whole, total = list(begun), 0
        for count, word in sorted((*everything, *alike)):
            if not whole or total + count <= _MANY_ENOUGH:
                whole.append(word)
                total += count
        if len(whole) > len(needed):
            yield " OR ".join(whole)

    def _may_come_out(self, row: int, among: Container[str] | None, tenant: str) -> bool:
        name = self._names[row]
        command = self._rows[name][1]
        if command.unlisted:
            return False
        return name in among if among is not None else not command.private or tenant == self._owner

    def _count(self, stem: str) -> int:
        found = self._known_by.get(stem)
        if found is None:
            row = self._db.execute("SELECT doc FROM vocabulary WHERE term = ?", (stem,)).fetchone()
            found = self._known_by[stem] = row[0] if row else 0
        return found

    def _cut(self, command: Command, found: CommandTexts) -> CommandFields:
        """The words of a command as stems, in one batch because each lookup of new stems is a query."""
        stop = lexicon().stop
        says = phrasings(command)
        said = [[word for word in words(one) if word not in stop] for one in says]
        lists = [*map(words, found), *said]
        stems = iter(self._stems.of(itertools.chain.from_iterable(lists)))
        cut = [list(itertools.islice(stems, len(one))) for one in lists]
        telling = map(frozenset, cut[len(found) :])
        return CommandFields(cut[: len(found)], tuple(zip(says, telling, strict=True)))

    @functools.cache  # noqa: B019 (one index per server)
    def _similar(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for group in lexicon().alike:
            stems = self._stems.of(group)
            self._spelt.update(zip(stems, group, strict=True))
            for stem in stems:
                found[stem] = tuple(dict.fromkeys((*found.get(stem, ()), *(one for one in stems if one != stem))))
        return found

    def _follow(self) -> None:
        """Index the registry's changes in small steps, so that other searches do not wait long."""
        while self._registry.revision != self._revision:
            with self._lock:
                self._index_some()

    def _index_some(self) -> None:
        revision = self._registry.revision
        current = {command.name: command for command in self._registry}
        gone = [name for name, (_, command) in self._rows.items() if current.get(name) is not command]
        new = [name for name in current if name not in self._rows or current[name] is not self._rows[name][1]]
        self._db.execute("BEGIN")
        for name in gone:
            self._forget(name)
        for name in new[:_AT_A_TIME]:
            self._put(current[name])
        self._db.execute("COMMIT")
        self._known_by.clear()
        if len(new) <= _AT_A_TIME:
            self._revision = revision

    def _put(self, command: Command) -> None:
        row, self._next = self._next, self._next + 1
        self._rows[command.name], self._names[row] = (row, command), command.name
        found = texts(command)
        self._fields[row] = self._cut(command, found)
        self._length += self._write("", row, found)

    def _forget(self, name: str) -> None:
        row, command = self._rows.pop(name)
        del self._names[row]
        del self._fields[row]
        self._length -= self._write("'delete', ", row, texts(command))

    def _write(self, how: str, row: int, found: CommandTexts) -> int:
        """Add or remove a command's words. The index stores no texts, so a removal needs the same words again."""
        into = f"INSERT INTO found ({'found, ' if how else ''}rowid, {_COLUMNS}) VALUES ({how}?, {_MARKS})"
        self._db.execute(into, (row, *found[:-1], f"{found.text} {_EVERYWHERE}"))
        return sum(len(text.split()) for text in found)
