"""Where one wish ends and the next begins."""

from __future__ import annotations

from functools import cache

from doorward.agents.house.entities.knowledge import vocabulary
from doorward.agents.house.entities.line import Line
from doorward.agents.house.entities.phrases import Phrases, listed


@cache
def _joins() -> Phrases[str]:
    words = vocabulary()
    return listed(words.joins, words.cut_joins)


def clauses(line: Line) -> tuple[tuple[int, int], ...]:
    """The stretches of text between the words and marks that join wishes. There is always one at least."""
    inside = {k for first, behind in line.taken for k in range(first, behind)}
    parts: list[tuple[int, int]] = []
    start = at = 0
    while at < len(line.tokens):
        behind = _join(line, at) if at not in inside else 0
        if behind and at > start:
            parts.append((line.tokens[start].start, line.tokens[at - 1].end))
            start = behind
        elif behind:
            start = behind
        at = behind or at + 1
    if start < len(line.tokens):
        parts.append((line.tokens[start].start, line.tokens[-1].end))
    return tuple(parts) or ((0, len(line.text)),)


def _join(line: Line, i: int) -> int:
    """Where the next wish begins, if one ends at this token; 0 otherwise."""
    words = vocabulary()
    token = line.tokens[i]
    if token.shape == "mark" and token.lower in (".", "!", "?"):
        return i + 1 if i + 1 < len(line.tokens) and not line.touches(i + 1) else 0
    if token.lower == "," and line.lower(i + 1) in ("then", "and"):
        return _join(line, i + 1)
    found = _joins().at(line.tokens, i)
    if found is None:
        return 0
    word, at = found
    if word in words.cut_joins or (word in words.sure_joins and at < len(line.tokens)):
        return at
    return at if _begins_wish(line, at) else 0


def _begins_wish(line: Line, i: int) -> bool:
    """Whether a verb that is no noun here, or a question, stands behind the joining word."""
    words = vocabulary()
    word = line.lower(i)
    if word in ("how", "what", "which", "who", "when", "where", "why", "please"):
        return i + 1 < len(line.tokens)
    if word not in words.acts:
        return False
    follows = line.lower(i + 1)
    if word in words.also_nouns:
        return follows in words.articles or follows in (
            "me",
            "us",
            "them",
            "it",
            "how",
            "what",
            "which",
            "that",
            "those",
        )
    return True
