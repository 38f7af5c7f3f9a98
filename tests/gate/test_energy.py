"""Energy pools (R12.1): 100 at start, from -50 to 100, two a second, real numbers."""

from __future__ import annotations

import asyncio

import pytest

from doorward.config.settings import EnergySettings as EnergySettings
from doorward.config.settings import Settings
from doorward.core.model import Credential
from doorward.gate.energy import status

ON = Settings(energy=EnergySettings(enabled=True, recovery_per_second=0.0))
RECOVERS = Settings(energy=EnergySettings(enabled=True, recovery_per_second=1.0))


async def spend(driver, scratch, clock, seconds: float, text: str):
    """One call that takes so many seconds."""
    scratch.gate.clear()
    count = len(scratch.runs)
    task = asyncio.create_task(driver.ask("scratch/wait", room="lab", params={"text": text}))
    await scratch.until(count + 1)
    clock.advance(seconds)
    scratch.gate.set()
    return await task


async def test_energy_is_off_unless_switched_on(house):
    async with house() as driver:
        row = await driver.owner("system/status")
    assert row.result["energy"] is None


async def test_a_second_of_work_costs_two_and_the_record_says_so(house, scratch, clock):
    async with house(changes=ON) as driver:
        await spend(driver, scratch, clock, 1.25, "a")
        row = (await driver.ledger())[-1]
        caller = driver.house.gate.caller(_agent())
        level = driver.house.services.energy_of(caller)["level"]
    assert (row["reserved"], row["spent"]) == (3.0, pytest.approx(2.5))
    assert level == pytest.approx(97.5)


async def test_an_empty_pool_refuses_until_it_recovers_and_never_falls_below_its_floor(house, scratch, clock):
    async with house(changes=RECOVERS) as driver:
        caller = driver.house.gate.caller(_agent())
        outcome = await spend(driver, scratch, clock, 4.0, "a")
        assert outcome.status == "done"
        await spend(driver, scratch, clock, 4_000.0, "b")
        assert driver.house.services.energy_of(caller)["level"] == pytest.approx(-50.0)
        refused = await driver.ask("scratch/look", room="lab", params={"text": "c"})
        clock.advance(refused.retry_after)
        after = await driver.ask("scratch/look", room="lab", params={"text": "d"})
    assert (refused.code, refused.retry) == ("out_of_energy", "later")
    assert refused.retry_after == pytest.approx(50.0, abs=0.1)
    assert after.status == "done"


async def test_a_dry_run_that_runs_a_program_on_a_copy_needs_energy(opened):
    empty = Settings(energy=EnergySettings(enabled=True, start=0.0, recovery_per_second=0.0))
    async with opened(changes=empty) as driver:
        refused = await driver.ask("bash", by="", room="", params={"command": "true"}, dry_run=True)
        only_read = await driver.ask("shell/ls", by="", room="", params={}, dry_run=True)
    assert (refused.code, only_read.code) == ("out_of_energy", "dry_run")


async def test_failed_work_costs_too_and_refused_work_costs_nothing(house, scratch, clock):
    async with house(changes=ON, requireApproval={"scratch/touch": True}, timeoutSeconds=1) as driver:
        caller = driver.house.gate.caller(_agent())
        parked = await driver.ask("scratch/touch", room="lab", params={"text": "x"})
        denied = await driver.ask("scratch/look", room="lab", params={"nope": 1})
        untouched = driver.house.services.energy_of(caller)["level"]
        task = asyncio.create_task(driver.ask("scratch/wait", room="lab", params={"text": "slow"}))
        await scratch.until(1)
        clock.advance(10)
        failed = await task
    assert (parked.status, denied.status, untouched) == ("parked", "refused", 100.0)
    assert failed.code == "timed_out"
    assert driver.house.services.energy_of(caller)["level"] == pytest.approx(80.0)


async def test_pools_survive_a_restart(house, opened, scratch, clock):
    async with house(changes=ON) as driver:
        await spend(driver, scratch, clock, 5.0, "a")
    async with opened(families=[scratch.family], changes=ON) as driver:
        assert driver.house.services.energy_of(driver.house.gate.caller(_agent()))["level"] == pytest.approx(90.0)


@pytest.mark.parametrize(
    ("level", "word"),
    [(100, "high"), (50.01, "high"), (50, "medium"), (20.01, "medium"), (20, "low"), (0.01, "low"), (0, "urgent")],
)
def test_a_level_has_a_word(level, word):
    assert status(level) == word


def _agent():
    return Credential(owner=True, speak_as="helper")
