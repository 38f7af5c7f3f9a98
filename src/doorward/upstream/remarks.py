"""Names in a server's entry that mean nothing at that server: a typing error there would stay unseen."""

from __future__ import annotations

from doorward.upstream.offering import matches
from doorward.upstream.upstream import Upstream
from doorward.visible import visible

_BESIDE_TOOLS = ("resources.read", "prompts.get", "completion.complete")
"""What the entry can name as well."""


def remarks(upstream: Upstream) -> list[str]:
    """For each field the names in it that fit no tool, as sentences; nothing before the server has listed any."""
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
            found.append(f"{field} names {which}, and it has no such tool{'s' if len(lost) > 1 else ''}.")
    return found
