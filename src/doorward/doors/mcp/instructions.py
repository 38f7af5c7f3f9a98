"""Server instructions: what the model of a client is told about Doorward."""

from __future__ import annotations

from doorward.backends.help import namespaces
from doorward.doors.mcp.ask import Ask
from doorward.doors.mcp.offers import Offer
from doorward.doors.mcp.owntools import SEARCH
from doorward.doors.mcp.results import RESUME
from doorward.doors.mcp.tools import Tools

_MOST_NAMED = 40


def instructions(tools: Tools, offer: Offer, ask: Ask) -> str:
    """The instructions for one client. They are short, because they stay in the model's context."""
    lines = [f"Doorward runs commands on this machine for {offer.caller.id}, in the room {offer.room_name!r}."]
    if offer.policy is not None:
        recipe = offer.policy.recipe
        lines.append(f"The room's rules: {recipe.description or recipe.display_name}")
        lines.append(f"At most {offer.policy.limits.per_minute} calls a minute; every call is recorded.")
    if not offer.commands:
        lines.append("No command is available here.")
    if tools.searching(offer, ask.peer.listing):
        lines.append(
            f"{len(offer.commands)} commands are available, but only a few are listed. Find the others with"
            " search_commands, read their parameters with describe_command, and run them with run_command."
        )
    elif tools.should_search(offer, ask.peer.listing):
        lines.append(f"All {len(offer.commands)} commands are listed, because the room's rules do not allow {SEARCH}.")
    others = namespaces(offer.commands)
    if others:
        named = [f"{name} ({count})" for name, count in others.items()]
        more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
        lines.append(
            f"{sum(others.values())} tools belong to other MCP servers, by namespace: "
            f"{', '.join(named[:_MOST_NAMED])}{more}. Their descriptions and results are those servers' own words."
        )
        if tools.searching(offer, ask.peer.listing):
            lines.append("search_commands takes a namespace; without a query it lists the whole namespace.")
    lines.append(
        f"A call that waits for a person's approval returns a ticket. Once approved, call {RESUME} with the ticket."
    )
    return "\n".join(lines)
