"""`doorward rooms`: rooms, their recipes and members."""

from __future__ import annotations

import sys
from typing import Any

import click

from doorward.cli import client, report
from doorward.cli.asking import as_owner, json_option
from doorward.doors.local import Ask


@click.group("rooms")
def command() -> None:
    """Make rooms, give them a recipe, and say who is in them."""


@command.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the rooms you are in."""
    outcome = client.run(Ask(command="room/list"))
    if outcome.status == "done" and sys.stdout.isatty() and not as_json:
        rooms = outcome.result["items"]
        titles = any(room["title"] != room["room"] for room in rooms)
        report.result({"items": [_in_short(room, titles) for room in rooms]})
        return
    click.get_current_context().exit(report.show(outcome, as_json))


def _in_short(room: dict[str, Any], titles: bool) -> dict[str, Any]:
    """A room as one line of a table, with its title where some room has one of its own."""
    members = [name if role == "member" else f"{name} ({role})" for name, role in room["members"].items()]
    state = "archived" if room["archived"] else "open"
    return {
        "room": room["room"],
        **({"title": room["title"]} if titles else {}),
        "recipe": room["recipe"],
        "members": members,
        "state": state,
        "unread": room["unread"],
    }


@command.command()
@click.argument("name")
@click.option("--recipe", required=True, help="The recipe that governs it; see: doorward recipe list")
@click.option("--title", default="", help="The name that people see; by default as it is called")
@click.option("--topic", default="", help="What it is about")
@json_option
def create(name: str, recipe: str, title: str, topic: str, as_json: bool) -> None:
    """Make a room."""
    as_owner("room/create", as_json, name=name, recipe=recipe, title=title, topic=topic)


@command.command()
@click.argument("name")
@click.option("--title", help="The name that people see")
@click.option("--topic", help="What it is about")
@json_option
def change(name: str, title: str | None, topic: str | None, as_json: bool) -> None:
    """Give a room another title or topic."""
    given = {key: value for key, value in (("title", title), ("topic", topic)) if value is not None}
    as_owner("room/change", as_json, name=name, **given)


@command.command()
@click.argument("member")
@json_option
def direct(member: str, as_json: bool) -> None:
    """Find the room of you and one other, or make it."""
    as_owner("room/direct", as_json, member=member)


@command.command()
@click.argument("words", nargs=-1, required=True)
@click.option("--room", default="", help="Only in this room")
@click.option("--limit", type=click.IntRange(1, 200), default=20, show_default=True, help="At most so many")
@json_option
def search(words: tuple[str, ...], room: str, limit: int, as_json: bool) -> None:
    """Find messages by their words."""
    as_owner("room/search", as_json, words=" ".join(words), name=room, limit=limit)


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
@click.option("--agent", is_flag=True, help="It is an AI that nobody knows here yet: it gets its token later.")
@json_option
def join(name: str, member: str, role: str, agent: bool, as_json: bool) -> None:
    """Make somebody a member of a room."""
    as_owner("room/join", as_json, name=name, member=member, role=role, **({"kind": "ai"} if agent else {}))


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


@command.command()
@click.argument("name")
@json_option
def reopen(name: str, as_json: bool) -> None:
    """Open a room again that was closed."""
    as_owner("room/reopen", as_json, name=name)
