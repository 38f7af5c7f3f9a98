"""`doorward effort`: agents that regulate their effort, their conversations, budgets and sub-agents."""

from __future__ import annotations

import math
import sys
import time
from typing import Any

import click

from doorward.cli import effort_view, local_client, report
from doorward.cli.local_client import json_option, run_as_owner
from doorward.core.model import Outcome
from doorward.doors.terminal.messages import TerminalRequest

PRIORITIES = click.Choice(["low", "medium", "high"])
CONVERSATION_STATES = click.Choice(["open", "answered", "snoozed", "awaiting_energy", "out_of_budget", "ended"])
REQUEST_STATES = click.Choice(["queued", "in_progress", "completed", "failed", "cancelled"])
_POLL_SECONDS = 0.5
"""Seconds between two requests for the progress of sub-agents."""


class _Amount(click.ParamType[Any]):
    """A number that is not negative. Anything else could become `null` on its way, which means no limit."""

    name = "amount"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not math.isfinite(number) or number < 0:
            self.fail(f"Give a number from 0 up; given {str(value)!r}.", param, ctx)
        return number


class _Limit(_Amount):
    """An amount, or `none` for no limit."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if value == "none" else super().convert(value, param, ctx)


@click.group("effort", invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """See and steer agents that regulate their effort. Without a subcommand, show their energy and work.

    A persona with "effort" in its file pays for its work with energy, and uses cheaper models when little is left.
    """
    if ctx.invoked_subcommand is None:
        _show("effort/status", effort_view.show_status, as_json=False)


@command.command()
@click.argument("agent", default="")
@json_option
def status(agent: str, as_json: bool) -> None:
    """Show the energy and the work of each agent."""
    _show("effort/status", effort_view.show_status, as_json, agent=agent)


@command.command()
@click.option("--agent", default="", help="Only conversations of this agent.")
@click.option("--state", type=CONVERSATION_STATES, default=None, help="Only conversations in this state.")
@json_option
def conversations(agent: str, state: str | None, as_json: bool) -> None:
    """List conversations: state, age, cost and budget."""
    _show("conversation/list", effort_view.show_conversations, as_json, agent=agent, state=state or "")


@command.command()
@click.argument("agent")
@click.argument("text")
@click.option("--priority", type=PRIORITIES, default="medium", show_default=True, help="Higher ones come first.")
@click.option("--budget", type=_Amount(), default=None, help="Energy it may cost; 0 allows one answer.")
@json_option
def start(agent: str, text: str, priority: str, budget: float | None, as_json: bool) -> None:
    """Start a conversation with an agent, in a room of its own.

    \b
    doorward effort start scout "Which rooms exist?"
    doorward effort start scout "Sum up what happened today." --priority high --budget 20
    """
    params = {"agent": agent, "text": text, "priority": priority, "budget": budget}
    _show("conversation/start", effort_view.show_started, as_json, **params)


@command.command()
@click.argument("room")
@click.option("--agent", default="", help="The agent, if several agents with effort are in the room.")
@json_option
def end(room: str, agent: str, as_json: bool) -> None:
    """End a conversation. The agent stops its work there; the messages stay."""
    run_as_owner("conversation/end", as_json, room=room, agent=agent)


@command.command()
@click.option("--agent", default="", help="Only requests to the sub-agent of this agent.")
@click.option("--state", type=REQUEST_STATES, default=None, help="Only requests in this state.")
@click.option("--follow", is_flag=True, help="Show the progress until all of them have ended.")
@json_option
def requests(agent: str, state: str | None, follow: bool, as_json: bool) -> None:
    """List the requests to sub-agents with their progress."""
    params = {"agent": agent, "state": state or ""}
    if follow:
        _follow_requests(params, draws=sys.stdout.isatty() and not as_json)
    _show("effort/requests", effort_view.show_requests, as_json, **params)


@command.command()
@click.argument("request")
@click.option("--reason", default="", help="Why, for the agent to read.")
@json_option
def cancel(request: str, reason: str, as_json: bool) -> None:
    """Cancel a request to a sub-agent."""
    run_as_owner("effort/cancel", as_json, request=request, reason=reason)


@command.command()
@click.argument("agent")
@json_option
def pause(agent: str, as_json: bool) -> None:
    """Pause the sub-agent of an agent. Its requests wait."""
    _show("effort/pause", effort_view.show_agent, as_json, agent=agent)


@command.command()
@click.argument("agent")
@json_option
def resume(agent: str, as_json: bool) -> None:
    """Let a paused sub-agent go on."""
    _show("effort/resume", effort_view.show_agent, as_json, agent=agent)


@command.command()
@click.argument("scope", type=click.Choice(["conversation", "agent", "room"]))
@click.argument("id")
@click.argument("amount", type=_Limit(), metavar="AMOUNT|none")
@click.option(
    "--unit",
    type=click.Choice(["energy", "tokens", "dollars"]),
    default="energy",
    show_default=True,
    help="What is counted.",
)
@json_option
def budget(scope: str, id: str, amount: Any, unit: str, as_json: bool) -> None:
    """Set how much a conversation, an agent or a room may spend.

    \b
    doorward effort budget agent scout 500
    doorward effort budget conversation general 5 --unit dollars
    doorward effort budget agent scout none

    The amount counts from the start, so what was spent already is part of it. 0 allows one last answer.
    """
    params = {"scope": scope, "id": id, "unit": unit, "amount": None if amount == "none" else amount}
    _show("effort/budget", effort_view.show_budget, as_json, **params)


def _show(name: str, show: Any, as_json: bool, **params: Any) -> None:
    """Run a command, print its result with `show` on a terminal and as JSON elsewhere, and exit."""
    outcome = local_client.run(TerminalRequest(command=name, params=params))
    click.get_current_context().exit(_print_outcome(outcome, as_json, show))


def _print_outcome(outcome: Outcome, as_json: bool, show: Any) -> int:
    if outcome.status == "done" and sys.stdout.isatty() and not as_json:
        show(outcome.result)
        return 0
    return report.show_outcome(outcome, as_json)


def _follow_requests(params: dict[str, Any], *, draws: bool) -> None:
    """Wait until no request is queued or in progress, and draw a bar for each on a terminal meanwhile."""
    from doorward.cli.effort_progress import RequestBars  # noqa: PLC0415 - rich is slow to import

    with RequestBars(draws) as bars:
        while True:
            outcome = local_client.run(TerminalRequest(command="effort/requests", params=params))
            if outcome.status != "done" or not bars.update(outcome.result["items"]):
                return
            time.sleep(_POLL_SECONDS)
