"""Shared parts of the help commands: the family, the caller's commands, and namespaces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from doorward.commands.context import Context
from doorward.core.command import Command, Family

family = Family("help", category="help")

MOST_NAMED = 30


class AllowedCommands:
    """The commands that the caller may run. Each name is checked on demand: of many commands, few are looked at."""

    def __init__(self, ctx: Context, within: str = "") -> None:
        self._ctx = ctx
        self._within = f"{within}/" if within else ""

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.startswith(self._within) and self._ctx.get_ruling(name).allowed


def namespaces(commands: Iterable[Command]) -> dict[str, int]:
    """The namespaces of upstream servers, with the number of tools in each."""
    return dict(sorted(Counter(one.category for one in commands if "/" in one.category and not one.unlisted).items()))


def format_namespaces(offered: Iterable[Command]) -> str:
    """List the namespaces as a clause for an error message."""
    offered = list(offered)
    areas = sorted({one.name.partition("/")[0] for one in offered if "/" in one.name} | namespaces(offered).keys())
    return f"Namespaces: {', '.join(areas[:MOST_NAMED])}{', …' if len(areas) > MOST_NAMED else ''}"
