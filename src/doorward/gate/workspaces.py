"""The workspace folders of rooms and tenants. None of them gives access to the home folder."""

from __future__ import annotations

import os
from pathlib import Path

from doorward.config.home import Home
from doorward.core.errors import Conflict, Unusable
from doorward.rooms.people import LOCAL
from doorward.rooms.rooms import Rooms

_MISSING = (0, 0)


class Workspaces:
    """Finds the folder that a call works in: the room's own or, where it has none, the tenant's."""

    def __init__(self, home: Home, configured: str, rooms: Rooms) -> None:
        """`configured` is the setting files.workspace."""
        self._home = home
        self._configured = configured
        self._rooms = rooms
        self._checked: dict[str, tuple[str, tuple[int, int]]] = {}
        """The path of each tenant's workspace, with the device and inode that it had when it was checked."""
        self._own: dict[str, tuple[int, int]] = {}
        """Device and inode of each room's own workspace when it was checked."""

    def find(self, tenant: str, room: str = "") -> str:
        """The workspace of a room. It is checked again when its path leads to another folder than before."""
        found = self._rooms.get(tenant, room) if room else None
        return self._find_own(found.workspace, room) if found and found.workspace else self._find_shared(tenant)

    def check_outside(self, folder: Path) -> None:
        self._home.check_outside(folder)

    def _find_own(self, path: str, room: str) -> str:
        identity = _identify(path)
        if identity == _MISSING or not os.path.isdir(path):
            raise Conflict(
                f"The workspace {path} of room {room!r} does not exist any more.",
                hint=f"Put the folder back, or give the room another one: doorward rooms workspace {room} FOLDER",
            )
        if self._own.get(path) != identity:
            try:
                self._home.check_outside(Path(path))
            except Unusable as error:
                raise Conflict(error.message, hint=error.hint) from error
            self._own[path] = identity
        return path

    def _find_shared(self, tenant: str) -> str:
        """The workspace of a tenant, created on first use."""
        if tenant in self._checked:
            path, identity = self._checked[tenant]
            if _identify(path) in (identity, _MISSING):
                return path
        try:
            folder = self._home.workspace(self._configured, tenant, LOCAL).absolute()
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except Unusable as error:
            raise Conflict(error.message, hint=error.hint) from error
        except OSError as error:
            raise Conflict(f"The workspace {folder} cannot be created: {error.strerror}.") from error
        path = str(folder)
        self._checked[tenant] = path, _identify(path)
        return path


def _identify(folder: str) -> tuple[int, int]:
    """Device and inode of a folder."""
    try:
        facts = os.stat(folder)
    except OSError:
        return _MISSING
    return facts.st_dev, facts.st_ino
