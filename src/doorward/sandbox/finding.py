"""Detects how well this machine can confine programs, by running a probe that tries to escape."""

from __future__ import annotations

import json
import os
import socket
import tempfile
from pathlib import Path
from typing import Self

from doorward.sandbox import bubblewrap, view
from doorward.sandbox.capture import Capture
from doorward.sandbox.confinement import Confinement
from doorward.sandbox.inside.messages import encoded
from doorward.sandbox.level import Level, Word
from doorward.sandbox.profile import Profile
from doorward.sandbox.worker import Worker, WorkerGone
from doorward.sandbox.zygote import Zygote
from doorward.settings import Sandbox as Settings

_PROBE = "import sys; sys.path.insert(0, sys.argv[1]); from inside import probe; probe.main(sys.argv[2])"

_VITAL = frozenset(("reading outside", "writing outside", "writing the system", "writing the workspace", "the network"))
"""When one of these is not blocked, programs count as not confined at all."""


_SEEN_WITHOUT_NAMESPACES = (
    "programs can see names and sizes of files outside, and change priorities of the account's other processes"
)


async def find(home: Path, settings: Settings) -> Confinement:
    """Find the strongest confinement that works here, and what it lacks."""
    bwrap = bubblewrap.find()
    why, hint = "no namespaces (bubblewrap is not installed)", bubblewrap.HOW_TO_INSTALL
    if bwrap is not None:
        try:
            return await _tried(bwrap, home, settings)
        except WorkerGone as error:
            why, hint = f"no namespaces ({error})", ""
    try:
        found = await _tried("", home, settings)
    except WorkerGone as error:
        return Confinement(Level("off", (why, f"helpers do not start ({error})"), hint), "")
    word = "degraded" if found.level.word == "full" else found.level.word
    lacks = [why, _SEEN_WITHOUT_NAMESPACES, *found.level.missing]
    if os.geteuid() == 0:
        lacks.append("processes of root are not counted")
    return Confinement(Level(word, tuple(lacks), hint), "")


async def _tried(bwrap: str, home: Path, settings: Settings) -> Confinement:
    """Probe the confinement with this bubblewrap, or without one when empty."""
    attempt = _Attempt(Confinement(Level("full"), bwrap), settings)
    findings = await attempt.findings(home)
    lacks = [f"{name} not blocked" for name in findings]
    if attempt.no_copies:
        lacks.append(f"no copy-on-write views ({attempt.no_copies})")
    word: Word = "off" if _VITAL & set(findings) else "degraded" if lacks else "full"
    return Confinement(Level(word, tuple(lacks)), bwrap, copies=not attempt.no_copies)


class _Attempt:
    """One run of the probe, and the targets outside that it must not reach."""

    def __init__(self, confinement: Confinement, settings: Settings) -> None:
        self._confinement = confinement
        self._settings = settings
        self.no_copies = ""
        """Why copy-on-write views are not available; empty when they are."""

    async def findings(self, home: Path) -> list[str]:
        with tempfile.TemporaryDirectory(prefix="probe-", dir=home) as folder, _Listeners() as outside:
            workspace, scratch, canary = (Path(folder, name) for name in ("workspace", "scratch", "canary"))
            workspace.mkdir()
            scratch.mkdir()
            canary.write_bytes(b"canary")
            profile = Profile(str(workspace))
            zygote = await self._confinement.zygote(profile, self._settings, scratch)
            try:
                worker = await zygote.worker("read")
                try:
                    findings = await self._run(worker, profile, scratch, canary, outside.port)
                finally:
                    worker.close()
                if not zygote.landlock:
                    findings.append("files (Landlock)")
                self.no_copies = await self._why_no_copies(zygote)
            finally:
                await zygote.close()
            return [*findings, *(["the network"] if outside.heard() else [])]

    async def _why_no_copies(self, zygote: Zygote) -> str:
        if not self._confinement.namespaces:
            return "they need namespaces"
        try:
            (await zygote.worker("copy")).close()
        except WorkerGone as error:
            return str(error)
        return ""

    async def _run(self, worker: Worker, profile: Profile, scratch: Path, canary: Path, port: int) -> list[str]:
        within = self._confinement.namespaces
        temporary = "/tmp" if within else str(scratch)
        given = {
            "canary": str(canary),
            "workspace": self._confinement.workspace(profile),
            "temporary": temporary,
            "port": port,
            "process": os.getpid(),
            "memory": profile.limits.memory_bytes,
        }
        python, _ = view.python()
        code = view.INSIDE if within else str(Path(view.inside()).parent)
        output, errors = Capture("stdout", 65_536, None), Capture("stderr", 65_536, None)
        try:
            message = {
                "argv": [python, "-I", "-S", "-c", _PROBE, code, json.dumps(given)],
                "environment": {},
                "folder": "/",
            }
            worker.begin(encoded(message), (output.writes, errors.writes))
            answer = await worker.ended()
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

    def heard(self) -> bool:
        try:
            return bool(self._udp.recv(64))
        except BlockingIOError:
            return False

    def __exit__(self, *_: object) -> None:
        self._tcp.close()
        self._udp.close()
