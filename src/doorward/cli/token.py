"""`doorward token`: tokens for agents and programs, and what people log in with."""

from __future__ import annotations

import sys

import click

from doorward.cli.asking import as_owner, json_option

LEVELS = click.Choice(["read", "edit", "full", "root"])
KINDS = click.Choice(["human", "ai", "service"])


@click.group("token")
def command() -> None:
    """Make and revoke tokens for agents and programs, and let people log in over the network."""


@command.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List tokens: whose they are and until when; never the tokens themselves."""
    as_owner("token/list", as_json)


@command.command()
@click.argument("name")
@click.option("--user", help="Whose token it is; by default yours.")
@click.option("--tenant", help="The tenant of that user; by default yours.")
@click.option("--kind", type=KINDS, default="ai", show_default=True)
@click.option("--access", type=LEVELS, default="edit", show_default=True)
@click.option("--room", "rooms", multiple=True, help="A room it is good for; may be repeated. By default all.")
@click.option("--days", type=float, default=30, show_default=True)
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
    """Make a token. It is shown this once."""
    as_owner(
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
    """Make a token worthless at once."""
    as_owner("token/revoke", as_json, id=id)


@command.command()
@click.option("--tenant", help="The only tenant it is good for; by default any new one.")
@click.option("--hours", type=float, help="How long it can be used; by default three days.")
@json_option
def invite(tenant: str | None, hours: float | None, as_json: bool) -> None:
    """Make a passcode with which somebody may register one new tenant. It is shown this once."""
    as_owner("user/invite", as_json, tenant=tenant, hours=hours)


@command.command()
@click.option("--user", help="Whose password it is; by default yours.")
@click.option("--stdin", "from_stdin", is_flag=True, help="Read it from the standard input instead of asking for it.")
@json_option
def password(user: str | None, from_stdin: bool, as_json: bool) -> None:
    """Set a password, with which a person logs in over the network. It is asked for, so that nobody sees it."""
    if from_stdin:
        text = sys.stdin.readline().rstrip("\n")
    else:
        text = click.prompt("New password", hide_input=True, confirmation_prompt="Once more")
    as_owner("user/password", as_json, password=text, user=user)
