"""`doorward rooms`: rooms, their recipes and members."""

from __future__ import annotations

import click

from doorward.cli.asking import as_owner, json_option


@click.group("rooms")
def command() -> None:
    """Make rooms, give them a recipe, and say who is in them."""


@command.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the rooms you are in."""
    as_owner("room/list", as_json)


@command.command()
@click.argument("name")
@click.option("--recipe", required=True, help="The recipe that governs it; see: doorward recipe list")
@json_option
def create(name: str, recipe: str, as_json: bool) -> None:
    """Make a room."""
    as_owner("room/create", as_json, name=name, recipe=recipe)


@command.command()
@click.argument("name")
@click.argument("recipe")
@json_option
def recipe(name: str, recipe: str, as_json: bool) -> None:
    """Put a room under another recipe."""
    as_owner("room/recipe", as_json, name=name, recipe=recipe)


@command.command()
@click.argument("name")
@click.argument("member")
@click.option("--role", type=click.Choice(["owner", "admin", "member"]), default="member", show_default=True)
@json_option
def join(name: str, member: str, role: str, as_json: bool) -> None:
    """Make somebody a member of a room."""
    as_owner("room/join", as_json, name=name, member=member, role=role)


@command.command()
@click.argument("name")
@click.argument("member")
@json_option
def leave(name: str, member: str, as_json: bool) -> None:
    """Take somebody out of a room."""
    as_owner("room/leave", as_json, name=name, member=member)


@command.command()
@click.argument("name")
@json_option
def archive(name: str, as_json: bool) -> None:
    """Close a room: nothing runs in it any more."""
    as_owner("room/archive", as_json, name=name)
