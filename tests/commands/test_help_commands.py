"""help/search, help/suggest, help/accept and help/forget: what they find, say and learn (R10.4)."""

from __future__ import annotations

from typing import Any

import pytest

from doorward.commands import programs
from doorward.commands.catalogue.entry import ARGUMENTS_PARAMETER, FOLDER_PARAMETER, INPUT_PARAMETER
from doorward.commands.catalogue.parser import parse_catalogue as parse_catalogue
from doorward.commands.catalogue.watched_catalogue import shipped_catalogue
from doorward.commands.families import ALIASES, FAMILIES
from doorward.commands.help import shell_line
from doorward.commands.programs.catalogue_command import CatalogueCommand
from doorward.config.settings import SearchSettings, Settings
from doorward.core.argtext import convert_args, parse_args
from doorward.core.command import Command
from doorward.core.registry import Registry
from doorward.shell.parser import parse_script

REGISTRY = Registry(list(FAMILIES), ALIASES)
REGISTRY.replace(
    "catalogue", *programs.build_commands(parse_catalogue(shipped_catalogue(), "commands.json"), Settings())
)


def read_back(command: Command, line: str) -> dict[str, Any]:
    """The parameters that the session shell reads out of the last command of a line."""
    (one,) = parse_script(line).lines
    pipeline = one.chains[-1].rest[-1][1] if one.chains[-1].rest else one.chains[-1].first
    name, *rest = ["".join(part.text for part in word.parts) for word in pipeline.stages[-1].words]
    assert name == command.name
    return (
        {ARGUMENTS_PARAMETER: rest}
        if isinstance(command, CatalogueCommand)
        else convert_args(command, parse_args(rest))
    )


async def accepted(driver: Any, query: str, command: str) -> Any:
    return await driver.ask("help/accept", by="", room="", params={"query": query, "command": command})


def test_every_example_is_written_as_a_line_that_the_shell_reads_as_the_same_call() -> None:
    for command in REGISTRY:
        for example in command.facts.examples:
            line = shell_line.format_line(command, example.params)
            meant = read_back(command, line)
            if isinstance(command, CatalogueCommand):
                beside = {
                    key: value for key, value in example.params.items() if key in (FOLDER_PARAMETER, INPUT_PARAMETER)
                }
                assert command.task(meant | beside) == command.task(example.params), line
            else:
                assert meant == example.params, line


@pytest.mark.parametrize(
    "text", ["plain", "two words", "it's", '"quoted"', "$HOME `x` $(y)", "a;b|c&&d", "*", "#no", "\\", "ü\n2"]
)
def test_whatever_a_value_holds_stays_a_value(text: str) -> None:
    read = REGISTRY["data/create"]
    params = {"collection": "notes", "data": {"text": text, "n": [1, None, True]}}
    assert read_back(read, shell_line.format_line(read, params)) == params


async def test_a_search_says_how_well_each_fits_and_why(driver: Any) -> None:
    found = (await driver.ask("help/search", params={"query": "how do I change a file", "limit": 3})).result
    assert len(found["items"]) == 3
    assert all(0 < one["score"] <= 1 and one["reason"] for one in found["items"])
    assert found["ranking"] in ("words", "words and meaning")
    assert found["next"] == 3 <= found["total"]
    browsed = (await driver.ask("help/search", params={"namespace": "file"})).result
    assert browsed["ranking"] == "name"
    assert all(one["command"].startswith("file/") for one in browsed["items"])


async def test_a_suggestion_is_a_line_to_type_and_nothing_of_it_runs(driver: Any) -> None:
    asked = await driver.owner("help/suggest", query="list all python files")
    said = asked.result
    assert said["suggestion"] == "shell/find . -name '*.py' -type f"
    assert (said["command"], said["safety"], said["score"]) == ("shell/find", "safe", 1.0)
    assert said["params"] == {"paths": ["."], "name": "*.py", "type": "f"}
    assert said["alternatives"]


async def test_where_nothing_fits_nothing_is_suggested(driver: Any) -> None:
    said = (await driver.owner("help/suggest", query="qwxz vvrrk")).result
    assert (said["suggestion"], said["command"]) == ("", "")
    assert "No command that you may run here clearly matches 'qwxz vvrrk'" in said["explanation"]
    blank = await driver.ask("help/suggest", params={"query": "  "})
    assert blank.code == "bad_params"


