"""One timer for all work: each piece is stopped at its own time, and one that ends in time is left alone."""

from __future__ import annotations

import asyncio

import pytest

from doorward.gate.deadlines import Deadlines, TimeLimit


async def work(deadlines: Deadlines, seconds: float, needs: asyncio.Event) -> str:
    task = asyncio.current_task()
    assert task is not None
    try:
        with TimeLimit(deadlines, task, seconds):
            await needs.wait()
    except TimeoutError:
        return "stopped"
    except asyncio.CancelledError:
        return "cancelled"
    return "done"


async def test_the_shorter_time_is_over_first_whichever_began_first():
    deadlines, never, now = Deadlines(), asyncio.Event(), asyncio.Event()
    long = asyncio.create_task(work(deadlines, 3_600, never))
    short = asyncio.create_task(work(deadlines, 0.01, never))
    quick = asyncio.create_task(work(deadlines, 0.01, now))
    await asyncio.sleep(0)
    now.set()
    assert await quick == "done"
    assert await short == "stopped"
    assert not long.done()
    assert await asyncio.create_task(work(deadlines, 0.01, never)) == "stopped"
    long.cancel()
    assert await long == "cancelled"


async def test_a_timer_that_was_set_for_work_that_is_done_does_not_stop_what_comes_later():
    deadlines, never, now = Deadlines(), asyncio.Event(), asyncio.Event()
    now.set()
    assert await asyncio.create_task(work(deadlines, 0.01, now)) == "done"
    later = asyncio.create_task(work(deadlines, 0.05, never))
    assert await later == "stopped"


async def test_whoever_is_cancelled_at_the_moment_its_time_is_over_is_cancelled():
    deadlines, never = Deadlines(), asyncio.Event()
    task = asyncio.create_task(work(deadlines, 3_600, never))
    await asyncio.sleep(0)
    (limit,) = deadlines._limits
    task.cancel()
    limit.expire()
    assert await task == "cancelled"
    assert task.cancelling() == 1


@pytest.mark.parametrize("error", [ValueError, KeyError])
async def test_what_goes_wrong_by_itself_is_no_matter_of_time(error: type[Exception]):
    task = asyncio.current_task()
    assert task is not None
    deadlines = Deadlines()
    with pytest.raises(error), TimeLimit(deadlines, task, 3_600):
        raise error
    assert deadlines._limits == set()


async def test_work_is_not_stopped_while_its_time_is_paused_and_has_the_rest_of_it_afterwards():
    deadlines, never = Deadlines(), asyncio.Event()
    paused = asyncio.create_task(work(deadlines, 0.05, never))
    await asyncio.sleep(0)
    (limit,) = deadlines._limits
    limit.pause()
    limit.pause()
    limit.resume()
    assert await asyncio.create_task(work(deadlines, 0.1, never)) == "stopped"
    assert not paused.done()
    limit.resume()
    assert await paused == "stopped"
    limit.pause()
    limit.resume()
    assert not deadlines._limits
