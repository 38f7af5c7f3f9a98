"""`doorward recipe`: manage recipes, the rules of rooms."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import click

from doorward.cli import client, recipe_shown
from doorward.cli.asking import as_owner, json_option
from doorward.cli.live import Live
from doorward.doors.local import Ask
from doorward.recipes.recipe import parse

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group("recipe")
def command() -> None:
    """Manage recipes, the rules of rooms."""


@command.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the recipes, and the errors in invalid recipe files."""
    as_owner("recipe/list", as_json)


@command.command()
@click.argument("id")
@json_option
def show(id: str, as_json: bool) -> None:
    """Show a recipe as it is in force now."""
    as_owner("recipe/show", as_json, id=id)


@command.command()
@click.argument("file", type=FILE)
def check(file: Path) -> None:
    """Check a recipe file and show where it is wrong."""
    recipe = parse(file.read_bytes(), file.name)
    click.echo(f"{file.name} is a valid recipe: {recipe.display_name}.")


@command.command()
@click.argument("file", type=FILE)
@click.option(
    "--room", default=None, help="Only this room. By default, every room under the recipe with the file's id."
)
@click.option("--since", default="7d", show_default=True, help="Start: an age such as 12h or 7d, or a time.")
@click.option("--until", default=None, help="End: an age or a time. By default, now.")
@click.option(
    "--examples", type=click.IntRange(0, 20), default=3, show_default=True, help="Example calls per changed decision."
)
@json_option
def diff(file: Path, room: str | None, since: str, until: str | None, examples: int, as_json: bool) -> None:
    """Show past decisions that would change if FILE were the recipe. Nothing is changed.

    \b
    doorward recipe diff support.json --room general --since 7d

    Exit codes: 0 when no decision would change, 6 when one would change or cannot be determined.
    """
    given = {"inRoom": room, "since": since, "until": until, "examples": examples}
    text = file.read_bytes().decode(errors="surrogateescape")
    params = {"text": text, **{key: value for key, value in given.items() if value is not None}}
    outcome = client.follow(Ask(command="recipe/diff", params=params), Live(as_json))
    click.get_current_context().exit(recipe_shown.flips(outcome, as_json))


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
