"""How servers and their tools look on a terminal."""

from __future__ import annotations

import shutil
from typing import Any

import click

from doorward.cli import report
from doorward.visible import visible

_NONE = """No MCP servers yet.

Take over those of the MCP clients on this machine:
  doorward servers import

Start one as a program, or reach one on the network:
  doorward servers add time --network -- uvx mcp-server-time
  doorward servers add search --url https://search.example/mcp"""


def wrapped(head: str, text: str, indent: int = 2) -> str:
    """A bold word and what is said of it, broken between words."""
    lines = click.wrap_text(
        f"{head} {visible(text, lines=False)}", shutil.get_terminal_size().columns - 1, subsequent_indent=" " * indent
    )
    return click.style(head, bold=True) + lines[len(head) :]


def servers(result: dict[str, Any]) -> None:
    items = result["items"]
    if items:
        report.result({"items": [_server(one) for one in items]})
    else:
        click.echo(_NONE)
    if result.get("problem"):
        click.echo(f"{visible(result['problem'])} Its last good version is in force.", err=True)
    for one in items:
        if one.get("problem"):
            click.echo(wrapped(f"{one['id']}:", one["problem"]), err=True)
    changed = [one["id"] for one in items if one.get("changed")]
    for id in changed:
        report.note(f"Tools of {id} changed since they were approved: doorward servers approve {id}")
    found = result.get("elsewhere") or []
    if found:
        names = ", ".join(visible(one["name"], lines=False) for one in found)
        report.note(f"MCP clients on this machine have more: {names}. See them: doorward servers import")


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
    if not items:
        click.echo("No tools. See how the servers are doing: doorward servers list")
        return
    report.result({"items": [_tool(one) for one in items]})
    hidden = result.get("total", len(items)) - len(items)
    if hidden > 0:
        report.note(f"{hidden} more; name a server, or use --search.")
    for one in items:
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
    if result["ok"]:
        shown = {
            "calls itself": result["itself"],
            "protocol": result["protocolVersion"],
            "tools": result["tools"],
            "resources": result.get("resources", 0),
            "prompts": result.get("prompts", 0),
        }
        report.result(shown)
    elif result.get("log"):
        click.echo("The last that it wrote:")
        for line in result["log"][-20:]:
            click.echo(f"  {visible(line)}")


def logs(result: dict[str, Any]) -> None:
    for line in result["items"]:
        click.echo(visible(line if isinstance(line, str) else str(line.get("line", line))))
    if not result["items"]:
        report.note("It has written nothing since Doorward started.")


def waiting(effect: dict[str, Any]) -> None:
    """Definitions that wait for a person, each with its difference."""
    for one in effect["tools"]:
        why = "its definition changed" if one["why"] == "changed" else "its server added it"
        click.echo(f"{click.style(one['command'], bold=True)}: {why}")
        for line in visible(one["difference"]).splitlines():
            colour = {"+": "green", "-": "red"}.get(line[:1])
            click.echo(f"  {click.style(line, fg=colour) if colour else line}")
        for warning in one["warnings"]:
            click.echo(wrapped("  Beware:", warning, 4))
