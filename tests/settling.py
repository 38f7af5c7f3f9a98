"""Waiting for personas without guessing how long they take: nobody but a test ever needs to."""

from __future__ import annotations

import asyncio

from doorward.agents.company import Company


async def settled(company: Company) -> None:
    """Wait until no persona has anything to do."""
    while company._considering or company._workers:
        tasks = [one.task for one in company._workers.values() if one.task is not None]
        await asyncio.wait([*company._considering, *tasks])


async def time_told(company: Company) -> None:
    """See what has expired of all that waits, as the timer does when its hour comes."""
    await company._waiting.look()
