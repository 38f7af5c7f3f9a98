"""Watch a folder for edits, even when the folder itself is replaced."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from pathlib import Path

from watchfiles import Change, awatch
from watchfiles._rust_notify import WatchfilesRustInternalError

log = logging.getLogger(__name__)

_POLL_MS = 1_000
"""How often `watch` checks that it still watches the right folder and retries a failed load."""

Reload = Callable[[], Awaitable[bool]]
"""Reads and applies the current files; returns False when it should be called again."""


async def watch_folder(folder: Path, concerns: Callable[[str], bool], load: Reload) -> None:
    """Call `load` on every change of a file whose name passes `concerns`, until cancelled."""
    complaint = ""
    while True:
        try:
            await _watch_until_replaced(folder, concerns, load)
            complaint = ""
        except (OSError, WatchfilesRustInternalError) as error:
            if complaint != str(error):
                complaint = str(error)
                log.warning("the folder %s cannot be watched; polling it instead: %s", folder, error)
            await load()
            await asyncio.sleep(_POLL_MS / 1_000)


async def _watch_until_replaced(folder: Path, concerns: Callable[[str], bool], load: Reload) -> None:
    """Return when another folder has taken this path, because a watch follows the folder and not its path."""
    watched = await asyncio.to_thread(_folder_identity, folder)
    up_to_date = False
    rounds = awatch(
        folder,
        watch_filter=lambda change, path: _is_relevant(change, path, concerns),
        rust_timeout=_POLL_MS,
        yield_on_timeout=True,
        recursive=False,
    )
    async with aclosing(rounds):
        async for changes in rounds:
            if changes or not up_to_date:
                up_to_date = await load()
            if await asyncio.to_thread(_folder_identity, folder) != watched:
                return


def _is_relevant(_: Change, path: str, concerns: Callable[[str], bool]) -> bool:
    return concerns(Path(path).name)


def _folder_identity(folder: Path) -> tuple[int, int] | None:
    """The identity of the folder at this path; None when there is none."""
    try:
        facts = folder.stat()
    except OSError:
        return None
    return facts.st_dev, facts.st_ino
