"""`doorward up`: the server on this machine."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import sys

import click

from doorward.app import House, keep_tidy, open_house
from doorward.doors.http import Server
from doorward.doors.serve import listen_private, listen_public, serve
from doorward.home import Home, Lock
from doorward.settings import home_folder, load


@click.command("up")
@click.option("--host", default=None, help="The address to listen on; by default that of the settings.")
@click.option("--port", type=click.IntRange(0, 65_535), default=None, help="The port; 0 takes any free one.")
def command(host: str | None, port: int | None) -> None:
    """Start Doorward on this machine, and say where to look. Ctrl-C stops it in good order."""
    home = Home(home_folder())
    home.make()
    with Lock(home) as lock:
        if not lock.take():
            raise lock.busy()
        configured = load(home.settings).server
        asyncio.run(_up(home, host or configured.host, configured.port if port is None else port))


async def _up(home: Home, host: str, port: int) -> None:
    stopping = asyncio.Event()
    async with open_house(home, stop=stopping.set) as house:
        with (
            contextlib.closing(listen_public(host, port)) as public,
            contextlib.closing(listen_private(home.socket)) as private,
        ):
            services = house.services
            chores = (
                services.recipes.watch(),
                services.catalogue.watch(),
                house.keeper.watch(),
                keep_tidy(house),
                _say_how_programs_are_held(house),
            )
            background = [asyncio.create_task(chore) for chore in chores]
            try:
                server = Server(house.gate, house.services)
                await serve(server, public, private, stopping, lambda: _welcome(house, *public.getsockname()[:2]))
            finally:
                home.socket.unlink(missing_ok=True)
                for task in background:
                    task.cancel()
                await asyncio.gather(*background, return_exceptions=True)
    click.echo("Doorward has stopped.")


async def _say_how_programs_are_held(house: House) -> None:
    """Try the sandbox out at once, so that what it lacks is known before anything runs in it."""
    level = await house.services.sandbox.level()
    if level.word != "full":
        click.echo(click.style(f"The sandbox is {level}. {level.hint}", fg="yellow", bold=True), err=True)
        if house.settings.sandbox.required:
            click.echo("Programs are refused, since the setting sandbox.required is on.", err=True)


def _welcome(house: House, host: str, port: int) -> None:
    where = f"[{host}]" if ":" in host else host
    program = "doorward" if shutil.which("doorward") else sys.argv[0]
    lines = [*(f"  {line}" for line in house.made), ""] if house.made else []
    if house.made:
        lines.insert(0, "Made a new home for Doorward:")
    if house.recovered:
        lines.append(f"{house.recovered} calls were interrupted when Doorward last stopped; the ledger says which.")
    lines += [
        f"Doorward is up: http://{where}:{port}",
        f"  health   http://{where}:{port}/health",
        f"  metrics  http://{where}:{port}/metrics",
        f"  home     {house.home.path}",
        "",
        "In another terminal:",
        f"  {program} run data/list --collection=rooms",
        f"  {program} run shell/ls -la",
        f"  {program} explain --room general file/write",
        f"  {program} audit tail",
        "",
        "Ctrl-C stops it.",
    ]
    for problem in house.services.recipes.problems.values():
        lines.append(f"A recipe is not valid, its last good version is in force: {problem}")
    click.echo("\n".join(lines))
