"""The short list of tools: those that agents need most often, within a budget, and the search for the rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from doorward.core.command import Command
from doorward.doors.mcp.offers import RoomOffer
from doorward.gate.recipes.policy import matching_patterns

MAX_BYTES = 24_500
"""The size of the ranked tools and those of other servers together. With the search, a list stays below 30 KB."""

RANKED = (
    "file/read",
    "file/edit",
    "file/patch",
    "file/write",
    "file/search",
    "file/list",
    "bash",
    "draft/*",
    "room/say",
    "undo",
    "shell/pytest",
    "shell/npm_test",
    "process/*",
    "shell/git_status",
    "shell/git_diff",
    "shell/git_add",
    "shell/git_commit",
    "execution/output",
    "execution/status",
    "execution/cancel",
    "file/delete",
    "agent/ask",
    "data/list",
    "data/query",
    "shell/git_log",
)
"""The commands of a short list by pattern, most important first. A recipe can name others in `toolList`."""


class RankedTool(msgspec.Struct, frozen=True):
    """A command in a short list, and its tool as encoded bytes."""

    command: Command
    encoded: tuple[str, msgspec.Raw]

    @property
    def size(self) -> int:
        return len(bytes(self.encoded[1]))


def select_tools(offer: RoomOffer, tools: Iterable[RankedTool]) -> Iterator[RankedTool]:
    """The tools of a short list: those that the recipe names, or the ranked ones and whole servers that fit."""
    known = list(tools)
    named = _named_tools(offer)
    if named:
        yield from _rank(known, named)
        return
    left = MAX_BYTES
    for one in _rank(known, RANKED):
        if one.size <= left:
            left -= one.size
            yield one
    servers: dict[str, list[RankedTool]] = {}
    for one in known:
        if not one.command.ours:
            servers.setdefault(one.command.category, []).append(one)
    for group in servers.values():
        size = sum(one.size for one in group)
        if size <= left:
            left -= size
            yield from group


def _named_tools(offer: RoomOffer) -> tuple[str, ...]:
    commands = offer.policy.recipe.strategy.ai_commands if offer.policy is not None else None
    return commands.tool_list if commands is not None else ()


def _rank(tools: list[RankedTool], patterns: Iterable[str]) -> list[RankedTool]:
    """The tools that a pattern matches, in the order of the patterns."""
    places = {pattern: number for number, pattern in enumerate(patterns)}
    found = []
    for one in tools:
        matched = [places[pattern] for pattern in matching_patterns(one.command.name) if pattern in places]
        if matched:
            found.append((min(matched), one))
    return [one for _, one in sorted(found, key=lambda pair: pair[0])]
