"""Energy adds up (R12.1): all work is charged once, whatever happens, and the level follows from the charges."""

from __future__ import annotations

import asyncio
import json
import math
import shutil
from typing import Any

import pytest

from doorward.app import open_house
from doorward.config.home import Home
from doorward.config.settings import EnergySettings, Settings
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import READS_ONLY, Example, Family
from doorward.core.errors import BadParams, LedgerUnavailable
from doorward.core.events import EnergyChanged
from doorward.core.model import Credential, Request

ON = Settings(energy=EnergySettings(enabled=True))
ADA = Credential(persona="ada", asker="owner", room="general")


async def make_ada(driver: Any, **energy: float) -> Any:
    """A persona that regulates its effort, as a caller."""
    text = {"personaId": "ada", "displayName": "Ada", "rooms": ["general"], "effort": {}, "energy": energy}
    await driver.owner("persona/put", id="ada", text=json.dumps(text))
    return driver.house.gate.caller(ADA)


async def stored_level(driver: Any, who: str = "ada") -> float:
    rows = await driver.house.services.store.read("SELECT level FROM energy WHERE caller = ?", (who,))
    return rows[0]["level"] if rows else math.nan


async def test_a_key_is_charged_once_and_everybody_who_listens_hears_it_once(driver: Any) -> None:
    ada, energy = await make_ada(driver), driver.house.services.energy
    heard: list[EnergyChanged] = []
    driver.house.services.events.subscribe(heard.append, EnergyChanged)
    assert await energy.charge(ada, "answer-1", 0.1, kind="model", room="general", subject="small", tokens=7)
    assert not await energy.charge(ada, "answer-1", 60.0, kind="model", room="general", subject="small", tokens=9)
    both = await asyncio.gather(*(energy.charge(ada, "answer-2", 0.2, kind="model") for _ in range(2)))
    assert sorted(both) == [False, True]
    assert energy.level(ada) == 100 - 0.1 - 0.2 == await stored_level(driver)
    assert [(one.agent, one.level) for one in heard] == [("ada", 100 - 0.1), ("ada", 100 - 0.1 - 0.2)]
    spent = await energy.spent("local", agent="ada", room="general")
    assert (spent.energy, spent.tokens) == (0.1, 7)
    assert await energy.recent_amounts("local", "ada", "model", "small") == [0.1]


async def test_only_personas_with_effort_pay_while_energy_is_off_and_their_own_pool_pays(driver: Any) -> None:
    ada, energy = await make_ada(driver, start=1.0, recoveryPerSecond=0.0), driver.house.services.energy
    gate = driver.house.gate
    guide, owner = gate.caller(Credential(persona="guide", asker="owner", room="general")), gate.caller(OWNER)
    assert [energy.is_counted(one) for one in (ada, guide, owner)] == [True, False, False]
    assert not await energy.charge(owner, "answer-1", 5.0, kind="model")
    assert await energy.charge(ada, "answer-1", 1.0, kind="model")
    asked = Request(command="data/list", credential=ADA, door="t", room="general", params={"collection": "rooms"})
    refused = await gate.handle(asked)
    assert (refused.code, refused.retry_after, energy.level(ada)) == ("out_of_energy", None, 0.0)
    assert (await driver.ask("data/list", by="", params={"collection": "rooms"})).status == "done"


async def test_after_a_restart_the_level_is_what_it_was_plus_what_recovered(opened: Any, clock: Any) -> None:
    async with opened() as driver:
        ada = await make_ada(driver, recoveryPerSecond=0.5)
        await driver.house.services.energy.charge(ada, "a", 120.0, kind="model")
    clock.advance(30)
    async with opened() as driver:
        energy = driver.house.services.energy
        assert energy.level(ada) == 100 - 120 + 15
        assert not await energy.charge(ada, "a", 120.0, kind="model")
    clock.advance(-1_000)
    async with opened() as driver:
        energy = driver.house.services.energy
        set_back = energy.level(ada)
        clock.advance(10)
        assert (set_back, energy.level(ada)) == (-20.0, -15.0)
        await energy.charge(ada, "b", 1.0, kind="model")
        assert energy.level(ada) == await stored_level(driver) == -16.0
    clock.advance(100_000)
    async with opened() as driver:
        assert driver.house.services.energy.level(ada) == 100.0


