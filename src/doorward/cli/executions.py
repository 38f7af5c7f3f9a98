"""`doorward executions`: see what runs and what it wrote, and stop it."""

from __future__ import annotations

import sys
import time
from datetime import datetime
from typing import Any

import click
import msgspec

from doorward.cli import client, report
from doorward.cli.asking import as_owner, json_option
from doorward.cli.live import safe
from doorward.doors.local import Ask

_BETWEEN_LOOKS = 0.5
"""Seconds between two looks at what a running execution has written."""


@click.group("executions")
def command() -> None:
    """See what runs and what it wrote, and stop it: yours, and those of agents that act for you."""


@command.command("list")
@click.option("--live", is_flag=True, help="Only those that wait or run now.")
@click.option("--limit", type=click.IntRange(1, 200), default=20, show_default=True, help="How many that ended.")
@click.option("--after", type=click.IntRange(1), help="Go on after this place, which the page before named as next.")
@json_option
def list_(live: bool, limit: int, after: int | None, as_json: bool) -> None:
    """List those that wait or run now, then those that ended, newest first."""
    outcome = client.run(Ask(command="execution/list", params={"live": live, "limit": limit, "after": after or 0}))
    if outcome.status == "done" and sys.stdout.isatty() and not as_json:
        shown = {"items": [_on_one_line(item) for item in outcome.result["items"]], "next": outcome.result.get("next")}
        outcome = msgspec.structs.replace(outcome, result=shown)
    click.get_current_context().exit(report.show(outcome, as_json))


@command.command()
@click.argument("id")
@json_option
def show(id: str, as_json: bool) -> None:
    """Show where one stands, and for how long it has run."""
    as_owner("execution/status", as_json, execution=id)


@command.command()
@click.argument("id")
@json_option
def cancel(id: str, as_json: bool) -> None:
    """Stop one, with every process that it started."""
    as_owner("execution/cancel", as_json, execution=id)


@command.command()
@click.argument("id")
@click.option(
    "--stream",
    type=click.Choice(["result", "output", "stdout", "stderr"]),
    help="The kept result, both streams as they come, or one of them.",
)
@click.pass_context
def tail(ctx: click.Context, id: str, stream: str | None) -> None:
    """Print what one writes until it ends, or what is kept of one that ended."""
    page: dict[str, Any] = {"stream": stream, "next": 0}
    while page["next"] is not None:
        asked = {"execution": id, "offset": page["next"], "stream": page["stream"], "length": 25_000}
        outcome = client.run(Ask(command="execution/output", params=asked))
        if outcome.status != "done":
            report.complain(outcome.status, outcome.code, outcome.message, outcome.hint, outcome.rule)
            ctx.exit(report.EXIT_CODES[outcome.status])
        page = outcome.result
        click.echo(safe(page["text"]) if sys.stdout.isatty() else page["text"], nl=False)
        if page["running"] and page["next"] >= page["total"]:
            time.sleep(_BETWEEN_LOOKS)
    shown = client.run(Ask(command="execution/status", params={"execution": id}))
    if shown.status == "done":
        report.note(f"{shown.result['state']}, {shown.result['seconds']:.1f} s")


def _on_one_line(item: dict[str, Any]) -> dict[str, Any]:
    """What fits on a terminal beside an id that can be copied in one piece."""
    began = datetime.fromisoformat(item["startedAt"]).astimezone()
    return {
        "execution": item["execution"],
        "state": item["state"],
        "began": f"{began:%m-%d %H:%M:%S}",
        "seconds": f"{item['seconds']:.1f}",
        "room": item.get("room"),
        "command": item["command"],
    }
