"""`doorward recipe`: the rules of rooms."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import click

from doorward.cli.asking import as_owner, json_option
from doorward.recipes.recipe import parse

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group("recipe")
def command() -> None:
    """See, check and change the rules of rooms."""


@command.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the recipes, and what is wrong with files that are not valid."""
    as_owner("recipe/list", as_json)


@command.command()
@click.argument("id")
@json_option
def show(id: str, as_json: bool) -> None:
    """Show a recipe as it is in force."""
    as_owner("recipe/show", as_json, id=id)


@command.command()
@click.argument("file", type=FILE)
def check(file: Path) -> None:
    """Say whether a recipe file is valid, and if not, what is wrong where."""
    recipe = parse(file.read_bytes(), file.name)
    click.echo(f"{file.name} is a valid recipe: {recipe.display_name}.")


@command.command()
@click.argument("file", type=FILE)
@json_option
def put(file: Path, as_json: bool) -> None:
    """Check a recipe file and put it in force."""
    as_owner("recipe/put", as_json, id=file.stem, text=file.read_bytes().decode(errors="surrogateescape"))


@command.command()
@click.argument("id")
@json_option
def remove(id: str, as_json: bool) -> None:
    """Remove a recipe that governs no room."""
    as_owner("recipe/remove", as_json, id=id)


@command.command()
def schema() -> None:
    """Print the JSON Schema of recipes, for editors."""
    click.echo(files("doorward.recipes").joinpath("recipe.schema.json").read_text())
