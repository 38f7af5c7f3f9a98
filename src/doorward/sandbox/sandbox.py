"""The sandbox: programs in, how they ended out. Which locks hold them is found out once, by trying."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from doorward.errors import CommandFailed, SandboxUnavailable
from doorward.sandbox.changes import Changes, read_changes
from doorward.sandbox.confinement import Confinement
from doorward.sandbox.finding import find
from doorward.sandbox.level import Level
from doorward.sandbox.pool import Pool
from doorward.sandbox.profile import Profile
from doorward.sandbox.program import Ended, OnOutput, Program
from doorward.sandbox.running import Running
from doorward.sandbox.worker import WorkerGone
from doorward.settings import Settings

log = logging.getLogger(__name__)


class Sandbox:
    def __init__(self, home: Path, settings: Settings) -> None:
        self._home = home
        self._settings = settings.sandbox
        self._pools: dict[Profile, Pool] = {}
        self._finding = asyncio.Lock()
        self._found: Confinement | None = None
        self._scratch: Path | None = None
        self._tidying: asyncio.Task[None] | None = None

    async def level(self) -> Level:
        """How well programs are confined here, found out by a program that tries to get out."""
        return (await self._confinement()).level

    async def copies(self) -> bool:
        """Whether programs can run on a copy-on-write view here."""
        return (await self._confinement()).copies

    async def run(self, profile: Profile, program: Program, on_output: OnOutput | None = None) -> Ended:
        """Run a program to its end. Cancelled, it first ends the program and everything that came of it."""
        ended, _ = await self._run(profile, program, on_output)
        return ended

    async def try_out(
        self, profile: Profile, program: Program, on_output: OnOutput | None = None
    ) -> tuple[Ended, Changes]:
        """Run a program on a copy-on-write view: how it ended, and what it would have changed. Nothing is changed."""
        view = msgspec.structs.replace(profile, files="copy")
        ended, layer = await self._run(view, program, on_output)
        try:
            keep = self._settings.scratch_bytes
            return ended, await asyncio.to_thread(read_changes, layer, Path(profile.workspace), keep)
        finally:
            os.close(layer)

    async def close(self) -> None:
        """End every helper, and whatever runs in it."""
        if self._tidying is not None:
            self._tidying.cancel()
            self._tidying = None
        pools, self._pools = self._pools, {}
        for pool in set(pools.values()):
            await pool.close()
        if self._scratch is not None:
            await asyncio.to_thread(shutil.rmtree, self._scratch, ignore_errors=True)
            self._scratch = None

    async def _run(self, profile: Profile, program: Program, on_output: OnOutput | None) -> tuple[Ended, int]:
        found = self._found if self._found is not None and profile in self._pools else await self._usable(profile)
        disk = (profile.workspace, self._settings.keep_free_bytes) if profile.files == "write" else None
        folder = f"{found.workspace(profile)}/{program.folder}"
        pool = self._pool(found, profile)
        try:
            worker = await pool.take(profile.files)
            try:
                running = Running(program, worker, on_output)
                if found.namespaces:
                    return await running.to_the_end(folder, program.environment, found.level, disk)
                with self._temporary() as temporary:
                    environment = {**temporary, **program.environment}
                    return await running.to_the_end(folder, environment, found.level, disk)
            finally:
                pool.give_back(worker)
        except WorkerGone as error:
            log.warning("the sandbox broke under %s: %s", program.argv[0], error)
            raise CommandFailed(f"The sandbox broke under {program.argv[0]}, which ended with it: {error}.") from error

    async def _confinement(self) -> Confinement:
        async with self._finding:
            if self._found is None:
                self._found = await find(self._home, self._settings)
                if self._found.level.word != "full":
                    log.warning("the sandbox is %s", self._found.level)
            return self._found

    async def _usable(self, profile: Profile) -> Confinement:
        """The confinement, if programs may run in it."""
        found = await self._confinement()
        if found.level.word != "full" and self._settings.required:
            raise SandboxUnavailable(
                f"Programs run only in a full sandbox here (setting sandbox.required), and this one is {found.level}.",
                hint=found.level.hint,
            )
        if found.level.word == "off" and not self._settings.allow_unconfined:
            raise SandboxUnavailable(
                f"Nothing on this machine can confine a program, so none is run: {found.level}.",
                hint=found.level.hint or "Programs with resource limits alone need sandbox.allow_unconfined = true.",
            )
        if profile.files == "copy" and not found.copies:
            raise SandboxUnavailable(f"There are no copy-on-write views here: the sandbox is {found.level}.")
        if _holds(profile.workspace, self._home):
            raise SandboxUnavailable(
                f"The workspace {profile.workspace} holds Doorward's own folder, {self._home}, "
                "which no program may see.",
                hint="Choose another folder: setting files.workspace.",
            )
        return found

    def _pool(self, found: Confinement, profile: Profile) -> Pool:
        pool = self._pools.get(profile)
        if pool is None:
            # Profiles that differ in `files` alone have one pool: its workers differ, their surroundings do not.
            base = msgspec.structs.replace(profile, files="read")
            pool = self._pools.get(base) or self._new_pool(found, base)
            self._pools[profile] = pool
        return pool

    def _new_pool(self, found: Confinement, profile: Profile) -> Pool:
        scratch = self._folder_for_scratch() if not found.namespaces else Path()
        pool = Pool(lambda: found.zygote(profile, self._settings, scratch), self._settings.helpers)
        self._pools[profile] = pool
        if self._tidying is None:
            self._tidying = asyncio.create_task(self._tidy())
        return pool

    async def _tidy(self) -> None:
        """Let go of helpers that nobody has needed for a while."""
        while True:
            await asyncio.sleep(self._settings.idle_seconds / 2)
            oldest = asyncio.get_running_loop().time() - self._settings.idle_seconds
            for pool in set(self._pools.values()):
                since = pool.idle_since()
                if since is not None and since <= oldest:
                    self._pools = {profile: one for profile, one in self._pools.items() if one is not pool}
                    await pool.close()

    @contextlib.contextmanager
    def _temporary(self) -> Iterator[dict[str, str]]:
        """Where a program without a /tmp of its own keeps temporary files; it is cleared after it."""
        with tempfile.TemporaryDirectory(dir=self._folder_for_scratch(), ignore_cleanup_errors=True) as folder:
            yield {"HOME": folder, "TMPDIR": folder}

    def _folder_for_scratch(self) -> Path:
        if self._scratch is None:
            self._scratch = Path(tempfile.mkdtemp(prefix="scratch-", dir=self._home))
        return self._scratch


def _holds(folder: str, inner: Path) -> bool:
    return inner.resolve().is_relative_to(Path(folder).resolve())
