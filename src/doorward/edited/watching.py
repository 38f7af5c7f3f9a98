"""Watching a folder for edits, across whatever happens to the folder itself."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from pathlib import Path

from watchfiles import Change, awatch
from watchfiles._rust_notify import WatchfilesRustInternalError

log = logging.getLogger(__name__)

_ROUND_MS = 1_000
"""How often `watch` looks whether it still watches the right folder and whether a failed load is due again."""

Load = Callable[[], Awaitable[bool]]
"""Reads what is there now and puts it in force; says whether nothing is left to be done."""


async def watch(folder: Path, concerns: Callable[[str], bool], load: Load) -> None:
    """Load on every change of a file whose name `concerns` us, until cancelled."""
    complaint = ""
    while True:
        try:
            await _watch_this_folder(folder, concerns, load)
            complaint = ""
        except (OSError, WatchfilesRustInternalError) as error:
            if complaint != str(error):
                complaint = str(error)
                log.warning("the folder %s cannot be watched, so it is read often: %s", folder, error)
            await load()
            await asyncio.sleep(_ROUND_MS / 1_000)


async def _watch_this_folder(folder: Path, concerns: Callable[[str], bool], load: Load) -> None:
    """Returns when another folder has taken this one's place, because a watch follows the folder, not the name."""
    watched = await asyncio.to_thread(_identity, folder)
    up_to_date = False
    rounds = awatch(
        folder,
        watch_filter=lambda change, path: _is_news(change, path, concerns),
        rust_timeout=_ROUND_MS,
        yield_on_timeout=True,
        recursive=False,
    )
    async with aclosing(rounds):
        async for changes in rounds:
            if changes or not up_to_date:
                up_to_date = await load()
            if await asyncio.to_thread(_identity, folder) != watched:
                return


def _is_news(_: Change, path: str, concerns: Callable[[str], bool]) -> bool:
    return concerns(Path(path).name)


def _identity(folder: Path) -> tuple[int, int] | None:
    """What tells this folder from another that takes its place; None when there is none."""
    try:
        facts = folder.stat()
    except OSError:
        return None
    return facts.st_dev, facts.st_ino
