"""`doorward status`: show the status of Doorward."""

from __future__ import annotations

import click

from doorward.cli.local_client import json_option, run_as_owner


@click.command("status")
@json_option
def command(as_json: bool) -> None:
    """Show the status of Doorward, from the ledger and the log."""
    run_as_owner("system/status", as_json)
