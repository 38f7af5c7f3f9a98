"""A sandbox of its own for each measure, and the program that does nothing."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from doorward.config.settings import SandboxSettings as SandboxSettings
from doorward.config.settings import Settings
from doorward.sandbox.program import Program, SandboxProfile
from doorward.sandbox.sandbox import Sandbox

TRUE = ("/usr/bin/true",)
_NOTHING = Program(argv=TRUE)

MEASURED = SandboxSettings(allow_unconfined=True)
"""Where nothing can confine a program it is measured all the same, and the table says how well it was confined."""


@contextlib.asynccontextmanager
async def scratch_sandbox(folder: Path) -> AsyncIterator[tuple[Sandbox, SandboxProfile]]:
    """A sandbox without a house, and a workspace to read in it."""
    home, workspace = folder / "home", folder / "workspace"
    for one in (home, workspace):
        one.mkdir(parents=True)
    sandbox = Sandbox(home, Settings(sandbox=MEASURED))
    try:
        yield sandbox, SandboxProfile(str(workspace))
    finally:
        await sandbox.close()


async def run_nothing(sandbox: Sandbox, profile: SandboxProfile) -> None:
    """The program that does nothing, from its start to its end."""
    ended = await sandbox.run(profile, _NOTHING)
    if ended.exit_code != 0:
        raise RuntimeError(f"{TRUE[0]} was to be measured, but it ended with {ended.exit_code}")
