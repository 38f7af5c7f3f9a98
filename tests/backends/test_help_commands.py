"""help/search, help/suggest, help/accept and help/forget: what they find, say and learn (R10.4)."""

from __future__ import annotations

from typing import Any

import pytest

from doorward.backends import shell
from doorward.backends.help import spelling
from doorward.backends.session.language import parse
from doorward.backends.shell.catalogue_command import CatalogueCommand
from doorward.calltext import read_args, typed
from doorward.catalogue.book import shipped
from doorward.catalogue.entry import ARGUMENTS, FOLDER, INPUT
from doorward.catalogue.parse import parse as parse_catalogue
from doorward.command import Command
from doorward.commands import ALIASES, FAMILIES
from doorward.registry import Registry
from doorward.settings import Search, Settings

REGISTRY = Registry(list(FAMILIES), ALIASES)
REGISTRY.replace("catalogue", *shell.commands(parse_catalogue(shipped(), "commands.json"), Settings()))


def read_back(command: Command, line: str) -> dict[str, Any]:
    """The parameters that the session shell reads out of the last command of a line."""
    (one,) = parse(line).lines
    pipeline = one.chains[-1].rest[-1][1] if one.chains[-1].rest else one.chains[-1].first
    name, *rest = ["".join(part.text for part in word.parts) for word in pipeline.stages[-1].words]
    assert name == command.name
    return {ARGUMENTS: rest} if isinstance(command, CatalogueCommand) else typed(command, read_args(rest))


async def accepted(driver: Any, query: str, command: str) -> Any:
    return await driver.ask("help/accept", by="", room="", params={"query": query, "command": command})


def test_every_example_is_written_as_a_line_that_the_shell_reads_as_the_same_call() -> None:
    for command in REGISTRY:
        for example in command.facts.examples:
            line = spelling.line(command, example.params)
            meant = read_back(command, line)
            if isinstance(command, CatalogueCommand):
                beside = {key: value for key, value in example.params.items() if key in (FOLDER, INPUT)}
                assert command.task(meant | beside) == command.task(example.params), line
            else:
                assert meant == example.params, line


@pytest.mark.parametrize(
    "text", ["plain", "two words", "it's", '"quoted"', "$HOME `x` $(y)", "a;b|c&&d", "*", "#no", "\\", "ü\n2"]
)
def test_whatever_a_value_holds_stays_a_value(text: str) -> None:
    read = REGISTRY["data/create"]
    params = {"collection": "notes", "data": {"text": text, "n": [1, None, True]}}
    assert read_back(read, spelling.line(read, params)) == params


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
    assert "No command that you may run here clearly fits 'qwxz vvrrk'" in said["explanation"]
    blank = await driver.ask("help/suggest", params={"query": "  "})
    assert blank.code == "bad_params"


async def test_nothing_is_learned_unless_that_is_switched_on(driver: Any) -> None:
    said = await accepted(driver, "show big files", "file/list")
    assert said.result == {"learned": False, "why": "Nothing is learned here: the setting search.learn is off."}
    agent = await driver.ask("help/accept", params={"query": "show big files", "command": "file/list"})
    assert agent.code == "not_permitted"


async def test_what_people_took_goes_before_its_like_until_it_is_forgotten(opened: Any) -> None:
    async with opened(changes=Settings(search=Search(learn=True))) as driver:

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
