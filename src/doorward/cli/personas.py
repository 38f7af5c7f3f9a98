"""`doorward personas`: the AIs that live in rooms."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import click

from doorward.cli.asking import as_owner, json_option
from doorward.personas.persona import parse

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group("personas")
def command() -> None:
    """See, add and change the AIs that live in rooms."""


@command.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the personas, and what is wrong with files that are not valid."""
    as_owner("persona/list", as_json)


@command.command()
@click.argument("id")
@json_option
def show(id: str, as_json: bool) -> None:
    """Show a persona as it is in force."""
    as_owner("persona/show", as_json, id=id)


@command.command()
@click.argument("file", type=FILE)
def check(file: Path) -> None:
    """Say whether the file of a persona is valid, and if not, what is wrong where."""
    persona = parse(file.read_bytes(), file.name)
    click.echo(f"{file.name} is a valid persona: {persona.display_name}.")


@command.command()
@click.argument("file", type=FILE)
@json_option
def put(file: Path, as_json: bool) -> None:
    """Check the file of a persona, put it in force, and put the persona into the rooms that it names."""
    as_owner("persona/put", as_json, id=file.stem, text=file.read_bytes().decode(errors="surrogateescape"))


@command.command()
@click.argument("id")
@json_option
def remove(id: str, as_json: bool) -> None:
    """Remove a persona; it leaves its rooms, and what it said stays."""
    as_owner("persona/remove", as_json, id=id)


@command.command()
@click.argument("id")
@click.argument("room")
@json_option
def stop(id: str, room: str, as_json: bool) -> None:
    """Stop what a persona does in a room."""
    as_owner("persona/stop", as_json, id=id, name=room)


@command.command()
def schema() -> None:
    """Print the JSON Schema of personas, for editors."""
    click.echo(files("doorward.personas").joinpath("persona.schema.json").read_text())
