"""Patterns that name commands in a recipe: a command, an area (`data/*`, `mcp/github/*`), or everything (`*`)."""

from __future__ import annotations

import functools
from collections.abc import Container, Iterable


@functools.lru_cache(4_096)
def from_specific_to_general(name: str) -> tuple[str, ...]:
    """Every pattern that matches this command, the most specific first."""
    steps = name.split("/")
    return (name, *("/".join([*steps[:depth], "*"]) for depth in range(len(steps) - 1, 0, -1)), "*")


def match(patterns: Container[str], name: str) -> str | None:
    """The most specific of these patterns that matches the command."""
    for pattern in from_specific_to_general(name):
        if pattern in patterns:
            return pattern
    return None


def idle(patterns: Iterable[str], names: Iterable[str]) -> list[str]:
    """Those of these patterns that match none of these commands, each once: misspelt, or ahead of their commands."""
    known = {pattern for name in names for pattern in from_specific_to_general(name)}
    return [pattern for pattern in dict.fromkeys(patterns) if pattern not in known]
