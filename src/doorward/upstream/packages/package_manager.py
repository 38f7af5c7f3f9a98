"""Runs pip and npm in the sandbox: they write one folder, and reach only the hosts of the package registries."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from doorward.config.settings import Settings
from doorward.core import redact, strictjson
from doorward.core.errors import CommandFailed, DoorwardError, NotFound, SandboxUnavailable, TimedOut, Unreachable
from doorward.sandbox.draft_size import DraftSize, measure_bytes
from doorward.sandbox.program import Program, ProgramLimits, SandboxProfile, SandboxResult
from doorward.sandbox.sandbox import Sandbox
from doorward.upstream.packages.addresses import PackageAddresses

_LONGEST_COMPLAINT = 400
_UNREACHABLE = re.compile(
    r"ENOTFOUND|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EAI_AGAIN|ProxyError|NewConnectionError|ConnectTimeout|ReadTimeout"
    r"|Tunnel connection failed|Max retries exceeded|Bad Gateway|\bE50\d\b"
)
_DIRECT = {"no_proxy": "", "NO_PROXY": ""}
"""The proxy of the sandbox is the only way out, also to a registry on this machine."""

_MAX_JSON = 50_000_000


class PackageManager:
    """The sandbox for the installation of one server."""

    def __init__(self, sandbox: Sandbox, settings: Settings, addresses: PackageAddresses, id: str) -> None:
        self._sandbox = sandbox
        self._settings = settings
        self._limits = settings.upstream.packages
        self.addresses = addresses
        self._network = ("", f"mcp/install {id}")

    async def check_sandbox(self) -> None:
        if not await self._sandbox.isolates_networks():
            raise SandboxUnavailable(
                "Packages are installed only where the sandbox can restrict the network, and this one cannot:"
                f" it is {await self._sandbox.level()}.",
                hint="Install bubblewrap, or install the package yourself and add its program with mcp/add.",
            )

    async def run(self, folder: Path, argv: tuple[str, ...], environment: Mapping[str, str] | None = None) -> str:
        """Run a program to its end in this folder, and return its output. Raises the error that explains a failure."""
        build = self._settings.sandbox.build
        limits = ProgramLimits(
            build.cpu_seconds,
            build.memory_bytes,
            build.processes,
            build.file_bytes,
            build.descriptors,
            build.scratch_bytes,
        )
        profile = SandboxProfile(
            str(folder), "write", limits=limits, name="build", room=self._network, draft_bytes=self._limits.max_bytes
        )
        program = Program(
            argv=argv,
            environment={**_DIRECT, **(environment or {})},
            seconds=self._limits.install_seconds,
            draft_size=DraftSize(str(folder), ("",)),
        )
        began = time.time_ns()
        with self._sandbox.allow_hosts(self._network, self.addresses.hosts):
            try:
                ended = await self._sandbox.run(profile, program)
                refused = self._sandbox.list_refused_hosts(self._network, began)
            finally:
                await self._sandbox.close_workspace(str(folder))
        if ended.stopped or ended.exit_code != 0:
            raise self._explain(argv[0], ended, refused)
        if measure_bytes(str(folder)) > self._limits.max_bytes:
            raise self._too_large()
        return ended.stdout.decode("utf-8", "replace")

    def _explain(self, name: str, ended: SandboxResult, refused: list[str]) -> DoorwardError:
        if ended.stopped == "time":
            seconds = self._limits.install_seconds
            return TimedOut(
                f"{name} did not end within {seconds:g} seconds (setting upstream.packages.install_seconds)."
                " Nothing was installed."
            )
        if ended.stopped == "draft":
            return self._too_large()
        if ended.stopped == "disk":
            return CommandFailed("The disk is almost full. Nothing was installed.")
        if ended.stopped:
            return CommandFailed(f"{name} used too much: {ended.stopped}. Nothing was installed.")
        said = (ended.stderr or ended.stdout).decode("utf-8", "replace")
        if refused:
            hosts = ", ".join(dict.fromkeys(one.partition(": ")[0] for one in refused))
            reasons = [one.partition(": ")[2] for one in refused if "recipe of this room" not in one]
            return Unreachable(
                " ".join((f"The package manager may not reach {hosts}; allowed: {self.addresses.hosts}.", *reasons)),
                hint="A person can add the host to upstream.packages.hosts.",
            )
        if "No space left on device" in said or "ENOSPC" in said:
            return CommandFailed("There is no space left for the packages. Nothing was installed.")
        return PackageError(said)

    def _too_large(self) -> CommandFailed:
        return CommandFailed(
            f"The packages take more than {self._limits.max_bytes} bytes (setting upstream.packages.max_bytes)."
            " Nothing was installed."
        )


class PackageError(CommandFailed):
    """A package manager failed; `said` is what it wrote."""

    def __init__(self, said: str) -> None:
        self.said = said
        lines = [line.strip() for line in said.splitlines() if line.strip()]
        last = redact.text(" / ".join(lines[-3:]))[-_LONGEST_COMPLAINT:]
        super().__init__(f"The package manager failed: {last or 'it said nothing'}. Nothing was installed.")

    def explain(self, what: str, registry: str, missing: re.Pattern[str]) -> DoorwardError:
        """This error, or a better one for a registry that cannot be reached or a package that does not exist."""
        if _UNREACHABLE.search(self.said):
            return Unreachable(f"The registry {registry} cannot be reached. Nothing was installed.")
        if missing.search(self.said):
            return NotFound(f"There is no package {what} on {registry} that can be installed here.")
        return self


def read_json(file: Path) -> dict[str, Any]:
    """Read a JSON file of a package or of a package manager. Raises CommandFailed."""
    try:
        found = strictjson.loads(file.read_bytes(), max_bytes=_MAX_JSON)
    except (OSError, strictjson.NotJson) as error:
        raise CommandFailed(f"{file.name} of the installation cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise CommandFailed(f"{file.name} of the installation holds no JSON object.")
    return found
