"""One generated question: its wording, what was asked before it, and what a right answer takes."""

from __future__ import annotations

import msgspec

from bench.houses.expectations import Expectation
from bench.houses.query import Query


class Question(msgspec.Struct, frozen=True, kw_only=True):
    kind: str
    says: str
    expect: Expectation
    before: tuple[str, ...] = ()
    """The request before it, in the same session."""
    queries: tuple[Query, ...] = ()
    """The readings of a question about records, to work out its answer again."""
