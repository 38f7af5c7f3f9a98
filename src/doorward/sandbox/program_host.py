"""Starts long-running programs in temporary folders, and ends those that still run when the sandbox closes.

The folder is beside the program's own folder, where the program cannot replace it. Doorward holds a lock on it. A
folder without a lock was left by a Doorward that was killed; it is removed at the next start.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from doorward.core.errors import CommandFailed
from doorward.sandbox import bubblewrap, program_lookup, view
from doorward.sandbox.confinement import Confinement
from doorward.sandbox.grants import Grants
from doorward.sandbox.inside.messages import MAX_MESSAGE_BYTES, encode
from doorward.sandbox.long_running import GIBIBYTE, LongRunningProfile, LongRunningProgram, ProcessTree, ProgramStreams
from doorward.sandbox.namespaced_program import ExecFailed, NamespacedProgram
from doorward.sandbox.reaper_process import ReaperProcesses
from doorward.sandbox.resource_watch import ResourceWatch
from doorward.sandbox.worker import WorkerGone

_FOLDER = ".tmp"


class TemporaryFolder:
    def __init__(self, home: str) -> None:
        self.path = tempfile.mkdtemp(prefix=f"{os.path.basename(home)}-", dir=_temporary_root(home))
        self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise

    def remove(self) -> None:
        if self._lock >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._lock)
            self._lock = -1


def remove_leftovers(home: str) -> None:
    """Remove folders that are not locked."""
    for path in list(_temporary_root(home).iterdir()):
        with contextlib.suppress(OSError):  # locked by another process, or not a folder
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(descriptor)


def _temporary_root(home: str) -> Path:
    folder = Path(home).parent / _FOLDER
    folder.mkdir(0o700, exist_ok=True)
    return folder


_LARGEST_FILE = 8 * GIBIBYTE
_DESCRIPTORS = 4_096
_CONCURRENT_STARTS = 4
"""How many programs start at the same time. With a hundred at once, each would miss its start-up timeout."""


class ProgramHost:
    def __init__(self, home: Path, keep_free: int) -> None:
        self._home = home
        self.governing: Callable[[], Iterable[Path]] = tuple
        """Returns the files that decide what programs may do; no program may change them."""
        self._reapers = ReaperProcesses()
        self._resource_watch = ResourceWatch(keep_free)
        self._starting = asyncio.Semaphore(_CONCURRENT_STARTS)
        self._programs: set[LongRunningProgram] = set()
        self.with_network = 0
        """Number of programs with network access, from before they start until they are gone."""
        self._tidying = asyncio.Lock()
        self._tidied: set[str] = set()
        """Folders already cleared of leftovers from the last run."""
        self._removing: set[asyncio.Future[None]] = set()
        self._proc = True
        """Whether /proc can be mounted. A container that masks parts of its own /proc forbids it."""

    async def keep(
        self,
        found: Confinement,
        profile: LongRunningProfile,
        argv: Sequence[str],
        environment: Mapping[str, str],
        folder: str,
    ) -> LongRunningProgram:
        temporary = await self._create_folders(profile)
        streams = ProgramStreams()
        self.with_network += profile.network
        try:
            with Grants(profile.id, self._home, self.governing()) as grants:
                grants.add_own_folder(profile.home)
                if profile.installation:
                    grants.add_installation(profile.installation)
                grants.add(profile.read, writable=False)
                grants.add(profile.write, writable=True)
                program = program_lookup.find_program(argv[0] if argv else "", environment.get("PATH", ""), grants)
                scratch = "/tmp" if found.namespaces else temporary.path
                own = {**view.make_environment(scratch), "HOME": profile.home, **environment, "PATH": program.path}
                setup = {
                    "program": program.program,
                    "argv": [program.program, *argv[1:]],
                    "environment": own,
                    "folder": folder or profile.home,
                    **_restrictions(found, profile, grants, scratch),
                }
                async with self._starting:
                    tree = await self._start(found, profile, grants, temporary.path, setup, streams)
        except BaseException:
            streams.close()
            self.with_network -= profile.network
            self._remove(temporary)
            raise
        streams.close_program_ends()
        kept = LongRunningProgram(streams, tree, str(found.level))
        self._programs.add(kept)
        self._resource_watch.add(kept, profile)
        tree.end_future().add_done_callback(lambda _: self._forget(kept, profile, temporary))
        return kept

    async def close(self) -> None:
        """End every program that still runs."""
        left = list(self._programs)
        for kept in left:
            kept.stop()
        for kept in left:
            await kept.shut_down(0)
        await self._reapers.close()
        if self._removing:
            await asyncio.wait(self._removing)

    async def _create_folders(self, profile: LongRunningProfile) -> TemporaryFolder:
        """Create the program's own folder, and one beside it for temporary files."""
        try:
            os.makedirs(profile.home, 0o700, exist_ok=True)
            async with self._tidying:
                if (beside := os.path.dirname(profile.home)) not in self._tidied:
                    await asyncio.to_thread(remove_leftovers, profile.home)
                    self._tidied.add(beside)
            return TemporaryFolder(profile.home)
        except OSError as error:
            raise CommandFailed(
                f"The folder {profile.home} of {profile.id} cannot be used: {error.strerror or error}."
            ) from error

    def _forget(self, kept: LongRunningProgram, profile: LongRunningProfile, temporary: TemporaryFolder) -> None:
        self._programs.discard(kept)
        self.with_network -= profile.network
        self._resource_watch.remove(kept)
        self._remove(temporary)

    def _remove(self, temporary: TemporaryFolder) -> None:
        """Remove the folder in a thread, because a program may leave any number of files."""
        removing = asyncio.get_running_loop().run_in_executor(None, temporary.remove)
        self._removing.add(removing)
        removing.add_done_callback(self._removing.discard)

    async def _start(
        self,
        found: Confinement,
        profile: LongRunningProfile,
        grants: Grants,
        temporary: str,
        setup: dict[str, Any],
        streams: ProgramStreams,
    ) -> ProcessTree:
        if (size := len(encode(setup))) > MAX_MESSAGE_BYTES:
            raise CommandFailed(
                f"{profile.id}: arguments and environment have {size} bytes; at most {MAX_MESSAGE_BYTES}."
            )

        async def enclosed() -> ProcessTree:
            network, proc = profile.network, self._proc
            around = bubblewrap.build_program_command(
                found.bwrap, grants.in_mount_order(), temporary, network=network, proc=proc
            )
            passwd = view.make_passwd(profile.home)
            return await NamespacedProgram.start(
                around, view.HELPER_CODE, passwd, setup, streams.program_ends, grants.check_process
            )

        try:
            if not found.namespaces:
                return await self._reapers.start(setup, streams.program_ends)
            try:
                return await enclosed()
            except WorkerGone as error:
                if not self._proc or "mount proc" not in str(error):
                    raise
                self._proc = False
                return await enclosed()
        except ExecFailed as error:
            raise CommandFailed(_start_error(profile, setup, error)) from error
        except WorkerGone as error:
            raise CommandFailed(f"{profile.id} could not be started in the sandbox: {error}.") from error


def _restrictions(found: Confinement, profile: LongRunningProfile, grants: Grants, scratch: str) -> dict[str, Any]:
    readable, writable = ["/"], [scratch, *view.DEVICES]
    if found.namespaces:
        writable.append("/dev/shm")
    else:
        _, prefix = view.find_python()
        readable = [*view.list_system_folders(), *view.list_etc_files(network=profile.network), prefix]
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
        "counted": found.counted_processes(),
        "count": False,
        "filter": found.seccomp_filter(network=profile.network),
    }


def _start_error(profile: LongRunningProfile, setup: dict[str, Any], error: ExecFailed) -> str:
    program = setup["program"]
    if error.what == setup["folder"]:
        return (
            f"{profile.id} cannot start in the folder {error.what}: it is not visible inside the sandbox; "
            "valid: its own folder or one that it may read."
        )
    if error.code == errno.ENOENT:
        return f"{profile.id}: the program {program}, or its interpreter, is not visible inside the sandbox."
    return f"{profile.id}: the program {program} cannot be started: {os.strerror(error.code)}."