async def test_a_pool_that_starts_empty_recovers_also_if_it_was_never_charged(opened: Any, clock: Any) -> None:
    async with opened() as driver:
        ada = await make_ada(driver, start=0, recoveryPerSecond=1)
        asked = Request(command="data/list", credential=ADA, door="t", room="general", params={"collection": "rooms"})
        assert (await driver.house.gate.handle(asked)).code == "out_of_energy"
        clock.advance(5)
    async with opened() as driver:
        clock.advance(2)
        assert driver.house.services.energy.level(ada) == 7.0
        assert await driver.house.services.energy.history(ada, 0, math.inf, 2) == [(0, 0.0), (clock.now(), 7.0)]


async def test_a_call_that_a_crash_interrupted_costs_what_was_reserved_once(
    house: Any, scratch: Any, home: Home, clock: Any
) -> None:
    crashed = Home(home.path.with_name("crashed"))
    async with house(changes=ON) as driver:
        task = asyncio.create_task(driver.ask("scratch/wait", room="lab", params={"text": "a"}))
        await scratch.until(1)
        shutil.copytree(home.path, crashed.path)
        scratch.gate.set()
        await task
    for recovered in (1, 0):
        async with open_house(crashed, clock=clock, changes=ON, families=[scratch.family]) as after:
            caller = after.gate.caller(Credential(owner=True, speak_as="helper"))
            charges = await after.services.store.read("SELECT amount FROM energy_charges WHERE caller = 'helper'")
            rows = await after.services.store.read("SELECT spent FROM ledger WHERE code = 'interrupted'")
            assert (after.recovered, charges, after.services.energy.level(caller)) == (recovered, [{"amount": 3.0}], 97)
            assert rows == [{"spent": 3.0}]


async def test_a_second_of_a_call_inside_another_is_charged_once(opened: Any, clock: Any) -> None:
    family = Family("nest", category="test")
    facts: dict[str, Any] = {
        "tier": Tier.INFORMATION, "effects": Effects.READ, "access": Access.READ, "safety": Safety.SAFE,
        "cost": 1, "timeout": 60, "undo": READS_ONLY, "examples": [Example("try it", {})],
    }  # fmt: skip

    @family.command("inner", **facts)
    async def inner(ctx: Any) -> dict[str, Any]:
        """Take four seconds."""
        clock.advance(4)
        return {}

    @family.command("outer", **facts)
    async def outer(ctx: Any) -> dict[str, Any]:
        """Take one second, and let another command work."""
        clock.advance(1)
        await ctx.services.run_nested(ctx.call, "nest/inner", {})
        return {}

    settings = Settings(energy=EnergySettings(enabled=True, recovery_per_second=0.0))
    async with opened(families=[family], changes=settings) as driver:
        await driver.owner("nest/outer")
        energy = driver.house.services.energy
        assert await energy.recent_amounts("local", "owner", "call", "nest/outer") == [2.0]
        assert await energy.recent_amounts("local", "owner", "call", "nest/inner") == [8.0]
        assert energy.level(driver.house.gate.caller(OWNER)) == 90.0
        assert (energy.estimate("local", "nest/inner"), energy.estimate("local", "nest/none")) == (8.0, None)
    async with opened(families=[family], changes=settings) as driver:
        assert driver.house.services.energy.estimate("local", "nest/inner") == 8.0


async def test_the_history_recovers_between_charges_and_ends_at_the_present_level(driver: Any, clock: Any) -> None:
    ada, energy = await make_ada(driver), driver.house.services.energy
    began = clock.now()
    for number, (wait, amount) in enumerate([(10, 40.0), (10, 200.0), (20, 0.25)]):
        clock.advance(wait)
        await energy.charge(ada, f"k{number}", amount, kind="call")
    clock.advance(10)
    shown = await energy.history(ada, began, began + 1_000, 11)
    assert [at - began for at, _ in shown] == pytest.approx([5.0 * number for number in range(11)])
    assert [round(level, 6) for _, level in shown] == [100, 100, 60, 65, -50, -45, -40, -35, -30.25, -25.25, -20.25]
    assert shown[-1] == (clock.now(), energy.level(ada))


