"""`doorward bench`: a short self-check of speed and sandbox on this machine."""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Awaitable
from pathlib import Path

import click
import msgspec

from doorward.app import House, open_house
from doorward.cli.local_client import json_option
from doorward.config.home import Home
from doorward.config.settings import LimitSettings, Settings
from doorward.core.model import Credential, Request
from doorward.rooms.people import LOCAL
from doorward.sandbox.program import Program, SandboxProfile

_CALLS = 2_000
_CALLERS = 16
_PROGRAMS = 40
_TRUE = "/usr/bin/true"


@click.command("bench")
@click.option("--full", is_flag=True, hidden=True)
@json_option
def command(full: bool, as_json: bool) -> None:
    """Check Doorward's speed and sandbox on this machine, in a few seconds.

    Uses a temporary home folder; yours is not touched.
    """
    if full:
        raise click.ClickException("The full measurements are in the source repository: run `make bench` there.")
    with tempfile.TemporaryDirectory(prefix="doorward-bench-") as folder:
        found = asyncio.run(_measure(Path(folder)))
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
        return
    click.echo(f"sandbox                         {found['sandbox']}")
    click.echo(f"recorded calls                  {found['calls_per_second']:>8,.0f} /s")
    click.echo(f"CPU of one call                 {found['call_cpu_us']:>8,.0f} µs")
    click.echo(f"program in the sandbox          {found['program_ms']:>8.2f} ms")
    click.echo(f"program without a sandbox       {found['raw_program_ms']:>8.2f} ms")


async def _measure(folder: Path) -> dict[str, float | str]:
    home = Home(folder / "home")
    home.create()
    limits = LimitSettings(running=_CALLERS, queued=_CALLS, per_minute=1_000_000_000)
    async with open_house(home, changes=Settings(limits=limits)) as house:
        wall, cpu = time.perf_counter(), time.process_time()
        await asyncio.gather(*(_call_repeatedly(house, _CALLS // _CALLERS) for _ in range(_CALLERS)))
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        sandbox, workspace = house.services.sandbox, home.workspace(house.settings.files.workspace, LOCAL, LOCAL)
        profile, program = SandboxProfile(str(workspace.absolute())), Program(argv=(_TRUE,))
        await sandbox.run(profile, program)
        return {
            "sandbox": str(await sandbox.level()),
            "calls_per_second": _CALLS / wall,
            "call_cpu_us": cpu / _CALLS * 1e6,
            "program_ms": statistics.median([await _timed(sandbox.run(profile, program)) for _ in range(_PROGRAMS)]),
            "raw_program_ms": statistics.median([_spawn_unconfined() for _ in range(_PROGRAMS)]),
        }


async def _call_repeatedly(house: House, times: int) -> None:
    for _ in range(times):
        outcome = await house.gate.handle(Request("room/list", Credential(owner=True), "bench", params={}))
        if outcome.status != "done":
            raise click.ClickException(f"room/list was {outcome.status}: {outcome.message}")


async def _timed(work: Awaitable[object]) -> float:
    begun = time.perf_counter()
    await work
    return (time.perf_counter() - begun) * 1e3


def _spawn_unconfined() -> float:
    begun = time.perf_counter()
    os.waitpid(os.posix_spawn(_TRUE, [_TRUE], {}), 0)
    return (time.perf_counter() - begun) * 1e3
