"""`doorward status`: show the status of Doorward."""

from __future__ import annotations

import click

from doorward.cli.asking import as_owner, json_option


@click.command("status")
@json_option
def command(as_json: bool) -> None:
    """Show the status of Doorward, from the ledger and the log."""
    as_owner("system/status", as_json)
