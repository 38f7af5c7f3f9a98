"""Links between collections: how one collection leads to the fields of another."""

from __future__ import annotations

from doorward.agents.house.lexicon import Lexicon

_MAX_LINKS = 2


def paths_to(lexicon: Lexicon, source: str, target: str) -> list[tuple[str, ...]]:
    """Return the chains of links that lead from a collection to another, shortest first; empty if there are none.

    A collection leads to itself by the empty chain.
    """
    found: list[tuple[str, ...]] = [()] if source == target else []
    frontier: list[tuple[str, tuple[str, ...]]] = [(source, ())]
    for _ in range(_MAX_LINKS):
        following = []
        for collection, chain in frontier:
            for field in lexicon.profile(collection).fields:
                if field.links and field.links in lexicon.collections and field.links != source:
                    following.append((field.links, (*chain, field.name)))
        found += [chain for collection, chain in following if collection == target]
        frontier = following
    return found


def referring(lexicon: Lexicon, target: str) -> list[tuple[str, str]]:
    """Return the collections whose records refer to a collection, with the fields that do."""
    return [
        (one.name, field.name)
        for one in lexicon.collections.values()
        for field in one.fields
        if field.links == target and one.name != target
    ]
