"""Pools of warm workers, one for each profile. Idle pools are closed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from doorward.config.settings import SandboxSettings as Settings
from doorward.core.errors import CommandFailed
from doorward.sandbox.program import FileAccess, SandboxProfile
from doorward.sandbox.worker import Worker, WorkerGone
from doorward.sandbox.zygote import Zygote


class WorkerPool:
    def __init__(self, start: Callable[[], Awaitable[Zygote]], most: int) -> None:
        self._start = start
        self._places = asyncio.Semaphore(most)
        self._starting = asyncio.Lock()
        self._zygote: Zygote | None = None
        self._idle: dict[FileAccess, list[Worker]] = {"read": [], "write": [], "copy": []}
        self._taken = 0
        self._used_at = asyncio.get_running_loop().time()

    async def take(
        self, files: FileAccess, setup: Mapping[str, Any] | None = None, *, resident: bool = False
    ) -> Worker:
        """Take a worker with this setup for one program, and give it back afterwards. Waits while the pool is full.

        A `resident` program gets a worker of its own: it runs until somebody stops it, and does not count against the
        limit of the pool.
        """
        setup = setup or {}
        self._taken += 1
        try:
            if resident:
                worker = await self._start_worker(files, setup)
                worker.resident = True
                return worker
            await self._places.acquire()
            try:
                return self._take_idle(files, setup) or await self._start_worker(files, setup)
            except BaseException:
                self._places.release()
                raise
        except BaseException:
            self._taken -= 1
            raise

    async def start(self) -> None:
        """Start the zygote, if it does not run, and count this as a use."""
        self._used_at = asyncio.get_running_loop().time()
        await self._get_zygote()

    def give_back(self, worker: Worker) -> None:
        if worker.used or worker.resident or self._zygote is None:
            worker.close()
        else:
            self._idle[worker.files].append(worker)
        if not worker.resident:
            self._places.release()
        self._taken -= 1
        self._used_at = asyncio.get_running_loop().time()

    def idle_since(self) -> float | None:
        """The loop time of the last use; None while in use."""
        return None if self._taken else self._used_at

    async def close(self) -> None:
        """End all workers. The next program starts new ones."""
        async with self._starting:
            await self._end_all()

    async def _end_all(self) -> None:
        for idle in self._idle.values():
            while idle:
                idle.pop().close()
        zygote, self._zygote = self._zygote, None
        if zygote is not None:
            await zygote.close()

    def _take_idle(self, files: FileAccess, setup: Mapping[str, Any]) -> Worker | None:
        """Take an idle worker that is still alive and has this setup, if there is one. Others are closed."""
        while self._idle[files]:
            worker = self._idle[files].pop()
            if worker.alive and worker.setup == setup:
                return worker
            worker.close()
        return None

    async def _start_worker(self, files: FileAccess, setup: Mapping[str, Any]) -> Worker:
        """Start a worker. If the zygote has died, restart it once."""
        zygote = await self._get_zygote()
        try:
            return await zygote.fork_worker(files, setup)
        except WorkerGone:
            if not zygote.has_died():
                raise
        return await (await self._get_zygote()).fork_worker(files, setup)

    async def _get_zygote(self) -> Zygote:
        async with self._starting:
            if self._zygote is not None and self._zygote.has_died():
                await self._end_all()
            if self._zygote is None:
                self._zygote = await self._start()
            return self._zygote


_PoolKey = tuple[SandboxProfile, int, int]
"""A profile with the device and inode of its workspace: a folder that replaces it gets its own workers."""


def _draft_key(draft: str) -> SandboxProfile:
    return SandboxProfile(workspace="", draft=draft)


class WorkerPools:
    def __init__(self, settings: Settings, start: Callable[[SandboxProfile], Awaitable[Zygote]]) -> None:
        self._settings = settings
        self._start = start
        self._pools: dict[_PoolKey, WorkerPool] = {}
        self._tidying: asyncio.Task[None] | None = None

    def get_pool(self, profile: SandboxProfile) -> WorkerPool:
        """The pool for this profile, created on first use."""
        if profile.draft:
            return self._get_draft_pool(profile)
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
            pool = self._pools.get(shared) or WorkerPool(lambda: self._start(base), self._settings.helpers)
            self._pools[shared] = self._pools[key] = pool
            if self._tidying is None:
                self._tidying = asyncio.create_task(self._close_idle())
        return pool

    def _get_draft_pool(self, profile: SandboxProfile) -> WorkerPool:
        """The pool of a draft. A draft has only one, whatever its profile: two overlays must not share a layer."""
        key = (_draft_key(profile.draft), 0, 0)
        if key not in self._pools:
            base = msgspec.structs.replace(profile, files="read")
            self._pools[key] = WorkerPool(lambda: self._start(base), self._settings.helpers)
            if self._tidying is None:
                self._tidying = asyncio.create_task(self._close_idle())
        return self._pools[key]

    def is_draft_busy(self, draft: str) -> bool:
        pool = self._pools.get((_draft_key(draft), 0, 0))
        return pool is not None and pool.idle_since() is None

    async def close_draft(self, draft: str) -> None:
        """End everything that runs in a draft, and unmount it."""
        pool = self._pools.pop((_draft_key(draft), 0, 0), None)
        if pool is not None:
            await pool.close()

    async def close_workspace(self, workspace: str) -> None:
        """End everything that runs in a workspace, and unmount it."""
        found = {pool for key, pool in self._pools.items() if key[0].workspace == workspace}
        self._pools = {key: pool for key, pool in self._pools.items() if pool not in found}
        for pool in found:
            await pool.close()

    async def close(self) -> None:
        """End every worker and the program it runs."""
        tidying, self._tidying = self._tidying, None
        if tidying is not None:
            tidying.cancel()
            await asyncio.wait([tidying])
        pools, self._pools = self._pools, {}
        for pool in set(pools.values()):
            await pool.close()

    async def _close_idle(self) -> None:
        """Close pools that have been idle for a while."""
        while True:
            await asyncio.sleep(self._settings.idle_seconds / 2)
            oldest = asyncio.get_running_loop().time() - self._settings.idle_seconds
            for pool in set(self._pools.values()):
                since = pool.idle_since()
                if since is not None and since <= oldest:
                    # The pool of a draft stays, so that a new overlay waits until the old one is gone.
                    self._pools = {key: one for key, one in self._pools.items() if one is not pool or key[0].draft}
                    await asyncio.shield(pool.close())
