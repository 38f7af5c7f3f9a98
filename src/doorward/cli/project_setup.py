"""Creates the room of a project, through the gate, and says what comes next."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

import click

from doorward.cli import local_client, report
from doorward.cli.project import name_room
from doorward.core.errors import Conflict, NotFound
from doorward.core.model import Outcome
from doorward.doors.terminal.messages import TerminalRequest

RECIPE = "coding"
_MAX_ROOMS = 100
"""Maximum rooms of folders with the same name."""


def set_up(folder: Path, *, whole: bool) -> None:
    """Create a room for the project in this folder, unless it has one."""
    rooms = _run("room/list")["items"]
    present = [one for one in rooms if one["workspace"] == str(folder)]
    if present:
        _report_present(folder, present)
        return
    added = _add_recipe()
    room = _create_room(folder, {one["room"] for one in rooms}, whole)
    click.echo(f"Created a room for the project {folder}:")
    click.echo(f"  room          {room}")
    click.echo(f"  recipe        {RECIPE}{', which was added to the home folder' if added else ''}")
    click.echo(f"  workspace     {folder}")
    click.echo(f"In this folder, `doorward run`, `ai`, `shell` and `chat` act in the room {room}.")
    report.print_note(
        "Next:\n"
        "  doorward connect CLIENT --scope project   connect a client, such as claude-code\n"
        "  doorward run file/list                    see what an agent sees\n"
        "  doorward up                               start the server and open the console, where you approve"
    )


def _report_present(folder: Path, present: list[dict[str, Any]]) -> None:
    open_rooms = [one["room"] for one in present if not one["archived"]]
    if open_rooms:
        names = ", ".join(open_rooms)
        click.echo(f"The project {folder} already has the room {names}; nothing was changed.")
    else:
        room = present[0]["room"]
        click.echo(f"The project {folder} has the room {room}, which is archived; nothing was changed.")
        report.print_note(f"To use it again: doorward rooms reopen {room}")


def _add_recipe() -> bool:
    """Put the recipe in force in a home folder that was created before it was shipped."""
    shown = local_client.run(TerminalRequest(command="recipe/show", params={"id": RECIPE}))
    if shown.code != NotFound.code:
        return False
    text = (resources.files("doorward.gate.recipes") / "shipped" / f"{RECIPE}.json").read_text()
    _run("recipe/put", id=RECIPE, text=text)
    return True


def _create_room(folder: Path, taken: set[str], whole: bool) -> str:
    """Create the room under the first free name. Rooms that this person is not in can have names too."""
    wide = {"allowWide": True} if whole else {}
    for number in range(1, _MAX_ROOMS + 1):
        name = name_room(folder, number)
        if name in taken:
            continue
        params = {"name": name, "recipe": RECIPE, "workspace": str(folder), **wide}
        outcome = local_client.run(TerminalRequest(command="room/create", params=params))
        if outcome.code != Conflict.code:
            return str(_require(outcome)["room"])
    raise Conflict(f"{_MAX_ROOMS} rooms are named after folders called {folder.name!r} already.")


def _run(command: str, **params: Any) -> Any:
    return _require(local_client.run(TerminalRequest(command=command, params=params)))


def _require(outcome: Outcome) -> Any:
    """The result of a command. What failed ends the whole command with its own error."""
    if outcome.status != "done":
        raise local_client.error_from_response({"code": outcome.code, "message": outcome.message, "hint": outcome.hint})
    return outcome.result
