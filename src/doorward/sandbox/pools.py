"""Worker pools, one for each profile. Idle pools are closed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable

import msgspec

from doorward.errors import CommandFailed
from doorward.sandbox.pool import Pool
from doorward.sandbox.profile import Profile
from doorward.sandbox.zygote import Zygote
from doorward.settings import Sandbox as Settings

_Key = tuple[Profile, int, int]
"""A profile with the device and inode of its workspace: a folder that replaces it gets its own workers."""


class Pools:
    def __init__(self, settings: Settings, start: Callable[[Profile], Awaitable[Zygote]]) -> None:
        self._settings = settings
        self._start = start
        self._pools: dict[_Key, Pool] = {}
        self._tidying: asyncio.Task[None] | None = None

    def of(self, profile: Profile) -> Pool:
        """The pool for this profile, created on first use."""
        try:
            folder = os.stat(profile.workspace)
        except OSError as error:
            raise CommandFailed(f"The workspace {profile.workspace} cannot be used: {error.strerror}.") from error
        key = (profile, folder.st_dev, folder.st_ino)
        pool = self._pools.get(key)
        if pool is None:
            # Profiles that differ only in `files` share a pool: they share the zygote, not the workers.
            base = msgspec.structs.replace(profile, files="read")
            shared = (base, folder.st_dev, folder.st_ino)
            pool = self._pools.get(shared) or Pool(lambda: self._start(base), self._settings.helpers)
            self._pools[shared] = self._pools[key] = pool
            if self._tidying is None:
                self._tidying = asyncio.create_task(self._tidy())
        return pool

    async def close(self) -> None:
        """End every worker and the program it runs."""
        tidying, self._tidying = self._tidying, None
        if tidying is not None:
            tidying.cancel()
            await asyncio.wait([tidying])
        pools, self._pools = self._pools, {}
        for pool in set(pools.values()):
            await pool.close()

    async def _tidy(self) -> None:
        """Close pools that have been idle for a while."""
        while True:
            await asyncio.sleep(self._settings.idle_seconds / 2)
            oldest = asyncio.get_running_loop().time() - self._settings.idle_seconds
            for pool in set(self._pools.values()):
                since = pool.idle_since()
                if since is not None and since <= oldest:
                    self._pools = {key: one for key, one in self._pools.items() if one is not pool}
                    await asyncio.shield(pool.close())
