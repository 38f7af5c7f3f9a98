"""`doorward rooms`: manage rooms, their recipes and members."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from doorward.cli import local_client, report
from doorward.cli.local_client import json_option, reject_empty, run_as_owner
from doorward.doors.terminal.messages import TerminalRequest

whole_option = click.option("--whole", is_flag=True, help="Allow a system folder or a whole home folder.")


@click.group("rooms")
def command() -> None:
    """Manage rooms, their recipes and members."""


@command.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the rooms you are in."""
    outcome = local_client.run(TerminalRequest(command="room/list"))
    if outcome.status == "done" and sys.stdout.isatty() and not as_json:
        rooms = outcome.result["items"]
        titles = any(room["title"] != room["room"] for room in rooms)
        folders = any(room["workspace"] for room in rooms)
        report.show_result({"items": [_table_row(room, titles, folders) for room in rooms]})
        return
    click.get_current_context().exit(report.show_outcome(outcome, as_json))


def _table_row(room: dict[str, Any], titles: bool, folders: bool) -> dict[str, Any]:
    """Return a room as a table row; `titles` and `folders` add the columns of titles and workspaces."""
    members = [name if role == "member" else f"{name} ({role})" for name, role in room["members"].items()]
    state = "archived" if room["archived"] else "open"
    return {
        "room": room["room"],
        **({"title": room["title"]} if titles else {}),
        "recipe": room["recipe"],
        **({"workspace": room["workspace"]} if folders else {}),
        "members": members,
        "state": state,
        "unread": room["unread"],
    }


@command.command()
@click.argument("name")
@click.option("--recipe", required=True, help="Recipe that governs the room; see: doorward recipe list")
@click.option("--title", default="", help="Display name. By default, NAME.")
@click.option("--topic", default="", help="Topic of the room.")
@click.option(
    "--workspace",
    default="",
    callback=reject_empty,
    help="Folder that commands in the room work in. By default, the shared workspace.",
)
@whole_option
@json_option
def create(name: str, recipe: str, title: str, topic: str, workspace: str, whole: bool, as_json: bool) -> None:
    """Create a room."""
    folder = _absolute_path(workspace) if workspace else None
    run_as_owner(
        "room/create",
        as_json,
        name=name,
        recipe=recipe,
        title=title,
        topic=topic,
        workspace=folder,
        allowWide=whole or None,
    )


@command.command()
@click.argument("name")
@click.argument("folder", required=False)
@click.option("--shared", is_flag=True, help="Go back to the shared workspace.")
@whole_option
@json_option
def workspace(name: str, folder: str | None, shared: bool, whole: bool, as_json: bool) -> None:
    """Set the FOLDER that commands in a room work in. Without FOLDER, show the room."""
    if shared and folder is not None:
        raise click.UsageError("--shared goes back to the shared workspace; give either a FOLDER or --shared.")
    if folder == "":
        raise click.UsageError("FOLDER is empty. Name a folder, or use --shared for the shared workspace.")
    if folder is None and not shared:
        run_as_owner("room/show", as_json, name=name)
    else:
        path = _absolute_path(folder) if folder else ""
        run_as_owner("room/workspace", as_json, name=name, workspace=path, allowWide=whole or None)


def _absolute_path(folder: str) -> str:
    """Return the path as the server needs it: the server's own current folder is another."""
    return os.path.abspath(os.path.expanduser(folder))


@command.command()
@click.argument("name")
@click.option("--title", help="New display name.")
@click.option("--topic", help="New topic.")
@json_option
def change(name: str, title: str | None, topic: str | None, as_json: bool) -> None:
    """Change a room's title or topic."""
    given = {key: value for key, value in (("title", title), ("topic", topic)) if value is not None}
    run_as_owner("room/change", as_json, name=name, **given)


@command.command()
@click.argument("member")
@json_option
def direct(member: str, as_json: bool) -> None:
    """Open the direct-message room with another member, creating it if needed."""
    run_as_owner("room/direct", as_json, member=member)


@command.command()
@click.argument("words", nargs=-1, required=True)
@click.option("--room", default="", help="Search only this room.")
@click.option("--limit", type=click.IntRange(1, 200), default=20, show_default=True, help="Maximum number of messages.")
@json_option
def search(words: tuple[str, ...], room: str, limit: int, as_json: bool) -> None:
    """Search messages."""
    run_as_owner("room/search", as_json, words=" ".join(words), name=room, limit=limit)


@command.command()
@click.argument("name")
@click.argument("recipe")
@json_option
def recipe(name: str, recipe: str, as_json: bool) -> None:
    """Change a room's recipe."""
    run_as_owner("room/recipe", as_json, name=name, recipe=recipe)


@command.command()
@click.argument("name")
@click.argument("member")
@click.option(
    "--role", type=click.Choice(["owner", "admin", "member"]), default="member", show_default=True, help="Role."
)
@click.option("--agent", is_flag=True, help="MEMBER is a new AI agent, which gets its token later.")
@json_option
def join(name: str, member: str, role: str, agent: bool, as_json: bool) -> None:
    """Add a member to a room."""
    run_as_owner("room/join", as_json, name=name, member=member, role=role, **({"kind": "ai"} if agent else {}))


@command.command()
@click.argument("name")
@click.argument("member")
@json_option
def leave(name: str, member: str, as_json: bool) -> None:
    """Remove a member from a room."""
    run_as_owner("room/leave", as_json, name=name, member=member)


@command.command()
@click.argument("name")
@json_option
def archive(name: str, as_json: bool) -> None:
    """Archive a room. It stays readable, but nothing runs in it."""
    run_as_owner("room/archive", as_json, name=name)


@command.command()
@click.argument("name")
@json_option
def reopen(name: str, as_json: bool) -> None:
    """Reopen an archived room."""
    run_as_owner("room/reopen", as_json, name=name)
