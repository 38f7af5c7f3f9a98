"""Starts long-running programs, and ends those that still run when the sandbox closes."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from doorward.errors import CommandFailed
from doorward.sandbox import bubblewrap, lookup, view
from doorward.sandbox.confinement import Confinement
from doorward.sandbox.enclosed import Enclosed, NotBecome
from doorward.sandbox.grants import Grants
from doorward.sandbox.inside.messages import LARGEST, encoded
from doorward.sandbox.kept import GIBIBYTE, Kept, KeptProfile, Streams, Tree
from doorward.sandbox.nursing import Nursing
from doorward.sandbox.temporary import Temporary, remove_leftovers
from doorward.sandbox.watching import Watching
from doorward.sandbox.worker import WorkerGone

_LARGEST_FILE = 8 * GIBIBYTE
_DESCRIPTORS = 4_096
_AT_ONCE = 4
"""How many programs start at the same time. With a hundred at once, each would miss its start-up timeout."""


class Keeping:
    def __init__(self, home: Path, keep_free: int) -> None:
        self._home = home
        self.governing: Callable[[], Iterable[Path]] = tuple
        """Returns the files that decide what programs may do; no program may change them."""
        self._nursing = Nursing()
        self._watching = Watching(keep_free)
        self._starting = asyncio.Semaphore(_AT_ONCE)
        self._kept: set[Kept] = set()
        self.with_network = 0
        """Number of programs with network access, from before they start until they are gone."""
        self._tidying = asyncio.Lock()
        self._tidied: set[str] = set()
        """Folders already cleared of leftovers from the last run."""
        self._removing: set[asyncio.Future[None]] = set()
        self._proc = True
        """Whether /proc can be mounted. A container that masks parts of its own /proc forbids it."""

    async def keep(
        self, found: Confinement, profile: KeptProfile, argv: Sequence[str], environment: Mapping[str, str], folder: str
    ) -> Kept:
        temporary = await self._own_folders(profile)
        streams = Streams()
        self.with_network += profile.network
        try:
            with Grants(profile.id, self._home, self.governing()) as grants:
                grants.own(profile.home)
                grants.add(profile.read, writable=False)
                grants.add(profile.write, writable=True)
                program = lookup.find(argv[0] if argv else "", environment.get("PATH", ""), grants)
                scratch = "/tmp" if found.namespaces else temporary.path
                own = {**view.environment(scratch), "HOME": profile.home, **environment, "PATH": program.path}
                setup = {
                    "program": program.program,
                    "argv": [program.program, *argv[1:]],
                    "environment": own,
                    "folder": folder or profile.home,
                    **_locks(found, profile, grants, scratch),
                }
                async with self._starting:
                    tree = await self._started(found, profile, grants, temporary.path, setup, streams)
        except BaseException:
            streams.close()
            self.with_network -= profile.network
            self._remove(temporary)
            raise
        streams.handed_over()
        kept = Kept(streams, tree, str(found.level))
        self._kept.add(kept)
        self._watching.add(kept, profile)
        tree.gone().add_done_callback(lambda _: self._forget(kept, profile, temporary))
        return kept

    async def close(self) -> None:
        """End every program that still runs."""
        left = list(self._kept)
        for kept in left:
            kept.stop()
        for kept in left:
            await kept.end(0)
        await self._nursing.close()
        if self._removing:
            await asyncio.wait(self._removing)

    async def _own_folders(self, profile: KeptProfile) -> Temporary:
        """Create the program's own folder, and one beside it for temporary files."""
        try:
            os.makedirs(profile.home, 0o700, exist_ok=True)
            async with self._tidying:
                if (beside := os.path.dirname(profile.home)) not in self._tidied:
                    await asyncio.to_thread(remove_leftovers, profile.home)
                    self._tidied.add(beside)
            return Temporary(profile.home)
        except OSError as error:
            raise CommandFailed(
                f"The folder {profile.home} of {profile.id} cannot be used: {error.strerror or error}."
            ) from error

    def _forget(self, kept: Kept, profile: KeptProfile, temporary: Temporary) -> None:
        self._kept.discard(kept)
        self.with_network -= profile.network
        self._watching.remove(kept)
        self._remove(temporary)

    def _remove(self, temporary: Temporary) -> None:
        """Remove the folder in a thread, because a program may leave any number of files."""
        removing = asyncio.get_running_loop().run_in_executor(None, temporary.remove)
        self._removing.add(removing)
        removing.add_done_callback(self._removing.discard)

    async def _started(
        self,
        found: Confinement,
        profile: KeptProfile,
        grants: Grants,
        temporary: str,
        setup: dict[str, Any],
        streams: Streams,
    ) -> Tree:
        if (size := len(encoded(setup))) > LARGEST:
            raise CommandFailed(f"{profile.id}: arguments and environment have {size} bytes; at most {LARGEST}.")

        async def enclosed() -> Tree:
            network, proc = profile.network, self._proc
            around = bubblewrap.kept_command(found.bwrap, grants.arranged(), temporary, network=network, proc=proc)
            passwd = view.passwd(profile.home)
            return await Enclosed.start(around, view.INSIDE, passwd, setup, streams.handed, grants.check)

        try:
            if not found.namespaces:
                return await self._nursing.start(setup, streams.handed)
            try:
                return await enclosed()
            except WorkerGone as error:
                if not self._proc or "mount proc" not in str(error):
                    raise
                self._proc = False
                return await enclosed()
        except NotBecome as error:
            raise CommandFailed(_not_started(profile, setup, error)) from error
        except WorkerGone as error:
            raise CommandFailed(f"{profile.id} could not be started in the sandbox: {error}.") from error


def _locks(found: Confinement, profile: KeptProfile, grants: Grants, scratch: str) -> dict[str, Any]:
    readable, writable = ["/"], [scratch, *view.DEVICES]
    if found.namespaces:
        writable.append("/dev/shm")
    else:
        _, prefix = view.python()
        readable = [*view.system_folders(), *view.etc_files(network=profile.network), prefix]
        readable += [grant.source for grant in grants.items]
    return {
        "namespaces": found.namespaces,
        "network": profile.network,
        "files": "read",
        "read": readable,
        "write": [*writable, *(grant.source for grant in grants.items if grant.writable)],
        "checked": {grant.source: grant.identity for grant in grants.items},
        "limits": {
            # Language runtimes reserve far more address space than they use, so only writable memory is limited.
            "data": profile.memory_bytes,
            "file": _LARGEST_FILE,
            "descriptors": _DESCRIPTORS,
            "processes": profile.processes,
        },
        "counted": found.counted(),
        "count": False,
        "filter": found.filter(network=profile.network),
    }


def _not_started(profile: KeptProfile, setup: dict[str, Any], error: NotBecome) -> str:
    program = setup["program"]
    if error.what == setup["folder"]:
        return (
            f"{profile.id} cannot start in the folder {error.what}: it is not visible inside the sandbox; "
            "valid: its own folder or one that it may read."
        )
    if error.code == errno.ENOENT:
        return f"{profile.id}: the program {program}, or its interpreter, is not visible inside the sandbox."
    return f"{profile.id}: the program {program} cannot be started: {os.strerror(error.code)}."
