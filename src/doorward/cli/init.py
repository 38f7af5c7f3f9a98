"""`doorward init`: create the home folder."""

from __future__ import annotations

import asyncio
import json

import click

from doorward.app import open_house
from doorward.cli import report
from doorward.config.home import Home, HomeLock
from doorward.config.settings import find_home_folder
from doorward.core.errors import Unusable
from doorward.rooms.people import LOCAL


@click.command("init")
@click.option("--workspace", default="", help="Folder for file commands. By default, a folder in the home folder.")
def command(workspace: str) -> None:
    """Create the home folder (DOORWARD_HOME, or ~/.doorward). Safe to repeat."""
    home = Home(find_home_folder())
    if workspace:
        folder = click.Path(exists=True, file_okay=False, resolve_path=True).convert(workspace, None, None)
        workspace = str(home.workspace(str(folder), LOCAL, LOCAL))
    home.create()
    with HomeLock(home) as lock:
        if not lock.take():
            raise lock.busy_error()
        if workspace:
            _set_workspace(home, workspace)
        made = asyncio.run(_create_home(home))
    if made:
        click.echo("Created the home folder:\n  " + "\n  ".join(made))
    else:
        click.echo(f"The home folder {home.path} already exists; nothing was changed.")
    report.print_note("Next: doorward run data/list --collection=rooms")


def _set_workspace(home: Home, workspace: str) -> None:
    if home.settings.exists():
        raise Unusable(f"The settings file {home.settings} already exists.", hint="Set files.workspace in it.")
    home.settings.write_text(f"[files]\nworkspace = {json.dumps(workspace)}\n")


async def _create_home(home: Home) -> list[str]:
    async with open_house(home) as house:
        return house.setup_lines
