"""`doorward init`: create the home folder, and a room for the project in the current folder."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import click

from doorward.app import open_house
from doorward.cli import project_setup, report
from doorward.cli.local_client import reject_empty
from doorward.cli.models_line import add_models_line
from doorward.cli.project import current_folder, find_project
from doorward.config.home import Home, HomeLock
from doorward.config.settings import find_home_folder, load_settings
from doorward.config.wide_folders import describe_wide
from doorward.core.errors import Unusable
from doorward.rooms.people import LOCAL


@click.command("init")
@click.option(
    "--workspace",
    default="",
    callback=reject_empty,
    help="Folder for file commands outside projects. By default, a folder in the home folder.",
)
@click.option(
    "--project",
    is_flag=False,
    flag_value="",
    default=None,
    metavar="[FOLDER]",
    help="Create a room for the project in FOLDER. By default, for the project that this folder is in, if any.",
)
@click.option("--no-project", is_flag=True, help="Create the home folder only.")
@click.option("--whole", is_flag=True, help="Allow a system folder or a whole home folder.")
def command(workspace: str, project: str | None, no_project: bool, whole: bool) -> None:
    """Create the home folder (DOORWARD_HOME, or ~/.doorward), and a room for the project in this folder.

    A project is a git repository, or a folder with a pyproject.toml, package.json, Cargo.toml, go.mod or Makefile. Its
    room has the recipe `coding` and the project's folder as its workspace. Safe to repeat.
    """
    if no_project and project is not None:
        raise click.UsageError("--project creates a room for a project and --no-project none; give only one of them.")
    home = Home(find_home_folder())
    folder = _check_workspace(home, workspace, whole) if workspace else ""
    chosen = None if no_project else _choose_project(home, project, whole=whole, detect=not workspace)
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
    elif chosen is None:
        click.echo(f"The home folder {home.path} already exists; nothing was changed.")
    if chosen is None:
        report.print_note("Next: doorward run data/list --collection=rooms")
    else:
        project_setup.set_up(chosen, whole=whole)


def _choose_project(home: Home, given: str | None, *, whole: bool, detect: bool) -> Path | None:
    """The folder to create a room for. One that was not asked for and cannot have a room is only reported."""
    if given is None:
        found = find_project(current_folder()) if detect else None
        if found is not None and (overlap := home.describe_overlap(found)):
            report.print_note(f"No room was created for this project: {found} {overlap}, which no command may read.")
            return None
        return found
    here = current_folder()
    folder = _check_folder(given) if given else find_project(here) or _check_folder(here)
    home.check_outside(folder)
    _check_width(folder, whole)
    return folder


def _check_folder(given: str) -> Path:
    folder = Path(os.path.realpath(Path(given).expanduser()))
    if not folder.is_dir():
        raise Unusable(
            f"The folder {folder} {'is not a folder' if folder.exists() else 'does not exist'}.",
            hint="Create it, or correct --project.",
        )
    return folder


def _check_width(folder: Path, whole: bool) -> None:
    if not whole and (wide := describe_wide(folder)):
        raise Unusable(
            f"The folder {folder} {wide}; commands could read and change all of it.",
            hint="Choose the folder of one project, or add --whole.",
        )


def _check_workspace(home: Home, workspace: str, whole: bool) -> str:
    """The folder to write into new settings; empty for an existing home, which must have this workspace already."""
    folder = Path(os.path.realpath(Path(workspace).expanduser()))
    if not folder.is_dir():
        raise Unusable(
            f"The workspace {folder} {'is not a folder' if folder.exists() else 'does not exist'}.",
            hint="Create the folder, or correct --workspace.",
        )
    home.workspace(str(folder), LOCAL, LOCAL)
    _check_width(folder, whole)
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
        await add_models_line(house)
        return house.setup_lines
