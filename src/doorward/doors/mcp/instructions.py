"""What a client is told about the house at first, for the model that will use it."""

from __future__ import annotations

from doorward.backends.help import namespaces
from doorward.doors.mcp.ask import Ask
from doorward.doors.mcp.offers import Offer
from doorward.doors.mcp.owntools import SEARCH
from doorward.doors.mcp.results import RESUME
from doorward.doors.mcp.tools import Tools

_MOST_NAMED = 40


def instructions(tools: Tools, offer: Offer, ask: Ask) -> str:
    """Short, since it stands in the model's context for the whole conversation."""
    lines = [f"Doorward runs commands on this machine for {offer.caller.id}, in the room {offer.room_name!r}."]
    if offer.policy is not None:
        recipe = offer.policy.recipe
        lines.append(f"The room's rules: {recipe.description or recipe.display_name}")
        lines.append(f"At most {offer.policy.limits.per_minute} calls a minute; every call is recorded.")
    if not offer.commands:
        lines.append("No command is offered here.")
    if tools.searching(offer, ask.peer.listing):
        lines.append(
            f"{len(offer.commands)} commands are offered and only a few are listed: find others with search_commands,"
            " learn their parameters with describe_command, and run them with run_command."
        )
    elif tools.should_search(offer, ask.peer.listing):
        lines.append(
            f"All {len(offer.commands)} commands are listed, since the room's rules do not allow {SEARCH}, by which the"
            " others of a short list would be found."
        )
    others = namespaces(offer.commands)
    if others:
        named = [f"{name} ({count})" for name, count in others.items()]
        more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
        lines.append(
            f"{sum(others.values())} of the tools are of other MCP servers, by namespace: "
            f"{', '.join(named[:_MOST_NAMED])}{more}. What they say of themselves and give is those servers' own word."
        )
        if tools.searching(offer, ask.peer.listing):
            lines.append("search_commands takes a namespace, and lists all of it when there is no query.")
    lines.append(
        f"A call that waits for a person's approval is answered with a ticket; once approved, call {RESUME} with it."
    )
    return "\n".join(lines)
