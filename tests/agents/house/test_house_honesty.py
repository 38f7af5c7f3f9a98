"""The house model passes over no condition in silence: it is in the call, or the answer says that it is not known."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from bench.questions.seed import seeded
from bench.questions.state import Ran, Watch

from doorward.agents.house.knowledge import smalltalk
from doorward.agents.house.model import HouseModel
from doorward.agents.models.model import ChatTurn, NativeCall, Prompt, TextPiece, ToolSpec

pytestmark = pytest.mark.anyio
HERE = "You are Head Librarian, known as @librarian, an AI in the room 'lab'."
OFFERED = (
    ("data_list", "data_count"),
    ("file_read", "file_search"),
    ("vfs_list",),
    ("room_say", "room_who"),
    ("ai_report", "bash", "data_aggregate", "data_count", "data_describe", "data_list", "data_query", "debug_logs"),
    ("file_delete", "file_list", "file_read", "file_search", "file_write", "shell_git_status", "room_who"),
)


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def watch(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Watch]:
    async with seeded(tmp_path_factory.mktemp("honest") / "home") as seed:
        yield Watch(seed)


async def answered(watch: Watch, question: str) -> tuple[str, list[Ran]]:
    """What was said, and what ran for it."""
    place = await watch.place()
    outcome = await watch.ask("agent/ask", {"prompt": question, "model": "house"})
    ran = [one for one in await watch.ran(place) if one.command != "agent/ask"]
    return str(outcome.result["response"]), ran


async def in_a_room(question: str, tools: tuple[str, ...] = OFFERED[-1]) -> tuple[list[str], str]:
    offered = tuple(ToolSpec(name, "Do it.\n\nIt waits for a person's approval before it runs.", {}) for name in tools)
    prompt = Prompt(instructions=HERE, turns=(ChatTurn(role="user", text=question, speaker="owner"),), tools=offered)
    pieces = [piece async for piece in HouseModel(lambda: 1_800_000_000.0).answer(prompt)]
    calls = [one.name for one in pieces if isinstance(one, NativeCall)]
    return calls, "".join(one.text for one in pieces if isinstance(one, TextPiece))


def conditions(ran: list[Ran]) -> dict[str, Any]:
    """The filter of the last call."""
    params = msgspec.json.decode(ran[-1].params)
    return dict(params.get("filter", {}))


@pytest.mark.parametrize(
    ("question", "filter"),
    [
        ("which approvals expired", {"state": "expired"}),
        ("which approvals were denied", {"state": "denied"}),
        ("which approvals are used", {"state": "used"}),
        ("which approvals were not used", {"$not": {"state": "used"}}),
        ("cheapest product in furniture", {"category": "furniture"}),
        ("orders of customer c-013", {"customer": "c-013"}),
        ("commands that ran longer than 5 seconds", {"durationMs": {"$gt": 5000}}),
        ("orders over 500 except shipped ones", {"amount": {"$gt": 500}, "status": {"$ne": "shipped"}}),
        ("how many users are not active", {"active": False}),
        ("how many products per category cost more than 200", {"price": {"$gt": 200}}),
        ("customers in Lisbon, but only active ones", {"city": "Lisbon", "active": True}),
        ("users with edit access who are not human", {"access": "edit", "kind": {"$ne": "human"}}),
    ],
)
async def test_every_condition_is_in_the_call(watch: Watch, question: str, filter: dict[str, Any]) -> None:
    _, ran = await answered(watch, question)
    assert conditions(ran) == filter


async def test_the_value_before_its_field_counts_beside_other_conditions(watch: Watch) -> None:
    _, ran = await answered(watch, "tickets assigned to anna or ben with urgent priority")
    assert conditions(ran)["priority"] == "urgent"
    assert "$or" in conditions(ran)


async def test_alternatives_are_joined_apart_from_what_holds_for_both(watch: Watch) -> None:
    text, _ = await answered(watch, "orders with status open or paid over 500")
    assert "with status open or paid and amount over 500" in text


async def test_groups_are_by_what_was_named_first(watch: Watch) -> None:
    text, _ = await answered(watch, "how many products per category cost more than 200")
    assert text.startswith("Products by category with price over 200")


async def test_errors_about_something_are_only_those(watch: Watch) -> None:
    text, _ = await answered(watch, "log errors about the printer")
    assert "printer" in text
    assert "webhook" not in text


async def test_a_decision_is_looked_for_by_when_it_was_made(watch: Watch) -> None:
    _, ran = await answered(watch, "which approvals were rejected today")
    assert conditions(ran).keys() == {"state", "decidedAt"}


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("how many tickets were closed this week", "closed"),
        ("how many orders were cancelled in the last 30 days", "cancelled"),
        ("orders paid yesterday", "paid"),
        ("which users were active this week", "active"),
        ("approvals used this week", "used"),
        ("the second most expensive product", "second"),
        ("orders with an odd quantity", "odd"),
        ("which customers have no orders", "orders"),
        ("rooms with more than two members", "2"),
        ("files bigger than the README", "bigger"),
        ("rooms without messages", "without"),
        ("orders from yesterday or today", "today"),
        ("files changed today or yesterday", "yesterday"),
        ("branches other than main", "other"),
        ("files that are not in git", ""),
        ("are all tickets closed", "all"),
        ("how many urgent tickets does anna have compared to ben", "compared"),
        ("tickets of priority high or urgent that are not closed", "or"),
        ("tickets for customers in Norway", "customers"),
        ("tickets with high status", "high"),
        ("messages by anna", "anna"),
        ("who is anna", ""),
        ("what's bread in French", ""),
    ],
)
async def test_what_it_cannot_make_anything_of_is_named(watch: Watch, question: str, word: str) -> None:
    text, ran = await answered(watch, question)
    assert text.startswith("I do not know")
    assert f"“{word}”" in text or not word
    assert all(one.status == "done" for one in ran)


async def test_a_date_of_creation_that_was_not_asked_for_is_said(watch: Watch) -> None:
    text, _ = await answered(watch, "closed tickets this week")
    assert "with status closed were created this week" in text or "was created this week" in text


async def test_values_behind_each_are_told_apart(watch: Watch) -> None:
    text, ran = await answered(watch, "how many customers on each: free, pro, enterprise")
    assert ran[-1].command == "data/aggregate"
    assert all(one in text for one in ("free", "pro", "enterprise", "26 in all"))


async def test_what_was_said_in_a_room_is_looked_for_in_its_messages(watch: Watch) -> None:
    text, ran = await answered(watch, "what did people say in the workshop today")
    assert {"room": "workshop"}.items() <= conditions(ran).items()
    assert "in workshop today" in text
    assert "winter sale" in text


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("list files larger than 1 MB modified this week", "files over 1 MB changed this week"),
        ("python files smaller than 1 kB changed in the last 3 days", "Python files under 1 kB changed in the last 3"),
        ("empty files", "1 file of 0 bytes"),
        ("files named report", "files called “*report*”"),
    ],
)
async def test_the_conditions_on_files_are_said_back(watch: Watch, question: str, said: str) -> None:
    assert said in (await answered(watch, question))[0]


@pytest.mark.parametrize("question", ["show me the file notes/shopping.txt", "show the file notes/shopping.txt"])
async def test_a_file_that_is_to_be_shown_is_read(watch: Watch, question: str) -> None:
    text, ran = await answered(watch, question)
    assert [one.command for one in ran] == ["file/read"]
    assert "batteries" in text


@pytest.mark.parametrize(
    "question",
    [
        "Head Librarian, are you there?",
        "are you there?",
        "is anybody here?",
        "hey librarian, you around?",
        "Guide, r u there",
    ],
)
async def test_whether_somebody_is_there_runs_nothing(question: str) -> None:
    assert await in_a_room(question) == ([], 'I am here. Say "help" to see what I understand.')


@pytest.mark.parametrize("tools", OFFERED)
async def test_everything_that_it_suggests_is_understood_with_what_is_offered(tools: tuple[str, ...]) -> None:
    everything = [*smalltalk().suggestions, *(one for asks in smalltalk().abilities.values() for one in asks)]
    shown = "".join([(await in_a_room(one, tools))[1] for one in ("what can you do here?", "hello")])
    suggested = [one for one in everything if f'"{one}"' in shown or f"- {one}" in shown]
    assert suggested
    for one in suggested:
        calls, text = await in_a_room(one, tools)
        assert calls, (one, text)


async def test_groups_are_refused_where_nothing_can_group() -> None:
    calls, text = await in_a_room("Count users by access", ("data_list", "data_count"))
    assert calls == []
    assert text.startswith("I do not know")
