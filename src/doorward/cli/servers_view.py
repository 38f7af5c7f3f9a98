"""Terminal view of MCP servers and their tools."""

from __future__ import annotations

import os
import shutil
from typing import Any

import click

from doorward.cli import report
from doorward.core.escape_invisible import escape_invisible
from doorward.core.model import Outcome

_NO_SERVERS = """No MCP servers yet. {where}

Import those of the MCP clients on this machine:
  doorward servers import

Add one by its command or its URL:
  doorward servers add time --network -- uvx mcp-server-time
  doorward servers add search --url https://search.example/mcp"""

_MAX_TOOL_NAMES = 40
_NO_LOG_REASONS = {
    "disabled": "The server is disabled. Earlier log output is not kept.",
    "stopped": "The server is stopped. Without `doorward up`, it starts only when one of its tools is called, and its"
    " log output is not kept.",
}
"""Why a server in this state has no log output."""


def format_labelled(head: str, text: str, indent: int = 2) -> str:
    """Format a bold label and its text, wrapped between words."""
    lines = click.wrap_text(
        f"{head} {escape_invisible(text, lines=False)}",
        shutil.get_terminal_size().columns - 1,
        subsequent_indent=" " * indent,
    )
    return click.style(head, bold=True) + lines[len(head) :]


def show_servers(result: dict[str, Any]) -> None:
    items = result["items"]
    if items:
        report.show_result({"items": [_server_row(one) for one in items]})
    else:
        click.echo(_NO_SERVERS.format(where=_describe_file(escape_invisible(result["file"], lines=False))))
    if result.get("problem"):
        click.echo(escape_invisible(result["problem"]), err=True)
    for one in items:
        if one.get("problem"):
            opening = f"The server {one['id']} "
            said = one["problem"].removeprefix(f"Server {one['id']}: ").removeprefix(opening)
            said = f"It {said}" if one["problem"].startswith(opening) else said
            click.echo(format_labelled(f"{one['id']}:", f"{said}{_format_retry(one)}"), err=True)
        for remark in one.get("remarks", ()):
            click.echo(format_labelled(f"{one['id']}:", remark), err=True)
        if one.get("changed"):
            report.print_note(
                f"Tools of {one['id']} changed since their approval. Review them: doorward servers approve {one['id']}"
            )
        if one.get("new"):
            report.print_note(f"New tools of {one['id']} need approval. Review: doorward servers approve {one['id']}")
    if any(one["state"] == "stopped" for one in items):
        report.print_note("A stopped server starts with `doorward up`, or when one of its tools is called.")
    found = result.get("elsewhere") or []
    if found:
        names = ", ".join(escape_invisible(one["name"], lines=False) for one in found)
        report.print_note(
            f"MCP clients on this machine have more servers: {names}. Import them: doorward servers import"
        )


def _describe_file(file: str) -> str:
    return f"The file {file} lists no servers." if os.path.exists(file) else f"The file {file} does not exist."


def _format_retry(one: dict[str, Any]) -> str:
    seconds = one.get("retrySeconds")
    if seconds is None:
        return ""
    left = max(round(seconds), 1)
    when = f"{left} second{'' if left == 1 else 's'}"
    return f" Next attempt in {when}; to try now: doorward servers restart {one['id']}"


def format_undo_hint(outcome: Outcome) -> str:
    """Return the command that undoes a change of the servers file."""
    call = outcome.call
    return f"execution {call}; undo it with: doorward run --as=me --room= undo --execution={call}"


def _server_row(one: dict[str, Any]) -> dict[str, Any]:
    median = one.get("p50Ms")
    return {
        "server": one["id"],
        "state": one["state"],
        "transport": one["transport"],
        "tools": one["tools"],
        "calls": one["calls"],
        "failed": one["failures"],
        "p50": f"{median:.1f} ms" if median is not None else None,
    }


