"""Keeping a house open for long: its chores, beside whatever it serves."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import click

from doorward.agents.company import at_work
from doorward.app import House, keep_tidy


@contextlib.asynccontextmanager
async def kept(house: House, head_start: float = 0.0) -> AsyncIterator[None]:
    """While this lasts, edited files take effect, personas answer, the ledger is looked after, the old is forgotten.

    `head_start` are seconds in which somebody waits for a first answer, and nothing costly begins.
    """
    services = house.services
    chores = (
        services.recipes.watch(),
        services.personas.watch(),
        services.catalogue.watch(),
        services.servers.watch(),
        _connect(house, head_start),
        house.keeper.watch(),
        keep_tidy(house),
        _say_how_programs_are_held(house, head_start),
    )
    background = [asyncio.create_task(chore) for chore in chores]
    try:
        async with at_work(house.gate, services, house.models):
            yield
    finally:
        for task in background:
            task.cancel()
        await asyncio.gather(*background, return_exceptions=True)


async def _connect(house: House, head_start: float) -> None:
    """Connect to upstream servers, of which none is waited for."""
    await asyncio.sleep(head_start)
    house.services.upstreams.start()


async def _say_how_programs_are_held(house: House, head_start: float) -> None:
    """Try the sandbox out soon, so that what it lacks is known before anything runs in it."""
    await asyncio.sleep(head_start)
    level = await house.services.sandbox.level()
    if level.word != "full":
        click.echo(click.style(f"The sandbox is {level}. {level.hint}", fg="yellow", bold=True), err=True)
        if house.settings.sandbox.required:
            click.echo("Programs are refused, since the setting sandbox.required is on.", err=True)
