"""The workspace folders of tenants, created on first use. None of them gives access to the home folder."""

from __future__ import annotations

import os

from doorward.config.home import Home
from doorward.core.errors import Conflict, Unusable
from doorward.rooms.people import LOCAL

_MISSING = (0, 0)


class Workspaces:
    def __init__(self, home: Home, configured: str) -> None:
        """`configured` is the setting files.workspace."""
        self._home = home
        self._configured = configured
        self._checked: dict[str, tuple[str, tuple[int, int]]] = {}
        """The path of each tenant's workspace, with the device and inode that it had when it was checked."""

    def find(self, tenant: str) -> str:
        """The workspace of a tenant. It is checked again when its path leads to another folder than before."""
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
