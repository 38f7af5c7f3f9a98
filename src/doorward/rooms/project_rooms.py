"""The room of a folder: the one whose workspace contains it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath

from doorward.core.errors import BadParams


def find_room_of(folder: str, workspaces: Iterable[tuple[str, str]]) -> str:
    """The room with the innermost workspace that contains a folder; empty if there is none.

    `workspaces` are pairs of a room and its workspace. Both paths are without symlinks.
    """
    here = PurePath(folder)
    around = [(room, workspace) for room, workspace in workspaces if workspace and here.is_relative_to(workspace)]
    if not around:
        return ""
    innermost = max((workspace for _, workspace in around), key=len)
    names = sorted(room for room, workspace in around if workspace == innermost)
    if len(names) > 1:
        raise BadParams(
            f"{len(names)} rooms work in {innermost}: {', '.join(names)}.",
            hint=f"Choose one, such as --room={names[0]}",
        )
    return names[0]
