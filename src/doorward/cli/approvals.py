"""`doorward approvals`: list and decide approvals, and answer questions from MCP servers."""

from __future__ import annotations

import sys

import click

from doorward.cli.asking import as_owner, json_option
from doorward.cli.questions import answer, questions, show_waiting


@click.group("approvals", invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """List and decide approvals. Without a subcommand, list those that are waiting.

    Only people decide; an agent never can.
    """
    if context.invoked_subcommand is None:
        if sys.stdout.isatty():
            show_waiting()
        as_owner("approval/list", as_json=False, pending=True)


@command.command("list")
@click.option("--all", "everything", is_flag=True, help="Include decided, used and expired approvals.")
@json_option
def list_(everything: bool, as_json: bool) -> None:
    """List approvals that are waiting."""
    as_owner("approval/list", as_json, pending=not everything)


@command.command()
@click.argument("id")
@json_option
def show(id: str, as_json: bool) -> None:
    """Show exactly what an approval would run."""
    as_owner("approval/show", as_json, id=id)


@command.command()
@click.argument("id")
@json_option
def approve(id: str, as_json: bool) -> None:
    """Approve a call. It may then run once, exactly as shown."""
    as_owner("approval/approve", as_json, id=id)


@command.command()
@click.argument("id")
@json_option
def deny(id: str, as_json: bool) -> None:
    """Deny a call."""
    as_owner("approval/deny", as_json, id=id)


command.add_command(questions)
command.add_command(answer)
