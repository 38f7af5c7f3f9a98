"""`doorward explain`: show the gate's decision about a command, and its rule."""

from __future__ import annotations

import sys

import click
import msgspec

from doorward.cli import local_client, report, run
from doorward.cli.project import current_folder
from doorward.cli.run import DEFAULT_AGENT, DEFAULT_ROOM
from doorward.doors.terminal.messages import TerminalRequest


@click.command("explain")
@click.argument("name", metavar="COMMAND", shell_complete=run.complete_command)
@click.option(
    "--room",
    default=None,
    help=f"Room the command would run in; empty for none. By default, the room of this folder, or {DEFAULT_ROOM}.",
)
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
def command(ctx: click.Context, name: str, room: str | None, agent: str, token: str, as_json: bool) -> None:
    """Show whether COMMAND is allowed in a room, by which rule, and what it requires. Nothing is executed."""
    told = local_client.explain(
        TerminalRequest(
            command=name,
            room=DEFAULT_ROOM if room is None else room,
            folder=current_folder() if room is None else "",
            speak_as="" if agent == "me" else agent,
            token=token,
        )
    )
    allowed = told["decision"] == "allowed"
    if as_json or not sys.stdout.isatty():
        click.echo(msgspec.json.format(msgspec.json.encode(told), indent=2).decode())
    else:
        word = click.style("allowed" if allowed else "refused", fg="green" if allowed else "red", bold=True)
        where = f"room {told['room']}" if told["room"] else "no room"
        click.echo(f"{word}  {told['command']} in {where}")
        hidden = ("command", "decision", "room")
        report.show_result({key: value for key, value in told.items() if key not in hidden and value})
    ctx.exit(0 if allowed else report.EXIT_CODES["refused"])
