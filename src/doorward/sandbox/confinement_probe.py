"""Detects how well this machine can confine programs, by running a probe that tries to escape."""

from __future__ import annotations

import json
import os
import socket
import tempfile
from pathlib import Path
from typing import Self

from doorward.config.settings import SandboxSettings as Settings
from doorward.sandbox import bubblewrap, view
from doorward.sandbox.confinement import Confinement, ConfinementLevel, ConfinementWord
from doorward.sandbox.inside.messages import encode
from doorward.sandbox.program import SandboxProfile
from doorward.sandbox.program_run import OutputCapture
from doorward.sandbox.worker import Worker, WorkerGone
from doorward.sandbox.zygote import Zygote

_PROBE = "import sys; sys.path.insert(0, sys.argv[1]); from inside import probe; probe.main(sys.argv[2])"

PROBE = "probe-"
"""How the names of the probe's folders begin, in the home folder."""

_REQUIRED = frozenset(
    ("reading outside", "writing outside", "writing the system", "writing the workspace", "the network")
)
"""When one of these is not blocked, programs count as not confined at all."""


_WITHOUT_NAMESPACES = (
    "programs can see names and sizes of files outside",
    "memory is limited for each process only, also in the profile build",
)


async def find_confinement(home: Path, settings: Settings) -> Confinement:
    """Find the strongest confinement that works here, and what it lacks."""
    bwrap = bubblewrap.find_bwrap()
    why, hint = "no namespaces (bubblewrap is not installed)", bubblewrap.INSTALL_HINT
    if bwrap is not None:
        try:
            return await _probe_confinement(bwrap, home, settings)
        except WorkerGone as error:
            why, hint = f"no namespaces ({error})", ""
    try:
        found = await _probe_confinement("", home, settings)
    except WorkerGone as error:
        return Confinement(ConfinementLevel("off", (why, f"helpers do not start ({error})"), hint), "")
    word = "degraded" if found.level.word == "full" else found.level.word
    lacks = [why, *_WITHOUT_NAMESPACES, *found.level.missing]
    if os.geteuid() == 0:
        lacks.append("processes of root are not counted")
    return Confinement(ConfinementLevel(word, tuple(lacks), hint), "")


async def _probe_confinement(bwrap: str, home: Path, settings: Settings) -> Confinement:
    """Probe the confinement with this bubblewrap, or without one when empty."""
    attempt = _ProbeRun(Confinement(ConfinementLevel("full"), bwrap), settings)
    findings = await attempt.run(home)
    lacks = [f"{name} not blocked" for name in findings]
    if attempt.no_copies:
        lacks.append(f"no copy-on-write views ({attempt.no_copies})")
    word: ConfinementWord = "off" if _REQUIRED & set(findings) else "degraded" if lacks else "full"
    return Confinement(ConfinementLevel(word, tuple(lacks)), bwrap, copies=not attempt.no_copies)


class _ProbeRun:
    """One run of the probe, and the targets outside that it must not reach."""

    def __init__(self, confinement: Confinement, settings: Settings) -> None:
        self._confinement = confinement
        self._settings = settings
        self.no_copies = ""
        """Why copy-on-write views are not available; empty when they are."""

    async def run(self, home: Path) -> list[str]:
        with tempfile.TemporaryDirectory(prefix=PROBE, dir=home) as folder, _Listeners() as outside:
            workspace, scratch, canary = (Path(folder, name) for name in ("workspace", "scratch", "canary"))
            workspace.mkdir()
            scratch.mkdir()
            canary.write_bytes(b"canary")
            profile = SandboxProfile(str(workspace))
            zygote = await self._confinement.start_zygote(profile, self._settings, scratch)
            try:
                worker = await zygote.fork_worker("read")
                try:
                    findings = await self._run_probe(worker, profile, scratch, canary, outside.port)
                finally:
                    worker.close()
                if not zygote.landlock:
                    findings.append("files (Landlock)")
                self.no_copies = await self._why_no_copies(zygote)
            finally:
                await zygote.close()
            return [*findings, *(["the network"] if outside.received() else [])]

    async def _why_no_copies(self, zygote: Zygote) -> str:
        if not self._confinement.namespaces:
            return "they need namespaces"
        try:
            (await zygote.fork_worker("copy")).close()
        except WorkerGone as error:
            return str(error)
        return ""

    async def _run_probe(
        self, worker: Worker, profile: SandboxProfile, scratch: Path, canary: Path, port: int
    ) -> list[str]:
        within = self._confinement.namespaces
        temporary = "/tmp" if within else str(scratch)
        given = {
            "canary": str(canary),
            "workspace": self._confinement.workspace_path(profile),
            "temporary": temporary,
            "port": port,
            "process": os.getpid(),
            "memory": profile.limits.memory_bytes,
        }
        python, _ = view.find_python()
        code = view.HELPER_CODE if within else str(Path(view.helper_code_folder()).parent)
        output, errors = OutputCapture("stdout", 65_536, None), OutputCapture("stderr", 65_536, None)
        try:
            message = {
                "argv": [python, "-I", "-S", "-c", _PROBE, code, json.dumps(given)],
                "environment": {},
                "folder": "/",
            }
            worker.start_program(encode(message), (output.write_end, errors.write_end))
            answer = await worker.wait_ended()
        finally:
            output.close()
            errors.close()
        if answer.get("code") != 0:
            said = errors.kept.decode(errors="replace").strip().splitlines()
            raise WorkerGone(said[-1] if said else f"the probe ended with {answer}")
        return list(json.loads(output.kept))


class _Listeners:
    """A TCP and a UDP port on loopback that the probe must not reach."""

    def __enter__(self) -> Self:
        self._tcp = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._tcp.getsockname()[1])
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._udp.bind(("127.0.0.1", self.port))
        self._udp.setblocking(False)
        return self

    def received(self) -> bool:
        try:
            return bool(self._udp.recv(64))
        except BlockingIOError:
            return False

    def __exit__(self, *_: object) -> None:
        self._tcp.close()
        self._udp.close()
