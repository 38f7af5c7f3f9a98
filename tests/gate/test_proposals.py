"""Commands that an AI may propose: a person with the access decides about every call, whatever the recipe says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from doorward.core.classification import Access
from doorward.core.errors import NotPermitted
from doorward.core.model import Caller
from doorward.rooms.people import User

pytestmark = pytest.mark.anyio
FILE = {"servers": [{"id": "notes", "name": "notes", "command": "/bin/true", "enabled": False}]}


async def furnish(driver: Any, **rules: Any) -> None:
    services = driver.house.services
    (driver.house.home.path / "mcp-servers.json").write_text(json.dumps(FILE))
    await services.servers.load()
    strategy = {"aiCommands": {"enabled": True, **rules}}
    recipe = {"recipeId": "trial", "displayName": "Trial", "strategy": strategy}
    await driver.owner("recipe/put", id="trial", text=json.dumps(recipe))
    await driver.owner("room/create", name="lab", recipe="trial")


async def remove(driver: Any) -> Any:
    return await driver.ask("mcp/remove", room="lab", params={"id": "notes"})


async def test_a_proposal_waits_for_a_person_with_root_access_and_runs_once(driver: Any) -> None:
    await furnish(driver, whitelist=["*"])
    services = driver.house.services
    await services.people.add(User("local", "ben", "Ben", "human", Access.FULL))
    await driver.owner("room/join", name="lab", member="ben", role="owner")
    parked = await remove(driver)
    assert parked.status == "parked"
    approval = await services.approvals.find("local", parked.ticket)
    with pytest.raises(NotPermitted, match="you need root access; you have full"):
        services.approvals.check_may_decide(Caller("local", "ben", "human", Access.FULL), approval)
    await driver.owner("approval/approve", id=parked.ticket)
    done = await driver.ask("mcp/remove", room="lab", params={"id": "notes"}, ticket=parked.ticket)
    assert done.status == "done"
    again = await driver.ask("mcp/remove", room="lab", params={"id": "notes"}, ticket=parked.ticket)
    assert again.status == "refused"


@pytest.mark.parametrize("rules", [{}, {"requireApproval": {"file/*": True}}, {"tiers": ["system"]}])
async def test_no_recipe_spares_the_person(driver: Any, rules: dict[str, Any]) -> None:
    await furnish(driver, **{"whitelist": ["*"], **rules})
    assert (await remove(driver)).status == "parked"


async def test_a_recipe_that_does_not_allow_it_refuses_the_proposal(driver: Any) -> None:
    await furnish(driver, whitelist=["data/*"])
    refused = await remove(driver)
    assert (refused.status, refused.code) == ("refused", "not_permitted")
    assert "notes" in {one.id for one in driver.house.services.upstreams}
