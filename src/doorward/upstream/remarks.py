"""Finds tool names in a server's entry that match no tool, such as typing errors."""

from __future__ import annotations

from doorward.upstream.offering import matches
from doorward.upstream.upstream import Upstream
from doorward.visible import visible

_BESIDE_TOOLS = ("resources.read", "prompts.get", "completion.complete")
"""Other names that the entry may use."""


def remarks(upstream: Upstream) -> list[str]:
    """A sentence for each field with names that match no tool. Empty before the server has listed its tools."""
    there = [one.name for one in upstream.definitions]
    if not there:
        return []
    config = upstream.config
    approved = () if isinstance(config.auto_approve, bool) else config.auto_approve
    found = []
    for field, names in (("tools", config.allow or ()), ("denyTools", config.deny), ("autoApprove", approved)):
        lost = [name for name in names if not any(matches(name, one) for one in (*there, *_BESIDE_TOOLS))]
        if lost:
            which = ", ".join(visible(name, lines=False) for name in lost)
            found.append(f"{field} names {which}, but the server has no such tool{'s' if len(lost) > 1 else ''}.")
    return found