NEAR_AT_BEST = (
    "remove a user",
    "delete everything",
    "remove the user anna",
    "AND OR NOT",
    "what is the meaning of life",
    "wipe the disk",
    "send an email to anna",
    "change access of anna to read",
    "rm -rf",
    "drafts",
)
NOBODY_SAID_WHAT = {
    "delete a file": ("file/delete", "path"),
    "delete all files": ("file/delete", "path"),
    "remove the room general": ("room/delete", "message"),
}
SUGGESTED = {
    "read a file": ("file/read --path='<path>'", {}, ["path"]),
    "copy a file": ("vfs/copy --source='<source>' --target='<target>'", {}, ["source", "target"]),
    "make a folder": ("vfs/make --path='<path>'", {}, ["path"]),
    "sort a file": ("shell/sort -- '<files>'", {}, ["files"]),
    "compare two files": ("shell/diff -- '<old>' '<new>'", {}, ["old", "new"]),
    "cancel an execution": ("execution/cancel --execution='<execution>'", {}, ["execution"]),
    "add a user called paula with read access": (
        "user/create --id=paula --access=read",
        {"id": "paula", "access": "read"},
        [],
    ),
    "extract archive.tar.gz": ("shell/tar_extract --file=archive.tar.gz", {"archive": "archive.tar.gz"}, []),
    "drop the collection orders": ("collection/drop --name=orders", {"name": "orders"}, []),
    "delete notes.txt": ("file/delete --path=notes.txt", {"path": "notes.txt"}, []),
    "orders over 100 from Berlin": (
        """data/list --collection=orders --filter='{"price":{"$gt":100},"city":"Berlin"}' --limit=200""",
        {"collection": "orders", "filter": {"price": {"$gt": 100}, "city": "Berlin"}, "limit": 200},
        [],
    ),
}


async def test_only_what_clearly_fits_is_suggested_and_only_with_values_that_were_said(driver: Any) -> None:
    fields = {"price": {"type": "number"}, "city": {"type": "string"}}
    await driver.owner("collection/define", name="orders", schema={"properties": fields})
    await driver.owner("data/create", collection="orders", data={"price": 120, "city": "Berlin"})
    for query in NEAR_AT_BEST:
        said = (await driver.owner("help/suggest", query=query)).result
        assert (said["suggestion"], said["params"]) == ("", {}), query
        assert "clearly matches" in said["explanation"], query
    for query, (command, missing) in NOBODY_SAID_WHAT.items():
        said = (await driver.owner("help/suggest", query=query)).result
        assert (said["suggestion"], said["alternatives"][0]) == ("", command), query
        assert said["explanation"].endswith(f"which destroys something. Name {missing} to get the line."), query
    for query, expected in SUGGESTED.items():
        said = (await driver.owner("help/suggest", query=query)).result
        assert (said["suggestion"], said["params"], said["missing"]) == expected, query
        assert all(f"<{name}>" in said["suggestion"] and name in said["explanation"] for name in said["missing"])


async def test_what_a_suggestion_looks_up_is_read_by_its_asker_and_recorded(driver: Any) -> None:
    before = len(await driver.ledger())
    await driver.owner("help/suggest", query="delete files older than 30 days in tmp")
    looked_up = {row["command"] for row in (await driver.ledger())[before:]} - {"help/suggest"}
    assert looked_up
    assert all(driver.house.services.registry[one].reads_only for one in looked_up)


async def test_nothing_is_learned_unless_that_is_switched_on(driver: Any) -> None:
    said = await accepted(driver, "show big files", "file/list")
    assert said.result == {"learned": False, "why": "Nothing was learned: the setting search.learn is off."}
    agent = await driver.ask("help/accept", params={"query": "show big files", "command": "file/list"})
    assert agent.code == "not_permitted"


async def test_what_people_took_goes_before_its_like_until_it_is_forgotten(opened: Any) -> None:
    async with opened(changes=Settings(search=SearchSettings(learn=True))) as driver:

        async def places() -> list[str]:
            found = (await driver.owner("help/search", query="what goes on in here", limit=20)).result["items"]
            return [one["command"] for one in found]

        before = await places()
        taken = before[3]
        for _ in range(3):
            assert (await accepted(driver, "what goes on in here", taken)).result["learned"]
        after = await places()
        assert after.index(taken) < 3
        assert (await driver.owner("help/forget")).result == {"forgotten": 1}
        assert await places() == before
        unknown = await accepted(driver, "zzqx", "file/list")
        assert not unknown.result["learned"]
