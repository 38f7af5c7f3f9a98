"""An agent sets who may read or change a record only with a person's approval."""

from __future__ import annotations


async def test_an_agent_that_sets_the_access_lists_of_a_record_waits_for_a_person(house):
    async with house(whitelist=["data/*"]) as driver:
        schema = {"type": "object", "properties": {"title": {"type": "string"}}}
        await driver.owner("collection/define", name="notes", schema=schema)
        plain = {"collection": "notes", "id": "n1", "data": {"title": "plan"}}
        assert (await driver.ask("data/create", room="lab", params=plain)).status == "done"
        for command in ("data/create", "data/update"):
            widened = {"collection": "notes", "id": f"{command[5]}1", "data": {"title": "x", "access_read": ["eve"]}}
            waiting = await driver.ask(command, room="lab", params=widened)
            assert (waiting.status, waiting.rule) == ("parked", "built-in: changes of access lists need approval")
            shown = (await driver.owner("approval/show", id=waiting.ticket)).result
            assert shown["why"] == "It sets who may read or change the record."
        assert "access_read" not in (await driver.owner("data/read", collection="notes", id="n1")).result
