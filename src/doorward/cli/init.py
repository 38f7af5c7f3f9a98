"""`doorward init`: create the home folder."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import click

from doorward.app import open_house
from doorward.cli import report
from doorward.cli.local_client import reject_empty
from doorward.config.home import Home, HomeLock
from doorward.config.settings import find_home_folder, load_settings
from doorward.core.errors import Unusable
from doorward.rooms.people import LOCAL


@click.command("init")
@click.option(
    "--workspace",
    default="",
    callback=reject_empty,
    help="Folder for file commands. By default, a folder in the home folder.",
)
def command(workspace: str) -> None:
    """Create the home folder (DOORWARD_HOME, or ~/.doorward). Safe to repeat."""
    home = Home(find_home_folder())
    folder = _check_workspace(home, workspace) if workspace else ""
    home.create()
    made: list[str] = []
    with HomeLock(home) as lock:
        if lock.take():
            if folder:
                home.settings.write_text(f"[files]\nworkspace = {json.dumps(folder)}\n")
            made = asyncio.run(_create_home(home))
        elif not home.database.exists():  # a server may hold the lock of an existing home
            raise lock.busy_error()
    if made:
        click.echo("Created the home folder:\n  " + "\n  ".join(made))
    else:
        click.echo(f"The home folder {home.path} already exists; nothing was changed.")
    report.print_note("Next: doorward run data/list --collection=rooms")


def _check_workspace(home: Home, workspace: str) -> str:
    """The folder to write into new settings; empty for an existing home, which must have this workspace already."""
    folder = Path(os.path.realpath(Path(workspace).expanduser()))
    if not folder.is_dir():
        raise Unusable(
            f"The workspace {folder} {'is not a folder' if folder.exists() else 'does not exist'}.",
            hint="Create the folder, or correct --workspace.",
        )
    home.workspace(str(folder), LOCAL, LOCAL)
    if home.settings.exists() or home.database.exists():
        current = home.workspace(load_settings(home.settings).files.workspace, LOCAL, LOCAL)
        if Path(os.path.realpath(current)) != folder:
            raise Unusable(
                f"The home folder {home.path} already exists, with the workspace {current}; nothing was changed.",
                hint=f"To use another one, set files.workspace to {json.dumps(str(folder))} in {home.settings}.",
            )
        return ""
    return str(folder)


async def _create_home(home: Home) -> list[str]:
    async with open_house(home) as house:
        return house.setup_lines
