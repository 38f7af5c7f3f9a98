"""Terminal view of agents with effort, their conversations and the requests to their sub-agents."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import click

from doorward.cli import report
from doorward.core.escape_invisible import escape_invisible

_NO_AGENTS = 'No agent has effort. Add "effort": {} to a persona\'s file, see docs/EFFORT.md.'
_NO_CONVERSATIONS = 'No conversations. Start one: doorward effort start AGENT "your question"'
_NO_REQUESTS = "No requests to sub-agents. An agent makes one when it needs an MCP server that is not there."
_SUBJECTS = ("id", "server", "serverName", "purpose")
"""The parameters that name what a request is about, the best first."""
_FLOOR, _CEILING = -50.0, 100.0
_BAR_WIDTH = 10


def show_status(result: dict[str, Any]) -> None:
    items = result["items"]
    if not items:
        click.echo(_NO_AGENTS)
        return
    report.show_result({"items": [_agent_row(one) for one in items]})
    for one in items:
        for budget in one["budgets"]:
            report.print_note(f"{one['agent']}: {_describe_budget(budget)}")


def show_agent(agent: dict[str, Any]) -> None:
    """Print one agent, after its sub-agent was paused or resumed."""
    show_status({"items": [agent]})


def show_conversations(result: dict[str, Any]) -> None:
    if not result["items"]:
        click.echo(_NO_CONVERSATIONS)
        return
    report.show_result({"items": [_conversation_row(one) for one in result["items"]]})


def show_started(conversation: dict[str, Any]) -> None:
    room = escape_invisible(conversation["room"], lines=False)
    click.echo(f"{conversation['agent']} got your message in the room {room}.")
    report.print_note(f"Read its answer and go on: doorward chat {room}")


def show_requests(result: dict[str, Any]) -> None:
    if not result["items"]:
        click.echo(_NO_REQUESTS)
        return
    report.show_result({"items": [_request_row(one) for one in result["items"]]})
    for one in result["items"]:
        if one["ticket"] and one["state"] in ("queued", "in_progress"):
            report.print_note(f"{one['id']} waits for approval: doorward approvals show {one['ticket']}")


def show_budget(result: dict[str, Any]) -> None:
    budget, unit = result["budget"], result["unit"]
    whose = escape_invisible(f"{result['scope']} {result['id']}", lines=False)
    click.echo(f"{whose}: {_describe_budget(budget) if budget else f'no limit in {unit}'}.")


def describe_request(request: dict[str, Any]) -> str:
    """What a request is about, such as `add server weather for scout`."""
    subject = next((str(request["params"][key]) for key in _SUBJECTS if request["params"].get(key)), "")
    words = f"{request['kind'].replace('_', ' ')} {subject}".rstrip()
    return escape_invisible(f"{words} for {request['agent']}", lines=False)


def format_bar(fraction: float) -> str:
    filled = round(max(0.0, min(1.0, fraction)) * _BAR_WIDTH)
    return "█" * filled + "░" * (_BAR_WIDTH - filled)


def _agent_row(agent: dict[str, Any]) -> dict[str, Any]:
    energy = agent["energy"]
    bar = format_bar((energy["level"] - _FLOOR) / (_CEILING - _FLOOR))
    return {
        "agent": agent["agent"],
        "energy": f"{bar} {energy['level']:.0f} {energy['status']}",
        "model": agent["model"],
        "conversations": _describe_counts(agent["conversations"]),
        "sub-agent": f"{agent['subAgent']} by {agent['pausedBy']}" if agent["pausedBy"] else agent["subAgent"],
        "requests": _describe_counts(agent["requests"]),
    }


def _conversation_row(one: dict[str, Any]) -> dict[str, Any]:
    state = one["state"].replace("_", " ")
    return {
        "room": one["room"],
        "agent": one["agent"],
        "state": f"{state}: {one['note']}" if one["note"] else state,
        "priority": one["priority"],
        "age": _format_age(one["createdAt"]),
        "cost": _describe_cost(one),
        "budget": ", ".join(_describe_budget(budget) for budget in one["budgets"]) or "none",
    }


def _request_row(one: dict[str, Any]) -> dict[str, Any]:
    running = one["state"] == "in_progress"
    return {
        "request": one["id"],
        "state": f"{format_bar(one['progress'] / 100)} {one['progress']:.0f} %" if running else one["state"],
        "what": describe_request(one),
        "priority": one["priority"],
        "energy": f"{one['energy']:.1f}",
        "message": one["error"] or one["message"],
    }


def _describe_counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {state.replace('_', ' ')}" for state, count in counts.items() if count) or "none"


def _describe_cost(one: dict[str, Any]) -> str:
    parts = [f"{one['energy']:.1f} energy"]
    if one["tokens"]:
        parts.append(f"{one['tokens']:,} tokens")
    if one["dollars"]:
        parts.append(f"${one['dollars']:.4f}")
    return ", ".join(parts)


def _describe_budget(budget: dict[str, Any]) -> str:
    return f"{budget['spent']:,.4g} of {budget['amount']:,.10g} {budget['unit']} spent"


def _format_age(since: str) -> str:
    """The time since then, in the largest unit that fits."""
    seconds = max(0.0, (datetime.now(UTC) - datetime.fromisoformat(since)).total_seconds())
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size:.0f} {unit}"
    return f"{seconds:.0f} s"
