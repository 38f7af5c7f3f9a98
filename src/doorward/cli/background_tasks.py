"""Background tasks of a running Doorward: file watchers, personas, upstream servers, ledger maintenance."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator

import click

from doorward.agents.approved_merges import run_approved_merges
from doorward.agents.personas.dispatcher import run_personas
from doorward.app import House
from doorward.commands.expired_data import delete_expired_periodically
from doorward.core.errors import LedgerUnavailable

log = logging.getLogger(__name__)

_RECORD_INTERVAL = 5.0


@contextlib.asynccontextmanager
async def run_background_tasks(house: House, head_start: float = 0.0) -> AsyncIterator[None]:
    """Run the background tasks: watch edited files, answer as personas, maintain the ledger, delete old data.

    `head_start` delays the costly ones by that many seconds, so that the first answers are fast.
    """
    services = house.services
    chores = (
        services.recipes.watch(),
        services.personas.watch(),
        services.catalogue.watch(),
        services.servers.watch(),
        house.limits.watch(),
        _connect_upstreams(house, head_start),
        house.ledger_maintainer.watch(),
        delete_expired_periodically(house.services),
        _record_due(house),
        _check_sandbox(house, head_start),
    )
    background = [asyncio.create_task(chore) for chore in chores]
    try:
        async with (
            run_personas(house.gate, services, house.models, house.effort),
            run_approved_merges(house.gate, services),
        ):
            yield
    finally:
        for task in background:
            task.cancel()
        await asyncio.gather(*background, return_exceptions=True)


async def _record_due(house: House) -> None:
    """Record expired approvals and counts of refusals soon after their time is over, until cancelled."""
    while True:
        await asyncio.sleep(_RECORD_INTERVAL)
        await house.anonymous_refusals.flush_due()
        try:
            await house.services.approvals.expire_due()
        except LedgerUnavailable as error:
            log.warning("expired approvals could not be recorded: %s", error)


async def _connect_upstreams(house: House, head_start: float) -> None:
    """Start connecting to upstream servers, without waiting for them."""
    await asyncio.sleep(head_start)
    house.services.upstreams.start()


async def _check_sandbox(house: House, head_start: float) -> None:
    """Test the sandbox early, so that its limits are known before a program runs in it."""
    await asyncio.sleep(head_start)
    level = await house.services.sandbox.level()
    if level.word != "full":
        click.echo(click.style(f"The sandbox is {level}. {level.hint}", fg="yellow", bold=True), err=True)
        if house.settings.sandbox.required:
            click.echo("Programs are refused, because the setting sandbox.required is on.", err=True)
