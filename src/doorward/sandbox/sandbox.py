"""The sandbox runs programs confined. It probes once which confinement works on this machine."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from doorward.config.settings import Settings
from doorward.core.errors import CommandFailed, SandboxUnavailable, Unusable
from doorward.core.host_rules import HostTerms
from doorward.sandbox import view
from doorward.sandbox.confinement import Confinement, ConfinementLevel
from doorward.sandbox.confinement_probe import PROBE, find_confinement
from doorward.sandbox.draft_roots import DraftRoots
from doorward.sandbox.egress_proxy import EgressRules
from doorward.sandbox.grants import check_readable_folders, is_beneath
from doorward.sandbox.long_running import LongRunningProfile, LongRunningProgram
from doorward.sandbox.overlay_changes import CHANGE_ERRORS, OverlayChanges, UnreadableChanges, read_changes
from doorward.sandbox.port_forwarder import PortForwarder
from doorward.sandbox.program import OnOutput, Program, RoomKey, SandboxProfile, SandboxResult
from doorward.sandbox.program_host import ProgramHost
from doorward.sandbox.program_run import ProgramRun
from doorward.sandbox.resident_program import ResidentProgram
from doorward.sandbox.room_networks import RoomNetworks
from doorward.sandbox.toolchains import Toolchains, find_toolchains
from doorward.sandbox.worker import NotStarted, Worker, WorkerGone
from doorward.sandbox.worker_pools import WorkerPool, WorkerPools
from doorward.sandbox.zygote import Zygote

log = logging.getLogger(__name__)


_SCRATCH = "scratch-"
"""How the names of folders for temporary files begin, in the home folder."""


class Sandbox:
    def __init__(self, home: Path, settings: Settings, egress: EgressRules | None = None) -> None:
        """`egress` has the hosts that the programs of each room may reach; without it they reach none."""
        self._home = home
        self._settings = settings.sandbox
        check_readable_folders(settings.sandbox.readable, home)
        self._pools = WorkerPools(settings.sandbox, self._start_zygote)
        self._draft_roots = DraftRoots()
        self._checked: set[SandboxProfile] = set()
        """Profiles already checked and allowed."""
        self._probe_lock = asyncio.Lock()
        self._known_confinement: Confinement | None = None
        self._scratch: Path | None = None
        self._program_host = ProgramHost(home, settings.sandbox.keep_free_bytes)
        self._networks = RoomNetworks(egress)
        self._residents: set[ResidentProgram] = set()

    async def level(self) -> ConfinementLevel:
        """How well programs are confined here, as measured by a probe that tries to escape."""
        return (await self._confinement()).level

    async def supports_copies(self) -> bool:
        """Whether programs can run on a copy-on-write view here."""
        return (await self._confinement()).copies

    async def isolates_networks(self) -> bool:
        """Whether programs have network namespaces here, which a room's programs can share."""
        return (await self._confinement()).namespaces

    async def run(self, profile: SandboxProfile, program: Program, on_output: OnOutput | None = None) -> SandboxResult:
        """Run a program to its end. When cancelled, it first ends the program and all its descendants."""
        ended, _ = await self._run(profile, program, on_output)
        return ended

    async def start(self, profile: SandboxProfile, program: Program, on_output: OnOutput) -> ResidentProgram:
        """Start a program that runs until somebody stops it. Raises CommandFailed when it does not start."""
        found = await self._check_profile(profile)
        pool = self._pools.get_pool(profile)
        try:
            worker = await pool.take(profile.files, _describe_worker(found, profile, program), resident=True)
        except WorkerGone as error:
            raise CommandFailed(f"The sandbox of {program.argv[0]} could not be started: {error}.") from error
        started = ResidentProgram(
            program.argv[0], worker, self._run_in(found, pool, worker, profile, program, on_output)
        )
        self._residents.add(started)
        started.add_done_callback(lambda: self._residents.discard(started))
        await started.wait_started()
        return started

    async def run_on_copy(
        self, profile: SandboxProfile, program: Program, on_output: OnOutput | None = None
    ) -> tuple[SandboxResult, OverlayChanges]:
        """Run a program on a copy-on-write view; return its result and its changes. The workspace stays unchanged.

        Raises UnreadableChanges, with the result, when its changes cannot be used.
        """
        on_copy = msgspec.structs.replace(profile, files="copy")
        ended, layer = await self._run(on_copy, program, on_output)
        try:
            workspace, room = Path(profile.workspace), profile.limits.scratch_bytes
            return ended, await asyncio.to_thread(read_changes, layer, workspace, room, ended.began)
        except CHANGE_ERRORS as error:
            raise UnreadableChanges(ended, error) from error
        finally:
            os.close(layer)

    async def open_draft(self, profile: SandboxProfile) -> str:
        """Mount the draft of this profile, if it is not mounted, and return the path of its top folder.

        The path is valid in this process only, and until the draft is closed. After that it leads nowhere.
        """
        found = await self._check_profile(profile)
        if not found.copies:
            raise SandboxUnavailable(
                f"Drafts need copy-on-write views, which are not available: the sandbox is {found.level}.",
                hint="Use a recipe without drafts: strategy.changes = direct.",
            )
        try:
            await self._pools.get_pool(profile).start()
        except WorkerGone as error:
            raise SandboxUnavailable(f"The draft cannot be opened: {error}.") from error
        return self._draft_roots.path(profile.draft)

    def is_draft_mounted(self, draft: str) -> bool:
        return self._draft_roots.is_open(draft)

    def is_draft_busy(self, draft: str) -> bool:
        """Whether a program runs in a draft."""
        return self._pools.is_draft_busy(draft)

    async def close_draft(self, draft: str) -> None:
        """End every program in a draft and unmount it."""
        await self._pools.close_draft(draft)

    async def keep(
        self, surroundings: LongRunningProfile, argv: Sequence[str], environment: Mapping[str, str], folder: str = ""
    ) -> LongRunningProgram:
        """Start a long-running program, such as a server, in `folder` or in its own folder.

        Raises SandboxUnavailable when it may not run or access a path, and CommandFailed when it does not start.
        """
        found = await self._confinement()
        self._check_level(found)
        self._check_home_hidden()
        return await self._program_host.keep(found, surroundings, argv, environment, folder)

    def set_governing_files(self, files: Callable[[], Iterable[Path]]) -> None:
        """Set the files that decide what programs may do. No long-running program may change them or their folders."""
        self._program_host.governing = files

    @property
    def has_networked_programs(self) -> bool:
        """Whether a long-running program has network access now, and so can reach local ports."""
        return self._program_host.with_network > 0

    @property
    def reached_loopback(self) -> bool:
        """Whether a program of a room has reached a port of this machine through the room's proxy."""
        return self._networks.reached_loopback

    async def open_port(self, name: str, room: RoomKey, port: int) -> PortForwarder:
        """Open a port of a room's loopback to the browsers that get a link to it."""
        forwarder = PortForwarder(name, lambda: self._networks.connect(room, port))
        await forwarder.listen()
        return forwarder

    def allow_hosts(self, network: RoomKey, hosts: HostTerms) -> contextlib.AbstractContextManager[None]:
        """Let programs reach these hosts in a network that belongs to no room, until the context ends."""
        return self._networks.allow(network, hosts)

    async def close_workspace(self, workspace: str) -> None:
        """End every helper process that has this folder mounted, so that it can be moved or removed."""
        await self._pools.close_workspace(workspace)

    def list_refused_hosts(self, room: RoomKey, since: int) -> list[str]:
        """The hosts that programs of a room were refused since this time in nanoseconds."""
        return self._networks.list_refused(room, since)

    async def close(self) -> None:
        """End every program and helper process."""
        await self._program_host.close()
        for resident in list(self._residents):
            await resident.kill()
        await self._pools.close()
        self._networks.close()
        self._draft_roots.close()
        if self._scratch is not None:
            await asyncio.to_thread(shutil.rmtree, self._scratch, ignore_errors=True)
            self._scratch = None

    async def _run(
        self, profile: SandboxProfile, program: Program, on_output: OnOutput | None
    ) -> tuple[SandboxResult, int]:
        found = await self._check_profile(profile)
        try:
            try:
                return await self._attempt(found, profile, program, on_output)
            except NotStarted:
                return await self._attempt(found, profile, program, on_output)
        except WorkerGone as error:
            log.warning("the sandbox failed while it ran %s: %s", program.argv[0], error)
            raise CommandFailed(f"The sandbox failed while it ran {program.argv[0]}: {error}.") from error

    async def _attempt(
        self, found: Confinement, profile: SandboxProfile, program: Program, on_output: OnOutput | None
    ) -> tuple[SandboxResult, int]:
        pool = self._pools.get_pool(profile)
        worker = await pool.take(profile.files, _describe_worker(found, profile, program))
        return await self._run_in(found, pool, worker, profile, program, on_output)

    async def _run_in(
        self,
        found: Confinement,
        pool: WorkerPool,
        worker: Worker,
        profile: SandboxProfile,
        program: Program,
        on_output: OnOutput | None,
    ) -> tuple[SandboxResult, int]:
        """Run the program in a worker of this pool, and give the worker back."""
        written = profile.draft or profile.workspace
        disk = (written, self._settings.keep_free_bytes) if profile.files == "write" else None
        folder = f"{found.workspace_path(profile)}/{program.folder}"
        try:
            running = ProgramRun(program, worker, on_output)
            if found.namespaces and profile.room_network:
                opened = self._networks.open_proxy(profile.room_network, program.ask_to_connect, running)
                async with opened as proxy:
                    return await running.run(
                        folder, {**proxy, **program.environment}, found.level, disk, profile.draft_bytes
                    )
            if found.namespaces:
                return await running.run(folder, program.environment, found.level, disk, profile.draft_bytes)
            with self._temporary_folder() as temporary:
                environment = {**temporary, **program.environment}
                return await running.run(folder, environment, found.level, disk, profile.draft_bytes)
        finally:
            pool.give_back(worker)

    async def _confinement(self) -> Confinement:
        async with self._probe_lock:
            if self._known_confinement is None:
                await asyncio.to_thread(self._remove_leftovers)
                self._known_confinement = await find_confinement(self._home, self._settings)
                if self._known_confinement.level.word != "full":
                    log.warning("the sandbox is %s", self._known_confinement.level)
            return self._known_confinement

    async def _check_profile(self, profile: SandboxProfile) -> Confinement:
        """Return the confinement if this profile may run in it."""
        if self._known_confinement is not None and profile in self._checked:
            return self._known_confinement
        found = await self._confinement()
        self._check_level(found)
        if profile.files == "copy" and not found.copies:
            raise SandboxUnavailable(f"Copy-on-write views are not available: the sandbox is {found.level}.")
        self._check_home_hidden(profile.workspace)
        self._checked.add(profile)
        return found

    def _check_home_hidden(self, *places: str) -> None:
        """Raise SandboxUnavailable when programs would see the home folder in one of these places or the system's."""
        for place in (*places, *view.list_system_folders(), view.find_python()[1]):
            if is_beneath(os.path.realpath(self._home), os.path.realpath(place)):
                raise SandboxUnavailable(
                    f"Programs see {place}, which contains Doorward's home folder {self._home}. No program may see it.",
                    hint="Choose another folder with the setting files.workspace, or set DOORWARD_HOME to another.",
                )

    def _check_level(self, found: Confinement) -> None:
        """Raise SandboxUnavailable when the confinement is weaker than the settings require."""
        if found.level.word != "full" and self._settings.required:
            raise SandboxUnavailable(
                f"The setting sandbox.required allows only a full sandbox, and this one is {found.level}.",
                hint=found.level.hint,
            )
        if found.level.word == "off" and not self._settings.allow_unconfined:
            raise SandboxUnavailable(
                f"This machine cannot confine programs, so none is run: {found.level}.",
                hint=found.level.hint or "To run programs with resource limits alone, set sandbox.allow_unconfined.",
            )

    async def _start_zygote(self, profile: SandboxProfile) -> Zygote:
        found = await self._confinement()
        try:
            check_readable_folders(self._settings.readable, self._home)  # a symlink may lead elsewhere by now
        except Unusable as error:
            raise SandboxUnavailable(error.message, hint=error.hint) from error
        zygote = await self._start_confined(found, profile)
        if profile.draft:
            self._draft_roots.put(profile.draft, zygote.root)
            before = zygote.on_close

            def forget() -> None:
                self._draft_roots.clear(profile.draft)
                before()

            zygote.on_close = forget
        return zygote

    async def _start_confined(self, found: Confinement, profile: SandboxProfile) -> Zygote:
        toolchains = self.find_toolchains(profile) if profile.name == "build" else None
        scratch = Path() if found.namespaces else self._scratch_folder()
        if not found.namespaces or profile.room_network is None:
            return await found.start_zygote(profile, self._settings, scratch, toolchains)
        network, release = await self._networks.acquire(found.bwrap, profile.room_network)
        try:
            zygote = await found.start_zygote(profile, self._settings, scratch, toolchains, network)
        except BaseException:
            release()
            raise
        zygote.on_close = release
        return zygote

    def find_toolchains(self, profile: SandboxProfile) -> Toolchains:
        """The toolchains that build programs with this profile can use."""
        network = profile.network and not profile.draft  # in a draft their caches are writable
        return find_toolchains(self._home, profile.workspace, network=network)

    @contextlib.contextmanager
    def _temporary_folder(self) -> Iterator[dict[str, str]]:
        """A temporary folder for a program without a /tmp of its own, removed afterwards."""
        with tempfile.TemporaryDirectory(dir=self._scratch_folder(), ignore_cleanup_errors=True) as folder:
            yield {"HOME": folder, "TMPDIR": folder}

    def _remove_leftovers(self) -> None:
        """Remove temporary folders of a Doorward that was killed. Only one at a time uses the home folder."""
        for prefix in (_SCRATCH, PROBE):
            for left in self._home.glob(f"{prefix}*"):
                if left != self._scratch:
                    shutil.rmtree(left, ignore_errors=True)

    def _scratch_folder(self) -> Path:
        if self._scratch is None:
            self._scratch = Path(tempfile.mkdtemp(prefix=_SCRATCH, dir=self._home))
        return self._scratch


def _describe_worker(found: Confinement, profile: SandboxProfile, program: Program) -> dict[str, Any]:
    """The setup of one worker, besides that of its zygote. All programs of a draft share a zygote, not their limits."""
    setup = found.describe_limits(profile) if profile.draft else {}
    return {**setup, "read_only": program.read_only} if program.read_only and found.namespaces else setup
