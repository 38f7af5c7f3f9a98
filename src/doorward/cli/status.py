"""`doorward status`: show the status of Doorward."""

from __future__ import annotations

import sys

import click

from doorward.cli import local_client, report
from doorward.cli.local_client import json_option
from doorward.cli.project import current_folder
from doorward.core.errors import BadParams
from doorward.core.model import Outcome
from doorward.doors.terminal.messages import TerminalRequest
from doorward.rooms.project_rooms import find_room_of


@click.command("status")
@json_option
def command(as_json: bool) -> None:
    """Show the status of Doorward, from the ledger and the log, and the room of this folder."""
    outcome = local_client.run(TerminalRequest(command="system/status", params={}))
    code = report.show_outcome(outcome, as_json)
    if outcome.status == "done" and sys.stdout.isatty() and not as_json:
        _show_room_here(outcome)
    click.get_current_context().exit(code)


def _show_room_here(outcome: Outcome) -> None:
    workspaces = [(one["room"], one["workspace"]) for one in outcome.result["workspaces"]]
    try:
        room = find_room_of(current_folder(), workspaces)
    except BadParams as error:
        report.print_note(f"{error.message} {error.hint}")
        return
    if room:
        report.print_note(f"In this folder you act in the room {room}, with the workspace {dict(workspaces)[room]}.")
