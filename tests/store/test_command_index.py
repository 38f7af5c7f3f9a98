"""Commands are found by what somebody wants, and only those that are offered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from importlib import resources
from typing import Any

import pytest

from doorward.commands import catalogue
from doorward.commands.catalogue.parser import parse_catalogue
from doorward.commands.families import ALIASES, FAMILIES
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import READS_ONLY, Command, Example, Facts
from doorward.core.registry import Registry
from doorward.store import command_texts
from doorward.store.command_index import CommandIndex
from doorward.store.command_texts import StemCache


async def nothing(*_: Any) -> None: ...


def command(name: str, told: str, *uses: str, private: bool = False, unlisted: bool = False, **params: str) -> Command:
    facts = Facts(
        tier=Tier.INFORMATION,
        effects=Effects.READ,
        access=Access.READ,
        safety=Safety.SAFE,
        cost=1,
        timeout=1,
        undo=READS_ONLY,
        examples=tuple(Example(one, {}) for one in uses or ("do it",)),
    )
    made = Command(
        name,
        facts,
        run=nothing,
        summary=told,
        description=told,
        category="tests",
        schema={"type": "object", "properties": {key: {"description": said} for key, said in params.items()}},
        arguments={},
    )
    made.private, made.unlisted = private, unlisted
    return made


def indexed(*commands: Command) -> tuple[Registry, CommandIndex]:
    registry = Registry([])
    registry.replace("tests", commands, {}, bare=False)
    return registry, CommandIndex(registry, owner="local")


def names(index: CommandIndex, query: str, among: Iterable[str] | None = None, **more: Any) -> list[str]:
    return [hit.command for hit in index.hits(query, None if among is None else list(among), **more)]


@pytest.fixture(scope="module")
def house() -> CommandIndex:
    return CommandIndex(Registry(list(FAMILIES), ALIASES), owner="local")


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("read a file", "file/read"),
        ("erase the old draft", "file/delete"),
        ("list files recursively", "file/list"),
        ("which calls failed", "data/count"),
        ("say something in the room", "room/say"),
        ("undo my last change", "undo"),
        ("what happened last", "event/list"),
        ("approve what waits", "approval/approve"),
        ("cancel what runs", "execution/cancel"),
        ("who is online", "room/who"),
        ("search and replace", "file/edit"),
        ("give somebody more rights", "user/change"),
        ("sum of a column", "data/aggregate"),
        ("send a message", "room/say"),
    ],
)
def test_the_command_for_a_purpose_is_among_the_first(house: CommandIndex, query: str, wanted: str) -> None:
    assert wanted in names(house, query, limit=5)


def test_what_people_say_is_known_of_commands_that_there_are() -> None:
    phrasings = json.loads(resources.files(command_texts.__package__).joinpath("command_phrasings.json").read_bytes())
    shipped = resources.files(catalogue).joinpath("commands.json").read_bytes()
    known = {one.name for one in Registry(list(FAMILIES), ALIASES)} | {
        f"shell/{one.name}" for one in parse_catalogue(shipped, "shipped")
    }
    assert set(phrasings) <= known | {"bash"}
    assert len(phrasings) > 100
    assert all(2 < len(one) < 100 for says in phrasings.values() for one in says)


def test_every_hit_says_how_well_it_fits_and_why(house: CommandIndex) -> None:
    hits = house.hits("count users by access level", limit=10)
    assert hits
    assert all(0 < hit.score <= 1 and hit.why for hit in hits)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_the_reason_names_the_example_that_has_the_words() -> None:
    _, index = indexed(command("data/sum", "Add.", "count users by level"), command("data/other", "Other things."))
    (hit,) = index.hits("how do I count users")
    assert hit.why == "its example 'count users by level' has count, users"


def test_one_that_knows_every_word_goes_before_one_whose_name_has_some_of_them() -> None:
    _, index = indexed(
        command("hub/merge", "Closes a pull request and merges its branch."),
        command("hub/list_pull_requests", "Lists pull requests."),
    )
    assert names(index, "merge pull request branch")[0] == "hub/merge"


@pytest.mark.parametrize(
    "query", ["", "   ", "!!! ???", "\0", '"', "NEAR(zzqx", "zzqx:* wvut", "x" * 100_000, "ü̈ 日本語"]
)
def test_no_question_breaks_it_and_what_nobody_knows_finds_nothing(house: CommandIndex, query: str) -> None:
    assert house.hits(query) == []


def test_a_word_is_found_in_every_form_in_parts_of_names_and_by_its_beginning() -> None:
    _, index = indexed(
        command("hub/get_user", "One.", repositoryName="Where"), command("hub/other", "Compresses folders.")
    )
    for query, wanted in (
        ("compressing a folder", "hub/other"),
        ("repository", "hub/get_user"),
        ("compre", "hub/other"),
    ):
        assert names(index, query) == [wanted], query


def test_words_that_mean_the_like_lead_to_it_after_the_word_itself() -> None:
    _, index = indexed(
        command("a/delete", "Delete it."), command("a/erase", "Erase it."), command("a/keep", "Keep it.")
    )
    assert names(index, "erase") == ["a/erase", "a/delete"]
    assert names(index, "discard")[:2] == ["a/delete", "a/erase"]


def test_only_what_is_offered_comes_out_and_private_names_only_for_their_owner() -> None:
    _, index = indexed(
        command("a/open", "Find pomegranates."),
        command("a/hidden", "Find pomegranates.", private=True),
        command("a/other", "Find pomegranates.", unlisted=True),
    )
    assert names(index, "pomegranates") == ["a/open"]
    assert names(index, "pomegranates", tenant="acme") == ["a/open"]
    assert sorted(names(index, "pomegranates", tenant="local")) == ["a/hidden", "a/open"]
    assert names(index, "pomegranates", ["a/hidden"]) == ["a/hidden"]
    assert names(index, "pomegranates", []) == []


def test_what_is_offered_is_found_among_very_many_that_are_not() -> None:
    many = [command(f"a/n{number}", "Count apples and pears in the garden.") for number in range(700)]
    _, index = indexed(*many, command("b/mine", "Count in the garden."))
    assert names(index, "count apples in the garden", ["b/mine"]) == ["b/mine"]


def test_it_follows_what_comes_changes_and_goes() -> None:
    registry, index = indexed(command("a/one", "Count apples."), command("a/two", "Count pears."))
    assert names(index, "apples") == ["a/one"]
    kept = registry["a/two"]
    registry.replace("tests", [kept, command("a/one", "Count plums.")], {}, bare=False)
    assert (names(index, "apples"), names(index, "plums"), names(index, "pears")) == ([], ["a/one"], ["a/two"])
    registry.replace("tests", [], {}, bare=False)
    assert names(index, "pears") == []


async def test_it_can_be_made_ready_while_others_ask() -> None:
    many = [command(f"a/n{number}", f"Count apples of tree {number}.") for number in range(450)]
    _, index = indexed(*many)
    ready = asyncio.gather(index.ready(), index.ready())
    found = names(index, "apples", limit=100)
    await ready
    assert len(found) == len(names(index, "apples", limit=100)) == 100


def test_stems_are_those_of_the_index() -> None:
    stems = StemCache()
    assert stems.of(["reading", "reads", "read"]) == ["read", "read", "read"]
    assert stems.of(["files", "files", "directories"]) == ["file", "file", "directori"]


def test_with_vectors_what_means_the_like_is_found_without_a_word_in_common() -> None:
    registry, plain = indexed(
        command("a/weather", "Forecast rain and sunshine for a city."),
        command("a/bill", "Pay an invoice."),
        command("a/tree", "Plant an oak."),
    )
    index = CommandIndex(registry, owner="local", vectors=True)
    assert (plain.ranking, index.ranking) == ("words", "words and meaning")
    asked = "will there be a thunderstorm with heavy rainfall"
    assert names(plain, asked, meaning=True) == names(index, asked) == []
    assert names(index, asked, meaning=True)[0] == "a/weather"
    assert names(index, asked, ["a/tree"], meaning=True) in ([], ["a/tree"])
    assert names(index, "pay an invoice", meaning=True)[0] == "a/bill"
    registry.replace("tests", [command("a/song", "Play music.")], {}, bare=False)
    assert "a/weather" not in names(index, asked, meaning=True)
