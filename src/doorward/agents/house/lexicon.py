"""The words of a house: its collections, fields and values, and the spelling of requests against them."""

from __future__ import annotations

from doorward.agents.house.request import Request
from doorward.store.collection_profiles import CollectionProfile


class Lexicon:
    def __init__(self, data: tuple[CollectionProfile, ...]) -> None:
        self.data = data

    def correct(self, request: Request) -> Request:
        """Return the request with the spelling of its words corrected."""
        return request


def lexicon_of(data: tuple[CollectionProfile, ...]) -> Lexicon:
    return Lexicon(data)
