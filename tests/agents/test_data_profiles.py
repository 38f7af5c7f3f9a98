"""The data an agent is shown as context: only what it could list in this room."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from persona_house import speaking

from doorward.agents.models.model import Prompt
from keeper_house import kept

TITLE = {"type": "object", "properties": {"title": {"type": "string"}}}


async def fill(driver: Any) -> None:
    for name, title in (("books", "Emma"), ("films", "Vertigo")):
        await driver.owner("collection/define", name=name, schema=TITLE)
        await driver.owner("data/create", collection=name, data={"title": title})


def titles(prompt: Prompt) -> set[str]:
    return {value for one in prompt.data for field in one.fields if field.name == "title" for value in field.values}


async def test_a_persona_sees_the_collections_that_its_room_lets_it_list(driver: Any) -> None:
    await fill(driver)
    async with speaking(driver) as house:
        seen = []
        for rules in (
            {},
            {"parameterRules": {"data/*": {"collection": {"enum": ["books"]}}}},
            {"parameterRules": {"data/list": {"filter": {"type": "object"}}}},
            {"requireApproval": {"data/list": True}},
            {"whitelist": ["file/*"]},
        ):
            await house.recipe(**rules)
            await house.say("@guide what is there")
            seen.append(titles(house.model.shown[-1]))
    assert seen == [{"Emma", "Vertigo"}, {"Emma"}, set(), set(), set()]


async def test_the_keeper_sees_the_data_and_files_of_the_caller_without_a_record(tmp_path: Path) -> None:
    async with kept(tmp_path / "home") as house:
        await house.done("collection/define", name="books", schema=TITLE)
        await house.done("data/create", collection="books", data={"title": "Emma"})
        await house.done("data/create", collection="books", data={"title": "Dune", "access_read": ["somebody"]})
        await house.done("file/write", path="letters/june.txt", content="dear")
        await house.done("file/write", path=".hidden", content="dear")
        before = len(await house.records())
        script = house.says("Hello.")
        await house.ask("hello")
        assert titles(script.shown[0]) == {"Emma", "Dune"}  # the owner has root access
        assert script.shown[0].files == ("letters/", "letters/june.txt")
        assert [one["command"] for one in (await house.records())[before:]] == ["agent/ask"] * 2
        await house.done("user/create", id="anna", access="full")
        token = (await house.done("token/create", name="t", user="anna", kind="human", access="full"))["token"]
        script = house.says("Hello.")
        await house.ask("hello", token=token)
        assert titles(script.shown[0]) == {"Emma"}


async def test_files_are_listed_only_where_a_persona_may_list_all_of_them(driver: Any) -> None:
    await driver.owner("file/write", path="a.txt", content="a")
    async with speaking(driver) as house:
        seen = []
        for rules in ({}, {"parameterRules": {"file/*": {"path": {"glob": "b/*"}}}}):
            await house.recipe(**rules)
            await house.say("@guide what is there")
            seen.append(house.model.shown[-1].files)
    assert seen == [("a.txt",), ()]
