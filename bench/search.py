"""How well commands are found: how fast among very many, and how often the right one.

The latter is measured with the functions and questions of others, beside two plain ways to search the same texts in the
same run: by how many words are shared, and by BM25.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.apart import run_apart
from bench.search_functions import Functions, Question, functions, installed
from bench.sizes import Sizes
from doorward.core.command import Command
from doorward.core.registry import Registry
from doorward.store.command_index import CommandIndex

_WORD = re.compile(r"[a-z0-9]+")
_AMONG_FIRST = 5
Rank = Callable[[str], Sequence[str]]


def measure(folder: Path, sizes: Sizes) -> dict[str, float]:
    return {**run_apart("bench.search_many", sizes.searched, sizes.searches), **_recall(sizes)}


def _recall(sizes: Sizes) -> dict[str, float]:
    data = installed()
    if data is None:
        return {}
    found = functions(data)
    asked = found.questions[:: max(1, len(found.questions) // sizes.searches_of_others)]
    registry = Registry([])
    registry.replace("bench", found.commands, {}, bare=False)
    index = CommandIndex(registry, vectors=True)

    def ours(query: str) -> list[str]:
        return [hit.command for hit in index.hits(query, limit=_AMONG_FIRST)]

    def with_meaning(query: str) -> list[str]:
        return [hit.command for hit in index.hits(query, limit=_AMONG_FIRST, meaning=True)]

    numbers = {
        "search_recall": _found(ours, asked, _AMONG_FIRST),
        "search_first": _found(ours, asked, 1),
        "search_bm25": _found(_bm25(found), asked, _AMONG_FIRST),
        "search_overlap": _found(_overlap(found), asked, _AMONG_FIRST),
    }
    if index.ranking == "words and meaning":
        numbers["search_meaning"] = _found(with_meaning, asked, _AMONG_FIRST)
    return numbers


def _found(rank: Rank, asked: Sequence[Question], among: int) -> float:
    """How much of what answers a question is among the first, over all questions."""
    parts = [len(one.wanted.intersection(rank(one.text)[:among])) / len(one.wanted) for one in asked]
    return sum(parts) / len(parts)


def _text(command: Command) -> list[str]:
    """All that is known of a function, in one piece: what the plain ways search."""
    fields = command.schema["properties"]
    parts = [command.name, command.description, *(f"{key} {spec.get('description')}" for key, spec in fields.items())]
    return _WORD.findall(" ".join(parts).replace("_", " ").lower())


def _overlap(found: Functions) -> Rank:
    known = [(command.name, set(_text(command))) for command in found.commands]

    def rank(query: str) -> list[str]:
        asked = set(_WORD.findall(query.lower()))
        return [name for name, _ in sorted(known, key=lambda one: -len(asked & one[1]))[:_AMONG_FIRST]]

    return rank


def _bm25(found: Functions, saturation: float = 1.2, length: float = 0.75) -> Rank:
    texts = [Counter(_text(command)) for command in found.commands]
    sizes = [sum(text.values()) for text in texts]
    average = sum(sizes) / len(sizes)
    places: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for number, text in enumerate(texts):
        for word, times in text.items():
            places[word].append((number, times))

    def rank(query: str) -> list[str]:
        points: Counter[int] = Counter()
        for word in _WORD.findall(query.lower()):
            rarity = math.log(1 + (len(texts) - len(places[word]) + 0.5) / (len(places[word]) + 0.5))
            for number, times in places[word]:
                norm = saturation * (1 - length + length * sizes[number] / average)
                points[number] += rarity * times * (saturation + 1) / (times + norm)  # type: ignore[assignment]
        return [found.commands[number].name for number, _ in points.most_common(_AMONG_FIRST)]

    return rank