def show_tools(result: dict[str, Any]) -> None:
    items = result["items"]
    if items:
        report.show_result({"items": [_tool_row(one) for one in items]})
    else:
        click.echo("No tools. To see the state of the servers: doorward servers list")
    hidden = result.get("total", len(items)) - len(items)
    if hidden > 0:
        report.print_note(f"{hidden} more not shown; give a server, or use --search.")
    for problem in result.get("problems", ()):
        click.echo(format_labelled("Note:", problem), err=True)
    for one in items:
        if one.get("withheld") and not one.get("changed"):
            click.echo(format_labelled(f"{one['command']}:", one["withheld"]), err=True)
        for warning in one.get("warnings", ()):
            click.echo(format_labelled(f"{one['command']}:", warning), err=True)


def _tool_row(one: dict[str, Any]) -> dict[str, Any]:
    state = "each call" if one["approval"] else "none"
    if one.get("changed"):
        state = "changed, withheld"
    elif one.get("withheld"):
        state = "withheld"
    elif one.get("new"):
        state = "each call (new)"
    return {"command": one["command"], "tier": one["tier"], "approval": state, "says": one.get("summary", "")[:200]}


def show_test_result(result: dict[str, Any]) -> None:
    mark = click.style("works", fg="green", bold=True) if result["ok"] else click.style("fails", fg="red", bold=True)
    click.echo(f"{result['server']} {mark} after {result['seconds']:.1f} s")
    if result.get("problem"):
        click.echo(format_labelled(" ", result["problem"]))
    for advice in result.get("advice", ()):
        click.echo(format_labelled(" ", advice))
    if result["ok"]:
        shown = {
            "name": result["itself"],
            "protocol": result["protocolVersion"],
            "tools": _limit_names(result["tools"], result["server"]),
            "resources": result.get("resources", 0),
            "prompts": result.get("prompts", 0),
        }
        report.show_result(shown)
    if result["ok"] and not result.get("enabled", True):
        report.print_note(f"It is disabled. Enable it: doorward servers enable {result['server']}")
    written = [line for line in result.get("log", ()) if not line.endswith(f" ended: {result['problem']}")]
    if not result["ok"] and written:
        click.echo("Last log output:")
        for line in written[-20:]:
            click.echo(f"  {escape_invisible(line)}")


def _limit_names(names: list[str], server: str) -> list[str]:
    """Return the first names, and how to list the others."""
    more = len(names) - _MAX_TOOL_NAMES
    return [*names[:_MAX_TOOL_NAMES], f"and {more} more: doorward servers tools {server}"] if more > 0 else names


def show_logs(result: dict[str, Any]) -> None:
    for line in result["items"]:
        click.echo(escape_invisible(line if isinstance(line, str) else str(line.get("line", line))))
    if not result["items"]:
        report.print_note(_NO_LOG_REASONS.get(result.get("state", ""), "No log output since the first start."))


def show_approved(result: dict[str, Any]) -> None:
    """Print the approved tools, and those that stay withheld."""
    names = [escape_invisible(one["tool"], lines=False) for one in result["tools"] if not one["withheld"]]
    if names:
        click.echo(f"Approved: {', '.join(names)}.")
    for one in result["tools"]:
        if one["withheld"]:
            click.echo(format_labelled(f"{one['command']}:", f"It stays withheld. {one['withheld']}"), err=True)


def show_pending_tools(effect: dict[str, Any]) -> None:
    """Print the tool definitions that are waiting for approval, each with its diff."""
    for one in effect["tools"]:
        why = "its definition changed" if one["why"] == "changed" else "its server added it"
        click.echo(f"{click.style(one['command'], bold=True)}: {why}")
        for line in escape_invisible(one["difference"]).splitlines():
            colour = {"+": "green", "-": "red"}.get(line[:1])
            click.echo(f"  {click.style(line, fg=colour) if colour else line}")
        for warning in one["warnings"]:
            click.echo(format_labelled("  Warning:", warning, 4))
