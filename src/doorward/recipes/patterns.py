"""Command patterns in recipes: a command, an area (`data/*`, `mcp/github/*`), or everything (`*`)."""

from __future__ import annotations

import functools
from collections.abc import Container, Iterable


@functools.lru_cache(4_096)
def from_specific_to_general(name: str) -> tuple[str, ...]:
    """Return every pattern that matches this command, most specific first."""
    steps = name.split("/")
    return (name, *("/".join([*steps[:depth], "*"]) for depth in range(len(steps) - 1, 0, -1)), "*")


def match(patterns: Container[str], name: str) -> str | None:
    """Return the most specific of these patterns that matches the command."""
    for pattern in from_specific_to_general(name):
        if pattern in patterns:
            return pattern
    return None


def idle(patterns: Iterable[str], names: Iterable[str]) -> list[str]:
    """Return the patterns that match none of these commands, each once: they are misspelt or not needed yet."""
    known = {pattern for name in names for pattern in from_specific_to_general(name)}
    return [pattern for pattern in dict.fromkeys(patterns) if pattern not in known]