async def test_a_charge_that_the_disk_refused_is_stored_with_the_next(driver: Any) -> None:
    ada, services = await make_ada(driver), driver.house.services
    await services.energy.charge(ada, "a", 1.0, kind="model")
    (pages,) = await services.store.read("PRAGMA page_count")
    services.store._db.execute(f"PRAGMA max_page_count = {pages['page_count']}")
    for number in range(2_000):
        try:
            await services.energy.charge(ada, f"lost-{number}", 0.01, kind="model", subject="x" * 1_000)
        except LedgerUnavailable:
            break
    else:
        pytest.fail("the disk was never full")
    due = services.energy.level(ada)
    services.store._db.execute("PRAGMA max_page_count = 1000000")
    assert await services.energy.charge(ada, "b", 1.0, kind="model")
    rows = await services.store.read("SELECT amount FROM energy_charges")
    assert len(rows) == number + 3
    assert services.energy.level(ada) == await stored_level(driver) == pytest.approx(due - 1.0)


async def test_budgets_stop_at_their_amount_and_a_budget_of_0_allows_one_last_answer(driver: Any) -> None:
    ada, energy = await make_ada(driver), driver.house.services.energy

    async def allowed(room: str = "general") -> tuple[bool, bool]:
        state = await energy.check_budgets("local", "ada", room)
        assert bool(state.reason) == (state.budget is not None)
        return state.allowed, state.last_chance

    async def answer(key: str, room: str = "general") -> None:
        await energy.charge(ada, key, 2.5, kind="model", room=room, tokens=100, dollars=0.01)

    assert await allowed() == (True, False)
    await energy.set_budget("local", "conversation", "ada@general", "energy", 5)
    await energy.set_budget("local", "agent", "ada", "tokens", 300)
    await answer("a")
    assert await allowed() == (True, False)
    await answer("b")
    assert (await allowed(), await allowed("lab")) == ((False, False), (True, False))
    (one,) = await energy.budgets("local", "conversation")
    assert (one.id, one.unit, one.amount, one.spent, one.left) == ("ada@general", "energy", 5.0, 5.0, 0.0)
    await answer("c", "lab")
    assert await allowed("lab") == (False, False)
    await energy.set_budget("local", "agent", "ada", "tokens", None)
    await energy.set_budget("local", "conversation", "ada@general", "energy", None)
    await energy.set_budget("local", "agent", "ada", "dollars", 0)
    assert [await allowed(), await allowed(), await allowed("lab")] == [(True, True), (True, True), (False, False)]
    await energy.charge(ada, "tool", 1.0, kind="call", room="general")
    assert await allowed() == (True, True)
    await answer("d")
    assert [await allowed(), await allowed("lab")] == [(False, False), (False, False)]
    await answer("d")
    await energy.set_budget("local", "agent", "ada", "dollars", 0)
    assert await allowed("lab") == (True, True)


@pytest.mark.parametrize("amount", [math.nan, -0.5, math.inf, -math.inf, "5", True])
async def test_a_budget_that_is_no_amount_is_refused_with_what_is_valid(driver: Any, amount: Any) -> None:
    with pytest.raises(BadParams, match="0 for one last answer"):
        await driver.house.services.energy.set_budget("local", "agent", "ada", "energy", amount)


async def test_a_budget_names_a_scope_an_id_and_a_unit_that_exist(driver: Any) -> None:
    for scope, id, unit in (("house", "ada", "energy"), ("agent", "ada", "euros"), ("conversation", "ada", "energy")):
        with pytest.raises(BadParams, match="given"):
            await driver.house.services.energy.set_budget("local", scope, id, unit, 1)


OWNER = Credential(owner=True)
