"""Waiting for personas without guessing how long they take: nobody but a test ever needs to."""

from __future__ import annotations

import asyncio

from doorward.agents.personas.dispatcher import PersonaDispatcher


async def settled(company: PersonaDispatcher) -> None:
    """Wait until no persona has anything to do."""
    agents, changes = company._effort._agents, company._effort._changes
    while company._tasks or company._workers or changes or any(one._tasks or one._pending for one in agents.values()):
        tasks = [*changes, *(one.task for one in company._workers.values() if one.task is not None)]
        tasks += [task for one in agents.values() for task in one._tasks]
        if company._tasks or tasks:
            await asyncio.wait([*company._tasks, *tasks])
        else:
            await asyncio.sleep(0)


async def heard(company: PersonaDispatcher) -> None:
    """Wait until every message has reached the persona that answers it."""
    while company._tasks:
        await asyncio.wait(list(company._tasks))


async def time_told(company: PersonaDispatcher) -> None:
    """See what has expired of all that waits, as the timer does when its hour comes."""
    await company._pending_calls.check_all()
