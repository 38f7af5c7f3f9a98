"""Waiting for personas without guessing how long they take: nobody but a test ever needs to."""

from __future__ import annotations

import asyncio

from doorward.agents.personas.dispatcher import PersonaDispatcher


async def settled(company: PersonaDispatcher) -> None:
    """Wait until no persona has anything to do."""
    while company._tasks or company._workers:
        tasks = [one.task for one in company._workers.values() if one.task is not None]
        await asyncio.wait([*company._tasks, *tasks])


async def heard(company: PersonaDispatcher) -> None:
    """Wait until every message has reached the persona that answers it."""
    while company._tasks:
        await asyncio.wait(list(company._tasks))


async def time_told(company: PersonaDispatcher) -> None:
    """See what has expired of all that waits, as the timer does when its hour comes."""
    await company._pending_calls.check_all()
