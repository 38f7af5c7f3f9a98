"""`doorward executions`: list executions, read their output and cancel them."""

from __future__ import annotations

import sys
import time
from datetime import datetime
from typing import Any

import click
import msgspec

from doorward.cli import local_client, report
from doorward.cli.live_view import escape_output
from doorward.cli.local_client import json_option, run_as_owner
from doorward.doors.terminal.messages import TerminalRequest

_POLL_SECONDS = 0.5
"""Seconds between two requests for the output of a running execution."""


@click.group("executions")
def command() -> None:
    """List executions, read their output and cancel them: yours, and those of agents acting for you."""


@command.command("list")
@click.option("--live", is_flag=True, help="Only executions that are queued or running.")
@click.option("--limit", type=click.IntRange(1, 200), default=20, show_default=True, help="Number of ended executions.")
@click.option("--after", type=click.IntRange(1), help="Cursor returned by the previous page.")
@json_option
def list_(live: bool, limit: int, after: int | None, as_json: bool) -> None:
    """List executions: queued and running ones first, then ended ones, newest first."""
    outcome = local_client.run(
        TerminalRequest(command="execution/list", params={"live": live, "limit": limit, "after": after or 0})
    )
    if outcome.status == "done" and sys.stdout.isatty() and not as_json:
        shown = {"items": [_table_row(item) for item in outcome.result["items"]], "next": outcome.result.get("next")}
        outcome = msgspec.structs.replace(outcome, result=shown)
    click.get_current_context().exit(report.show_outcome(outcome, as_json))


@command.command()
@click.argument("id")
@json_option
def show(id: str, as_json: bool) -> None:
    """Show an execution's state and how long it has run."""
    run_as_owner("execution/status", as_json, execution=id)


@command.command()
@click.argument("id")
@json_option
def cancel(id: str, as_json: bool) -> None:
    """Cancel an execution and every process it started."""
    run_as_owner("execution/cancel", as_json, execution=id)


@command.command()
@click.argument("id")
@click.option(
    "--stream",
    type=click.Choice(["result", "output", "stdout", "stderr"]),
    help="The stored result, both output streams interleaved, or one of them.",
)
@click.pass_context
def tail(ctx: click.Context, id: str, stream: str | None) -> None:
    """Print the output of an execution until it ends, or the stored output if it has ended."""
    page: dict[str, Any] = {"stream": stream, "next": 0}
    while page["next"] is not None:
        asked = {"execution": id, "offset": page["next"], "stream": page["stream"], "length": 25_000}
        outcome = local_client.run(TerminalRequest(command="execution/output", params=asked))
        if outcome.status != "done":
            report.print_error(outcome.status, outcome.code, outcome.message, outcome.hint, outcome.rule)
            ctx.exit(report.EXIT_CODES[outcome.status])
        page = outcome.result
        click.echo(escape_output(page["text"]) if sys.stdout.isatty() else page["text"], nl=False)
        if page["running"] and page["next"] >= page["total"]:
            time.sleep(_POLL_SECONDS)
    shown = local_client.run(TerminalRequest(command="execution/status", params={"execution": id}))
    if shown.status == "done":
        report.print_note(f"{shown.result['state']}, {shown.result['seconds']:.1f} s")


def _table_row(item: dict[str, Any]) -> dict[str, Any]:
    """Return the columns that fit on a terminal beside an unbroken id."""
    began = datetime.fromisoformat(item["startedAt"]).astimezone()
    return {
        "execution": item["execution"],
        "state": f"{item['state']} {item['seconds']:.1f} s",
        "began": f"{began:%m-%d %H:%M:%S}",
        "caller": f"{item['caller']} in {item['room']}" if item.get("room") else item["caller"],
        "command": f"{item['command']} {item.get('summary', '')}".rstrip(),
    }
