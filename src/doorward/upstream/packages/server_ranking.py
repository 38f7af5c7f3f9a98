"""The ranking of servers for a purpose, with the same scores as the search for commands."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

from doorward.store.command_ranking import CommandFields, SearchQuestion, Term, explain_score, score
from doorward.store.command_texts import StemCache, lexicon, words
from doorward.upstream.packages.known_servers import FoundServer

_LEAST = 0.05
_MOST_TERMS = 24
_FILLER = frozenset(("mcp", "server", "servers", "tool", "tools"))
"""Words that every server has."""


class RankedServer(NamedTuple):
    server: FoundServer
    score: float
    reason: str


def find_terms(purpose: str) -> list[str]:
    """The content words of a purpose, each once."""
    stop = lexicon().stop | _FILLER
    found = list(dict.fromkeys(words(purpose)))
    return [word for word in found if word not in stop][:_MOST_TERMS] or found[:_MOST_TERMS]


def rank_servers(purpose: str, servers: Sequence[FoundServer]) -> list[RankedServer]:
    """Rank servers for a purpose, the best first. Servers that have nothing to do with it are left out."""
    stems = StemCache()
    fields = [_read_fields(stems, one) for one in servers]
    asked = _read_question(stems, purpose, fields)
    average = sum(one.length for one in fields) / max(1, len(fields))
    found = []
    for server, one in zip(servers, fields, strict=True):
        points = _name_bonus(purpose, server) or score(asked, one, average)
        if points >= _LEAST:
            reason = "its name is the purpose" if points == 1.0 else explain_score(asked, one)
            found.append(RankedServer(server, round(min(1.0, points), 3), reason))
    return sorted(found, key=lambda one: (-one.score, one.server.source != "known", one.server.name))


def _name_bonus(purpose: str, server: FoundServer) -> float:
    return 1.0 if purpose.strip().lower() in (server.name.lower(), server.package.lower()) else 0.0


def _read_fields(stems: StemCache, server: FoundServer) -> CommandFields:
    texts = (
        f"{server.name} {server.package}",
        " . ".join(server.purposes),
        server.description,
        " ".join(server.tools),
        "",
    )
    stop = lexicon().stop
    said = [(one, frozenset(stems.of(word for word in words(one) if word not in stop))) for one in server.purposes]
    drop = _FILLER | {"modelcontextprotocol"}
    return CommandFields([stems.of(word for word in words(text) if word not in drop) for text in texts], said)


def _read_question(stems: StemCache, purpose: str, fields: Sequence[CommandFields]) -> SearchQuestion:
    found = find_terms(purpose)
    synonyms = lexicon().alike
    terms = []
    for word, stem in zip(found, stems.of(found), strict=True):
        known = sum(any(f" {stem} " in text for text in one.texts) for one in fields)
        alike = [other for group in synonyms if word in group for other in group if other != word]
        weight = math.log(1 + (len(fields) - known + 0.5) / (known + 0.5))
        # A word that no server has says little, such as the name of a city.
        terms.append(Term(word, stem, weight if known else weight / 2, tuple(stems.of(alike))))
    ordered = [term.stem for term in terms]
    return SearchQuestion(tuple(terms), frozenset(itertools.pairwise(ordered)), frozenset(ordered))
