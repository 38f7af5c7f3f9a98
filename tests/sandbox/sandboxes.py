"""A real sandbox with a workspace, for tests in this process, and what there is of it in the system."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from doorward.config.settings import SandboxSettings as SandboxSettings
from doorward.config.settings import Settings
from doorward.sandbox import view
from doorward.sandbox.program import FileAccess, OnOutput, Program, ProgramLimits, SandboxProfile, SandboxResult
from doorward.sandbox.sandbox import Sandbox


class Box:
    """A sandbox and a workspace."""

    def __init__(self, sandbox: Sandbox, workspace: Path) -> None:
        self.sandbox = sandbox
        self.workspace = workspace

    def profile(self, files: FileAccess = "write", **limits: int) -> SandboxProfile:
        return SandboxProfile(str(self.workspace), files, limits=ProgramLimits(**limits))

    async def bash(
        self,
        script: str,
        *words: str,
        files: FileAccess = "write",
        limits: dict[str, int] | None = None,
        on_output: OnOutput | None = None,
        **more: Any,
    ) -> SandboxResult:
        program = Program(argv=("bash", "-c", script, "bash", *words), **more)
        return await self.sandbox.run(self.profile(files, **(limits or {})), program, on_output)

    async def python(self, code: str, *, on_output: OnOutput | None = None, **more: Any) -> SandboxResult:
        python, _ = view.find_python()
        return await self.sandbox.run(self.profile(), Program(argv=(python, "-I", "-S", "-c", code), **more), on_output)


@contextlib.asynccontextmanager
async def opened_box(folder: Path, **settings: Any) -> AsyncIterator[Box]:
    """A sandbox whose home and workspace are in this folder."""
    home, workspace = folder / "home", folder / "workspace"
    for each in (home, workspace):
        each.mkdir(exist_ok=True)
    sandbox = Sandbox(home, Settings(sandbox=SandboxSettings(**settings)))
    try:
        yield Box(sandbox, workspace)
    finally:
        await sandbox.close()


def processes(marker: str) -> list[int]:
    """The live processes of this machine that have this text among their arguments."""
    return [int(path.parent.name) for path in Path("/proc").glob("[0-9]*/cmdline") if marker.encode() in _read(path)]


def children(process: int) -> list[int]:
    return [int(child) for path in Path(f"/proc/{process}/task").glob("*/children") for child in _read(path).split()]


def descendants(process: int) -> Iterator[int]:
    for child in children(process):
        yield child
        yield from descendants(child)


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
