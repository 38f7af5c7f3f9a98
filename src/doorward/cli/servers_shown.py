"""Terminal view of MCP servers and their tools."""

from __future__ import annotations

import os
import shutil
from typing import Any

import click

from doorward.cli import report
from doorward.model import Outcome
from doorward.visible import visible

_NONE = """No MCP servers yet. {where}

Import those of the MCP clients on this machine:
  doorward servers import

Add one by its command or its URL:
  doorward servers add time --network -- uvx mcp-server-time
  doorward servers add search --url https://search.example/mcp"""

_MOST_NAMED = 40
_SILENT = {
    "disabled": "The server is disabled. Earlier log output is not kept.",
    "stopped": "The server is stopped. Without `doorward up`, it starts only when one of its tools is called, and its"
    " log output is not kept.",
}
"""Why a server in this state has no log output."""


def wrapped(head: str, text: str, indent: int = 2) -> str:
    """Format a bold label and its text, wrapped between words."""
    lines = click.wrap_text(
        f"{head} {visible(text, lines=False)}", shutil.get_terminal_size().columns - 1, subsequent_indent=" " * indent
    )
    return click.style(head, bold=True) + lines[len(head) :]


def servers(result: dict[str, Any]) -> None:
    items = result["items"]
    if items:
        report.result({"items": [_server(one) for one in items]})
    else:
        click.echo(_NONE.format(where=_where(visible(result["file"], lines=False))))
    if result.get("problem"):
        click.echo(visible(result["problem"]), err=True)
    for one in items:
        if one.get("problem"):
            opening = f"The server {one['id']} "
            said = one["problem"].removeprefix(f"Server {one['id']}: ").removeprefix(opening)
            said = f"It {said}" if one["problem"].startswith(opening) else said
            click.echo(wrapped(f"{one['id']}:", f"{said}{_again(one)}"), err=True)
        for remark in one.get("remarks", ()):
            click.echo(wrapped(f"{one['id']}:", remark), err=True)
        if one.get("changed"):
            report.note(
                f"Tools of {one['id']} changed since their approval. Review them: doorward servers approve {one['id']}"
            )
        if one.get("new"):
            report.note(f"New tools of {one['id']} need approval. Review: doorward servers approve {one['id']}")
    if any(one["state"] == "stopped" for one in items):
        report.note("A stopped server starts with `doorward up`, or when one of its tools is called.")
    found = result.get("elsewhere") or []
    if found:
        names = ", ".join(visible(one["name"], lines=False) for one in found)
        report.note(f"MCP clients on this machine have more servers: {names}. Import them: doorward servers import")


def _where(file: str) -> str:
    return f"The file {file} lists no servers." if os.path.exists(file) else f"The file {file} does not exist."


def _again(one: dict[str, Any]) -> str:
    seconds = one.get("retrySeconds")
    if seconds is None:
        return ""
    left = max(round(seconds), 1)
    when = f"{left} second{'' if left == 1 else 's'}"
    return f" Next attempt in {when}; to try now: doorward servers restart {one['id']}"


def undoing(outcome: Outcome) -> str:
    """Return the command that undoes a change of the servers file."""
    call = outcome.call
    return f"execution {call}; undo it with: doorward run --as=me --room= undo --execution={call}"


def _server(one: dict[str, Any]) -> dict[str, Any]:
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


def tools(result: dict[str, Any]) -> None:
    items = result["items"]
    if items:
        report.result({"items": [_tool(one) for one in items]})
    else:
        click.echo("No tools. To see the state of the servers: doorward servers list")
    hidden = result.get("total", len(items)) - len(items)
    if hidden > 0:
        report.note(f"{hidden} more not shown; give a server, or use --search.")
    for problem in result.get("problems", ()):
        click.echo(wrapped("Note:", problem), err=True)
    for one in items:
        if one.get("withheld") and not one.get("changed"):
            click.echo(wrapped(f"{one['command']}:", one["withheld"]), err=True)
        for warning in one.get("warnings", ()):
            click.echo(wrapped(f"{one['command']}:", warning), err=True)


def _tool(one: dict[str, Any]) -> dict[str, Any]:
    state = "each call" if one["approval"] else "none"
    if one.get("changed"):
        state = "changed, withheld"
    elif one.get("withheld"):
        state = "withheld"
    elif one.get("new"):
        state = "each call (new)"
    return {"command": one["command"], "tier": one["tier"], "approval": state, "says": one.get("summary", "")[:200]}


def tested(result: dict[str, Any]) -> None:
    mark = click.style("works", fg="green", bold=True) if result["ok"] else click.style("fails", fg="red", bold=True)
    click.echo(f"{result['server']} {mark} after {result['seconds']:.1f} s")
    if result.get("problem"):
        click.echo(wrapped(" ", result["problem"]))
    for advice in result.get("advice", ()):
        click.echo(wrapped(" ", advice))
    if result["ok"]:
        shown = {
            "name": result["itself"],
            "protocol": result["protocolVersion"],
            "tools": _some(result["tools"], result["server"]),
            "resources": result.get("resources", 0),
            "prompts": result.get("prompts", 0),
        }
        report.result(shown)
    if result["ok"] and not result.get("enabled", True):
        report.note(f"It is disabled. Enable it: doorward servers enable {result['server']}")
    written = [line for line in result.get("log", ()) if not line.endswith(f" ended: {result['problem']}")]
    if not result["ok"] and written:
        click.echo("Last log output:")
        for line in written[-20:]:
            click.echo(f"  {visible(line)}")


def _some(names: list[str], server: str) -> list[str]:
    """Return the first names, and how to list the others."""
    more = len(names) - _MOST_NAMED
    return [*names[:_MOST_NAMED], f"and {more} more: doorward servers tools {server}"] if more > 0 else names


def logs(result: dict[str, Any]) -> None:
    for line in result["items"]:
        click.echo(visible(line if isinstance(line, str) else str(line.get("line", line))))
    if not result["items"]:
        report.note(_SILENT.get(result.get("state", ""), "No log output since the first start."))


def approved(result: dict[str, Any]) -> None:
    """Print the approved tools, and those that stay withheld."""
    names = [visible(one["tool"], lines=False) for one in result["tools"] if not one["withheld"]]
    if names:
        click.echo(f"Approved: {', '.join(names)}.")
    for one in result["tools"]:
        if one["withheld"]:
            click.echo(wrapped(f"{one['command']}:", f"It stays withheld. {one['withheld']}"), err=True)


def waiting(effect: dict[str, Any]) -> None:
    """Print the tool definitions that are waiting for approval, each with its diff."""
    for one in effect["tools"]:
        why = "its definition changed" if one["why"] == "changed" else "its server added it"
        click.echo(f"{click.style(one['command'], bold=True)}: {why}")
        for line in visible(one["difference"]).splitlines():
            colour = {"+": "green", "-": "red"}.get(line[:1])
            click.echo(f"  {click.style(line, fg=colour) if colour else line}")
        for warning in one["warnings"]:
            click.echo(wrapped("  Warning:", warning, 4))
