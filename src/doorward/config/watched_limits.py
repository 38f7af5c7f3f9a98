"""Applies changed limits of programs from the settings file without a restart."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from doorward.config import folder_watch
from doorward.config.settings import SandboxSettings, load_settings
from doorward.core.errors import Unusable

log = logging.getLogger(__name__)

_LIMITS = (
    "cpu_seconds",
    "memory_bytes",
    "processes",
    "file_bytes",
    "descriptors",
    "wall_seconds",
    "output_bytes",
    "scratch_bytes",
    "draft_bytes",
    "build",
)
"""The settings of `[sandbox]` that apply to the next program. The others apply after a restart."""


class WatchedLimits:
    """The limits of programs in force. An invalid settings file changes nothing and is logged."""

    def __init__(self, file: Path, settings: SandboxSettings, apply: Callable[[SandboxSettings], None]) -> None:
        """`settings` are in force now, and `apply` puts others in force when the file changes."""
        self._file = file
        self._settings = settings
        self._apply = apply
        self._problem = ""
        self._limits = _pick_limits(settings)
        with contextlib.suppress(Unusable):  # then the settings in force are not from this file
            self._limits = _pick_limits(load_settings(file).sandbox)

    async def watch(self) -> None:
        """Apply every change of the file, until cancelled."""
        await folder_watch.watch_folder(self._file.parent, lambda name: name == self._file.name, self.load)

    async def load(self) -> bool:
        """Apply the limits in the file."""
        try:
            limits = _pick_limits((await asyncio.to_thread(load_settings, self._file)).sandbox)
        except Unusable as error:
            if error.message != self._problem:
                log.warning("the limits of programs stay as they were: %s", error.message)
            self._problem = error.message
            return True
        self._problem = ""
        if limits != self._limits:
            self._limits = limits
            self._settings = msgspec.structs.replace(self._settings, **limits)
            self._apply(self._settings)
            log.info("the limits of programs in %s apply to the next program", self._file.name)
        return True


def _pick_limits(settings: SandboxSettings) -> dict[str, Any]:
    return {name: getattr(settings, name) for name in _LIMITS}
