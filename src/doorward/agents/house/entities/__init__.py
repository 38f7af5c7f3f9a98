"""From the text of a request to what it holds. Everything here is pure, never raises, and takes time in proportion."""

from __future__ import annotations

from doorward.agents.house.entities.entity import (
    Compare,
    Comparison,
    Entity,
    Group,
    Kind,
    Limit,
    Measure,
    Order,
    Reading,
    Span,
    Token,
)
from doorward.agents.house.entities.reader import read
from doorward.agents.house.entities.stemming import stem, stems, words

__all__ = [
    "Compare",
    "Comparison",
    "Entity",
    "Group",
    "Kind",
    "Limit",
    "Measure",
    "Order",
    "Reading",
    "Span",
    "Token",
    "read",
    "stem",
    "stems",
    "words",
]
