"""`doorward recipe`: manage recipes, the rules of rooms."""

from __future__ import annotations

import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import click
import msgspec

from doorward.cli import local_client, report
from doorward.cli.live_view import LiveView
from doorward.cli.local_client import json_option, run_as_owner
from doorward.core.escape_invisible import escape_invisible
from doorward.core.model import Outcome
from doorward.doors.terminal.messages import TerminalRequest
from doorward.gate.recipes.recipe import parse_recipe

EXIT_CHANGED = 6
"""Exit code when a decision would change or cannot be determined. No other outcome has it."""

_DECISION_LABELS = {"allowed": "allowed", "approval": "needs approval", "refused": "refused", "unknown": "unknown"}
_DECISION_COLOURS = {"allowed": "green", "approval": "yellow", "refused": "red", "unknown": "magenta"}


def show_changed_decisions(outcome: Outcome, as_json: bool) -> int:
    """Print the changed decisions and return the exit code."""
    if outcome.status != "done" or as_json or not sys.stdout.isatty():
        code = report.show_outcome(outcome, as_json)
    else:
        _print_diff(outcome.result)
        code = 0
    flipped = outcome.status == "done" and (outcome.result["flipped"] or outcome.result["untold"])
    return EXIT_CHANGED if flipped else code


def _print_diff(result: dict[str, Any]) -> None:
    for flip in result["items"]:
        _print_changed_decision(flip)
    where = ", ".join(result["rooms"]) or "no room"
    click.echo(f"{escape_invisible(result['says'])} Checked {where} since {result['since']}.")
    if result["leftOut"]:
        told = ", ".join(f"{count} {why}" for why, count in result["leftOut"].items())
        report.print_note(f"Not checked, because no recipe decided them: {told}.")
    if result["beyond"]:
        report.print_note(f"{result['beyond']} more not shown.")


def _print_changed_decision(flip: dict[str, Any]) -> None:
    was, would = (
        _DECISION_LABELS[flip["was"]],
        click.style(_DECISION_LABELS[flip["would"]], fg=_DECISION_COLOURS[flip["would"]], bold=True),
    )
    command = click.style(escape_invisible(flip["command"]), bold=True)
    times = "once" if flip["count"] == 1 else f"{flip['count']} times"
    click.echo(
        f"{command}  {was} -> {would}  {times}, {_format_callers(flip)}, last {flip['last'][:16].replace('T', ' ')}"
    )
    click.echo(f"    rule was        {escape_invisible(flip['before'])}")
    click.echo(f"    rule would be   {escape_invisible(flip['rule'])}")
    for one in flip["examples"]:
        params = " ".join(f"{key}={_format_value(value)}" for key, value in (one["params"] or {}).items())
        click.echo(click.style(f"    {one['call']}  {escape_invisible(params, lines=False)[:100]}", dim=True))
    click.echo()


def _format_value(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _format_callers(flip: dict[str, Any]) -> str:
    shown = [escape_invisible(one) for one in flip["callers"][:5]]
    more = flip["moreCallers"] or len(flip["callers"]) > len(shown)
    return "by " + ", ".join(shown) + (" and others" if more else "")


FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group("recipe")
def command() -> None:
    """Manage recipes, the rules of rooms."""


@command.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the recipes, and the errors in invalid recipe files."""
    run_as_owner("recipe/list", as_json)


@command.command()
@click.argument("id")
@json_option
def show(id: str, as_json: bool) -> None:
    """Show a recipe as it is in force now."""
    run_as_owner("recipe/show", as_json, id=id)


@command.command()
@click.argument("file", type=FILE)
def check(file: Path) -> None:
    """Check a recipe file and show where it is wrong."""
    recipe = parse_recipe(file.read_bytes(), file.name)
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
    outcome = local_client.follow(TerminalRequest(command="recipe/diff", params=params), LiveView(as_json))
    click.get_current_context().exit(show_changed_decisions(outcome, as_json))


@command.command("from-ledger")
@click.option("--room", required=True, help="The room whose calls are read.")
@click.option("--days", type=click.FloatRange(min=0, min_open=True), default=7, show_default=True, help="How far back.")
@click.option(
    "--id", "recipe_id", default=None, help="The id of the recipe. By default, the room's name and -observed."
)
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    default=None,
    help="Write the recipe to this file instead of printing it. The file's name is the recipe's id.",
)
def from_ledger(room: str, days: float, recipe_id: str | None, output: Path | None) -> None:
    """Write a recipe that allows what agents really ran in a room.

    Commands that ran are allowed, in the folder that their paths share. What a person approved still needs approval.
    Nothing is put in force: review the recipe, then use `doorward recipe put`.
    """
    name = recipe_id or (output.stem if output is not None else None)
    params = {"inRoom": room, "days": days, **({"id": name} if name else {})}
    outcome = local_client.run(TerminalRequest(command="recipe/infer", params=params))
    if outcome.status != "done":
        click.get_current_context().exit(report.show_outcome(outcome, False))
    text = msgspec.json.format(msgspec.json.encode(outcome.result["recipe"]), indent=2).decode() + "\n"
    if output is None:
        click.echo(text, nl=False)
    else:
        try:
            output.write_text(text)
        except OSError as error:
            raise click.ClickException(f"{output} cannot be written: {error.strerror}.") from error
    partly = "" if outcome.result["complete"] else " Older records were not read."
    report.print_note(f"Written from {outcome.result['calls']} calls of agents in {room}.{partly}")


@command.command()
@click.argument("file", type=FILE)
@json_option
def put(file: Path, as_json: bool) -> None:
    """Check a recipe file and put it in force."""
    run_as_owner("recipe/put", as_json, id=file.stem, text=file.read_bytes().decode(errors="surrogateescape"))


@command.command()
@click.argument("id")
@json_option
def remove(id: str, as_json: bool) -> None:
    """Remove a recipe that governs no room."""
    run_as_owner("recipe/remove", as_json, id=id)


@command.command("test")
@click.argument("file", type=FILE)
@click.option(
    "--tests",
    "tests_file",
    type=FILE,
    default=None,
    help="The expectations. By default NAME.tests.json beside NAME.json.",
)
def test_(file: Path, tests_file: Path | None) -> None:
    """Check a recipe against expectations, without a server.

    \b
    [{"command": "file/write", "params": {"path": "src/a.py", "content": ""}, "expect": "approval"},
     {"command": "file/delete", "params": {"path": "a"}, "expect": "refused"}]

    Each is a call with the decision that it expects: allowed, approval or refused. `kind` (ai, service or human),
    `access` and, for tools of other servers, `tier` are optional. Exit code 1 when an expectation is not met.
    """
    from doorward.cli.recipe_test import find_failures, read_expectations  # noqa: PLC0415 - loads every command

    recipe = parse_recipe(file.read_bytes(), file.name)
    beside = tests_file or file.with_name(f"{file.stem}.tests.json")
    if not beside.is_file():
        raise click.UsageError(f"There are no expectations: {beside} does not exist. Name a file with --tests.")
    expectations = read_expectations(beside)
    failures = list(find_failures(recipe, expectations))
    for line in failures:
        click.echo(line)
    if recipe.strategy.mode == "observe":
        click.echo('The recipe has "mode": "observe"; these are the decisions that it would make without it.', err=True)
    passed = len(expectations) - len(failures)
    click.echo(f"{passed} of {len(expectations)} expectations of {file.name} are met.")
    click.get_current_context().exit(1 if failures else 0)


@command.command()
def schema() -> None:
    """Print the JSON Schema of recipes, for editors."""
    click.echo(files("doorward.gate.recipes").joinpath("recipe.schema.json").read_text())
