"""`doorward token`: manage tokens, passwords and invitations."""

from __future__ import annotations

import sys

import click

from doorward.cli.local_client import json_option, run_as_owner

LEVELS = click.Choice(["read", "edit", "full", "root"])
KINDS = click.Choice(["human", "ai", "service"])


@click.group("token")
def command() -> None:
    """Manage tokens for agents and programs, and passwords and invitations for people."""


@command.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List tokens with their owner and expiry. The tokens themselves are never shown."""
    run_as_owner("token/list", as_json)


@command.command()
@click.argument("name")
@click.option("--user", help="Owner of the token. By default, you.")
@click.option("--tenant", help="Tenant of that user. By default, yours.")
@click.option("--kind", type=KINDS, default="ai", show_default=True, help="Who uses the token.")
@click.option("--access", type=LEVELS, default="edit", show_default=True, help="Access level.")
@click.option("--room", "rooms", multiple=True, help="Room the token is valid in; repeatable. By default, all rooms.")
@click.option("--days", type=float, default=30, show_default=True, help="Days until it expires.")
@json_option
def create(
    name: str,
    user: str | None,
    tenant: str | None,
    kind: str,
    access: str,
    rooms: tuple[str, ...],
    days: float,
    as_json: bool,
) -> None:
    """Create a token. It is shown only once."""
    run_as_owner(
        "token/create",
        as_json,
        name=name,
        user=user,
        tenant=tenant,
        kind=kind,
        access=access,
        rooms=list(rooms) or None,
        days=days,
    )


@command.command()
@click.argument("id")
@json_option
def revoke(id: str, as_json: bool) -> None:
    """Revoke a token at once."""
    run_as_owner("token/revoke", as_json, id=id)


@command.command()
@click.option("--tenant", help="Tenant it may register. By default, any new one.")
@click.option("--hours", type=float, help="Hours until it expires. By default, three days.")
@json_option
def invite(tenant: str | None, hours: float | None, as_json: bool) -> None:
    """Create a passcode that registers one new tenant. It is shown only once."""
    run_as_owner("user/invite", as_json, tenant=tenant, hours=hours)


@command.command()
@click.option("--user", help="User to set the password for. By default, you.")
@click.option("--stdin", "from_stdin", is_flag=True, help="Read the password from standard input instead of prompting.")
@json_option
def password(user: str | None, from_stdin: bool, as_json: bool) -> None:
    """Set the password a person logs in with over the network. You are prompted for it; it is not displayed."""
    if from_stdin:
        text = sys.stdin.readline().rstrip("\n")
    else:
        text = click.prompt("New password", hide_input=True, confirmation_prompt="Repeat password")
    run_as_owner("user/password", as_json, password=text, user=user)
