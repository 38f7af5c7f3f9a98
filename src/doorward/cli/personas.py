"""`doorward personas`: manage the AIs in rooms."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import click

from doorward.cli.local_client import json_option, run_as_owner
from doorward.rooms.personas.persona import parse_persona

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group("personas")
def command() -> None:
    """Manage personas, the AIs in rooms."""


@command.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the personas, and the errors in invalid persona files."""
    run_as_owner("persona/list", as_json)


@command.command()
@click.argument("id")
@json_option
def show(id: str, as_json: bool) -> None:
    """Show a persona as it is in force now."""
    run_as_owner("persona/show", as_json, id=id)


@command.command()
@click.argument("file", type=FILE)
def check(file: Path) -> None:
    """Check a persona file and show where it is wrong."""
    persona = parse_persona(file.read_bytes(), file.name)
    click.echo(f"{file.name} is a valid persona: {persona.display_name}.")


@command.command()
@click.argument("file", type=FILE)
@json_option
def put(file: Path, as_json: bool) -> None:
    """Check a persona file, put it in force, and add the persona to the rooms it names."""
    run_as_owner("persona/put", as_json, id=file.stem, text=file.read_bytes().decode(errors="surrogateescape"))


@command.command()
@click.argument("id")
@json_option
def remove(id: str, as_json: bool) -> None:
    """Remove a persona. It leaves its rooms; its messages stay."""
    run_as_owner("persona/remove", as_json, id=id)


@command.command()
@click.argument("id")
@click.argument("room")
@json_option
def stop(id: str, room: str, as_json: bool) -> None:
    """Stop what a persona is doing in a room."""
    run_as_owner("persona/stop", as_json, id=id, name=room)


@command.command()
def schema() -> None:
    """Print the JSON Schema of personas, for editors."""
    click.echo(files("doorward.rooms.personas").joinpath("persona.schema.json").read_text())
