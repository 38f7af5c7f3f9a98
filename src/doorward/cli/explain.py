"""`doorward explain`: show the gate's decision about a command, and its rule."""

from __future__ import annotations

import sys

import click
import msgspec

from doorward.cli import local_client, report, run
from doorward.cli.run import DEFAULT_AGENT, DEFAULT_ROOM
from doorward.doors.terminal.messages import TerminalRequest


@click.command("explain")
@click.argument("name", metavar="COMMAND", shell_complete=run.complete_command)
@click.option("--room", default=DEFAULT_ROOM, show_default=True, help="Room the command would run in; empty for none.")
@click.option(
    "--as",
    "agent",
    default=DEFAULT_AGENT,
    show_default=True,
    callback=local_client.reject_empty,
    help="Agent that would call it; `me` for yourself.",
)
@click.option(
    "--token",
    default="",
    envvar="DOORWARD_TOKEN",
    callback=local_client.reject_empty,
    help="Use the identity of this token.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON (the default in a pipe).")
@click.pass_context
def command(ctx: click.Context, name: str, room: str, agent: str, token: str, as_json: bool) -> None:
    """Show whether COMMAND is allowed in a room, by which rule, and what it requires. Nothing is executed."""
    told = local_client.explain(
        TerminalRequest(command=name, room=room, speak_as="" if agent == "me" else agent, token=token)
    )
    allowed = told["decision"] == "allowed"
    if as_json or not sys.stdout.isatty():
        click.echo(msgspec.json.format(msgspec.json.encode(told), indent=2).decode())
    else:
        word = click.style("allowed" if allowed else "refused", fg="green" if allowed else "red", bold=True)
        click.echo(f"{word}  {told['command']} in {f'room {room}' if room else 'no room'}")
        report.show_result({key: value for key, value in told.items() if key not in ("command", "decision") and value})
    ctx.exit(0 if allowed else report.EXIT_CODES["refused"])
