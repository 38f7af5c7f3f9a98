"""The energy of a sub-agent: two per second of work, each part charged exactly once (R12.1, R12.3)."""

from __future__ import annotations

from typing import Any

import pytest
from sub_agent_house import yard

from doorward.core.errors import LedgerUnavailable
from waiting import until


async def test_two_seconds_of_work_cost_four_and_a_second_poll_nothing(opened: Any) -> None:
    async with yard(opened) as house:
        id = await house.look("a")
        await house.started("a")
        house.driver.clock.advance(2)
        assert house.sub.has_uncollected_energy
        assert await house.sub.collect_energy() == pytest.approx(4)
        assert await house.sub.collect_energy() == 0
        house.driver.clock.advance(0.4)
        house.open("a")
        await house.reached(id, "completed")
        assert await house.sub.collect_energy() == pytest.approx(0.8)
        assert not house.sub.has_uncollected_energy
        done = await house.stored(id)
        assert done.energy == done.collected == pytest.approx(4.8)
        assert house.charged == pytest.approx(4.8)
        house.driver.clock.advance(1_000)
        assert await house.sub.collect_energy() == 0


async def test_the_sum_of_the_parts_is_the_total_of_all_that_work_at_once(opened: Any) -> None:
    async with yard(opened) as house:
        ids = [await house.look(name) for name in "abcd"]
        await house.started("a", "b", "c")
        polls = []
        for seconds in (0.1, 0.37, 2.0, 11.13):
            house.driver.clock.advance(seconds)
            polls.append(await house.sub.collect_energy())
        assert polls == pytest.approx([0.6, 2.22, 12, 66.78])
        house.open(*"abc")
        await house.started("d")
        house.driver.clock.advance(1)
        house.open("d")
        for id in ids:
            await house.reached(id, "completed")
        polls.append(await house.sub.collect_energy())
        total = sum([(await house.stored(id)).energy for id in ids])
        assert sum(polls) == pytest.approx(total)
        assert total == pytest.approx(3 * 2 * 13.6 + 2)
        assert house.charged == pytest.approx(total)


async def test_failed_and_cancelled_work_costs_too(opened: Any) -> None:
    async with yard(opened) as house:
        bad, cancelled = await house.look("bad"), await house.look("a")
        await house.started("bad", "a")
        house.driver.clock.advance(3)
        house.open("bad")
        await house.reached(bad, "failed")
        assert (await house.sub.cancel(cancelled, "")).energy == pytest.approx(6)
        assert await house.sub.collect_energy() == pytest.approx(12)


async def test_energy_that_a_former_process_did_not_charge_is_charged_by_the_next(opened: Any) -> None:
    async with yard(opened) as house:
        done, running = await house.look("a"), await house.look("b")
        await house.started("a", "b")
        house.driver.clock.advance(2)
        house.open("a")
        await house.reached(done, "completed")
        await house.sub.close()
        house.sub = house.make()
        await house.sub.start()
        await until(lambda: house.bench.started.count("b") == 2)
        assert await house.sub.collect_energy() == pytest.approx(8)
        house.driver.clock.advance(1)
        assert await house.sub.collect_energy() == pytest.approx(2)
        assert [(await house.stored(id)).energy for id in (done, running)] == pytest.approx([4, 6])


@pytest.mark.parametrize("charged_before", [True, False], ids=["after the charge", "before the charge"])
async def test_a_charge_that_is_interrupted_is_made_exactly_once(opened: Any, charged_before: bool) -> None:
    async with yard(opened) as house:
        id = await house.look("a")
        await house.started("a")
        house.driver.clock.advance(2)
        charge = house.charge

        async def killed(key: str, amount: float) -> bool:
            if charged_before:
                await charge(key, amount)
            raise LedgerUnavailable("killed here")

        house.sub._charge = killed
        with pytest.raises(LedgerUnavailable):
            await house.sub.collect_energy()
        house.driver.clock.advance(5)
        house.open("a")
        await house.reached(id, "completed")
        house.sub._charge = charge
        await house.sub.collect_energy()
        assert house.charged == pytest.approx(14)
        assert len(house.charges) == 2
        assert (await house.stored(id)).collected == pytest.approx(14)


@pytest.mark.parametrize("charged_before", [True, False], ids=["after the charge", "before the charge"])
async def test_a_restart_charges_what_an_interrupted_collection_left(opened: Any, charged_before: bool) -> None:
    async with yard(opened) as house:
        id = await house.look("a")
        await house.started("a")
        house.driver.clock.advance(2)

        async def killed(key: str, amount: float) -> bool:
            if charged_before:
                await house.charge(key, amount)
            raise LedgerUnavailable("killed here")

        house.sub._charge = killed
        with pytest.raises(LedgerUnavailable):
            await house.sub.collect_energy()
        # The process ends here: what it has not stored is gone.
        stored = await house.stored(id)
        assert (stored.energy, stored.collected) == (pytest.approx(4), 0)
        await house.sub.close()
        house.sub = house.make()
        await house.sub.start()
        await until(lambda: house.bench.started.count("a") == 2)
        house.driver.clock.advance(1)
        await house.sub.collect_energy()
        assert house.charged == pytest.approx(6)
        house.open("a")
        done = await house.reached(id, "completed")
        assert done.energy == pytest.approx(6)
