"""The files of a session's folder, listed as context for a model."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

from doorward.agents.data_profiles import find_free_command
from doorward.commands.context import Services
from doorward.core.command import Command
from doorward.core.errors import DoorwardError
from doorward.core.model import Caller
from doorward.gate.recipes.policy import Policy
from doorward.sandbox.safefs.root import SafeRoot

_LIST = "file/list"
_MOST_FILES = 200
_MOST_DEPTH = 3
_MOST_SECONDS = 0.3


async def list_files(
    services: Services, caller: Caller, room: str, policy: Policy | None, offered: Sequence[Command], folder: str | None
) -> tuple[str, ...]:
    """List files and folders beneath a folder of the workspace, if this caller may list all of them without approval.

    Folders end with `/`. Hidden files are left out.
    """
    command = find_free_command(_LIST, policy, offered)
    if folder is None or command is None or (policy is not None and policy.restricted_parameters(command)):
        return ()
    try:
        workspace = Path(services.workspaces.find(caller.tenant, room))
        return await asyncio.to_thread(_list, workspace, folder or ".")
    except DoorwardError:  # there is no workspace
        return ()


def _list(workspace: Path, folder: str) -> tuple[str, ...]:
    found: list[str] = []
    end = time.monotonic() + _MOST_SECONDS
    with SafeRoot(workspace) as root:
        level = [folder]
        for _ in range(_MOST_DEPTH):
            level = [one for inside in level for one in _list_folder(root, inside, found, end)]
    prefix = "" if folder == "." else f"{folder}/"
    return tuple(sorted(one.removeprefix(prefix) for one in found))


def _list_folder(root: SafeRoot, folder: str, found: list[str], end: float) -> list[str]:
    """Add the entries of one folder to those found, and return its folders."""
    if len(found) >= _MOST_FILES or time.monotonic() > end:
        return []
    inside = []
    try:
        for entry in root.walk(folder, recursive=False, hidden=False):
            if len(found) >= _MOST_FILES:
                break
            if not entry.path.isprintable():
                continue
            is_folder = entry.kind == "folder"
            found.append(f"{entry.path}/" if is_folder else entry.path)
            if is_folder:
                inside.append(entry.path)
    except DoorwardError:  # the folder is gone, or closed to Doorward
        return []
    return inside
