"""Kept programs in tests: a sandbox with folders around it, and a way to hear what a program says."""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any

from doorward.config.settings import SandboxSettings as SandboxSettings
from doorward.config.settings import Settings
from doorward.sandbox.long_running import LongRunningEnd, LongRunningProfile, LongRunningProgram
from doorward.sandbox.sandbox import Sandbox
from waiting import PATIENCE

_PIECE = 65_536


def kept_profile(folder: Path, **more: Any) -> LongRunningProfile:
    """A folder of its own in Doorward's home, and one each to read and to change."""
    given: dict[str, Any] = {"read": (str(folder / "read"),), "write": (str(folder / "write"),), **more}
    return LongRunningProfile(id="keeper", home=str(folder / "home" / "servers" / "keeper"), **given)


async def heard(descriptor: int, until: bytes = b"") -> bytes:
    """What is said up to a piece that ends like this, or to the end."""
    loop = asyncio.get_running_loop()
    said = bytearray()
    async with asyncio.timeout(PATIENCE):
        while True:
            ready = loop.create_future()
            loop.add_reader(descriptor, ready.set_result, None)
            try:
                await ready
            finally:
                loop.remove_reader(descriptor)
            piece = os.read(descriptor, _PIECE)
            said += piece
            if not piece or (until and said.endswith(until)):
                return bytes(said)


def alive(process: int) -> bool:
    """Whether it runs; one that only waits to be buried does not."""
    try:
        return bool(Path(f"/proc/{process}/cmdline").read_bytes())
    except OSError:
        return False


@contextlib.contextmanager
def own_place() -> Iterator[Path]:
    """A folder that lies neither in /tmp nor in /dev/shm, which kept programs have of their own."""
    with tempfile.TemporaryDirectory(prefix="doorward-kept-", dir="/var/tmp") as folder:
        yield Path(folder)


class Place:
    """A sandbox, and folders around it that hold secrets."""

    def __init__(self, sandbox: Sandbox, folder: Path) -> None:
        self.sandbox = sandbox
        self.folder = folder
        self.home = folder / "home"

    async def keep(
        self, *argv: str, environment: Mapping[str, str] | None = None, start_in: str = "", **profile: Any
    ) -> LongRunningProgram:
        return await self.sandbox.keep(kept_profile(self.folder, **profile), argv, environment or {}, start_in)

    async def bash(self, script: str, *words: str, **more: Any) -> LongRunningProgram:
        return await self.keep("bash", "-c", script, "bash", *words, **more)

    async def said(self, *argv: str, **more: Any) -> str:
        """All that a program says on both its streams before it ends by itself."""
        kept = await self.keep(*argv, **more)
        try:
            said = await heard(kept.stdout) + await heard(kept.stderr)
            await asyncio.wait_for(kept.wait(), PATIENCE)
        finally:
            await kept.shut_down(0)
        return said.decode(errors="replace")

    async def bash_says(self, script: str, *words: str, **more: Any) -> str:
        return await self.said("bash", "-c", script, "bash", *words, **more)


@contextlib.asynccontextmanager
async def opened_place(folder: Path, **settings: Any) -> AsyncIterator[Place]:
    for name in ("home", "read", "write"):
        (folder / name).mkdir(exist_ok=True)
    for file in (folder / "home" / "secret.key", folder / "secret.txt", folder / "read" / "given.txt"):
        file.write_text("given" if file.name == "given.txt" else "secret")
    sandbox = Sandbox(folder / "home", Settings(sandbox=SandboxSettings(**settings)))
    try:
        yield Place(sandbox, folder)
    finally:
        await sandbox.close()


@contextlib.asynccontextmanager
async def ending(kept: LongRunningProgram) -> AsyncIterator[LongRunningProgram]:
    try:
        yield kept
    finally:
        await kept.shut_down(0)


async def ended(kept: LongRunningProgram) -> LongRunningEnd:
    return await asyncio.wait_for(kept.wait(), PATIENCE)
