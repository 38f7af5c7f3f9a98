"""Requests about Doorward itself: the call that each makes, and what is said about the result."""

from __future__ import annotations

from typing import Any

import pytest
from house_prompts import ask, profile, result

YESTERDAY = {"$gte": "2027-01-14T00:00:00.000Z", "$lt": "2027-01-15T00:00:00.000Z"}
BY_SCOUT = {"$or": [{"caller": "scout"}, {"onBehalfOf": "scout"}]}
ENDED = {"phase": {"$ne": "start"}}


@pytest.mark.parametrize(
    ("request_", "calls"),
    [
        ("How many rooms do we have?", [("data/list", {"collection": "rooms", "limit": 200})]),
        ("@guide which channels are there?", [("data/list", {"collection": "rooms", "limit": 200})]),
        (
            "which rooms use the support recipe",
            [("data/list", {"collection": "rooms", "filter": {"recipe": "support"}, "limit": 200})],
        ),
        (
            "count rooms by recipe",
            [("data/aggregate", {"collection": "rooms", "groupBy": ["recipe"], "orderBy": "-count"})],
        ),
        (
            "who has root access",
            [("data/list", {"collection": "users", "filter": {"access": "root"}, "limit": 200})],
        ),
        (
            "how many users are not active",
            [("data/list", {"collection": "users", "filter": {"$not": {"active": True}}, "limit": 200})],
        ),
        ("who is in the helpdesk room", [("room/who", {"name": "helpdesk"})]),
        ("who else is here?", [("room/who", {"name": "lab"})]),
        ("what is this room about", [("room/show", {"name": "lab"})]),
        ("which recipe governs the lounge", [("room/show", {"name": "lounge"})]),
        ("show the recipe casual-chat", [("recipe/show", {"id": "casual-chat"})]),
        ("which personas are there", [("persona/list", {})]),
        (
            "Is everything running okay?",
            [("system/status", {}), ("debug/logs", {"includeErrorsOnly": True, "tailLines": 10})],
        ),
        ("which version of doorward is this", [("system/status", {})]),
        ("the last 3 lines of the log", [("debug/logs", {"tailLines": 3})]),
        (
            "what errors are in the log about webhooks or printers",
            [
                (
                    "debug/logs",
                    {"tailLines": 20, "includeErrorsOnly": True, "filterPattern": "(?i)(?:webhook|printer)"},
                )
            ],
        ),
        ("which collections are there", [("data/describe", {})]),
        ("what does data/aggregate do", [("help/describe", {"command": "data/aggregate"})]),
        ("which command renames a file", [("help/search", {"query": "renames file"})]),
        ("what time is it", [("shell/date", {})]),
        ("how many cpu cores are there", [("shell/nproc", {})]),
        ("where am I", [("shell/pwd", {})]),
        (
            "how many messages are in the helpdesk",
            [
                (
                    "data/count",
                    {"collection": "messages", "filter": {"$and": [{"room": "helpdesk"}, {"deletedAt": None}]}},
                )
            ],
        ),
        (
            "which approvals are pending",
            [
                (
                    "data/list",
                    {"collection": "approvals", "filter": {"state": "pending"}, "orderBy": "-createdAt", "limit": 20},
                )
            ],
        ),
    ],
)
async def test_a_request_makes_its_calls(request_: str, calls: list[tuple[str, Any]]) -> None:
    answer = await ask(request_)
    assert (answer.calls, answer.text) == (calls, "")


@pytest.mark.parametrize(
    ("request_", "collection", "conditions"),
    [
        ("which commands failed yesterday and why", "audit", [{"status": "failed"}, {"at": YESTERDAY}, ENDED]),
        (
            "what was refused yesterday",
            "audit",
            [{"status": {"$in": ["refused", "denied", "expired"]}}, {"at": YESTERDAY}, ENDED],
        ),
        ("what did scout do yesterday", "executions", [BY_SCOUT, {"at": YESTERDAY}]),
        ("everything scout ran yesterday", "executions", [BY_SCOUT, {"at": YESTERDAY}]),
        ("who tried data/delete yesterday", "executions", [{"command": "data/delete"}, {"at": YESTERDAY}]),
        ("what did people say in the lounge yesterday", "messages", [{"room": "lounge"}, {"at": YESTERDAY}]),
        ("what did I say earlier?", "messages", [{"sender": "owner"}]),
        (
            "What did we decide about the database schema yesterday?",
            "messages",
            [{"$or": [{"text": {"$ilike": "%databas%"}}, {"text": {"$ilike": "%schema%"}}]}, {"at": YESTERDAY}],
        ),
    ],
)
async def test_every_condition_is_in_the_call(request_: str, collection: str, conditions: list[Any]) -> None:
    params = (await ask(request_)).params
    assert params["collection"] == collection
    found = params["filter"].get("$and", [params["filter"]])
    assert [one for one in conditions if one not in found] == []
    assert len(found) <= len(conditions) + 2


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        (("which commands failed today", "and yesterday?"), ("data/list", {"at": YESTERDAY})),
        (("what did mason do yesterday", "what about scout"), ("data/list", BY_SCOUT)),
        (("how many calls were made yesterday", "by command"), ("data/aggregate", {"at": YESTERDAY})),
        (("what did mason do today", "and scout?", "and yesterday"), ("data/list", {"at": YESTERDAY})),
    ],
)
async def test_a_follow_up_changes_one_thing_of_the_earlier_request(
    turns: tuple[str, ...], expected: tuple[str, Any]
) -> None:
    ((command, params),) = (await ask(*turns)).calls
    assert command == expected[0]
    assert expected[1] in params["filter"].get("$and", [params["filter"]])


@pytest.mark.parametrize(
    ("request_", "word"),
    [
        ("which commands did not fail today", "not"),
        ("rooms without messages", "without"),
        ("who created the room lab", "created"),
        ("how many loans were made by anna", "loans"),
        ("which invoices are waiting", "invoices"),
        ("how many errors and warnings are in the log", "warnings"),
    ],
)
async def test_a_word_that_is_not_understood_is_named_and_nothing_runs(request_: str, word: str) -> None:
    answer = await ask(request_)
    assert answer.calls == []
    assert answer.text.startswith("I do not know how to do that")
    assert f"“{word}”" in answer.text


@pytest.mark.parametrize(
    "request_",
    [
        *("deny everything", "who won the match last night", "what did Kim buy last week", "show me the waiting list"),
        *("is my sister at home?", "who used the lathe yesterday", "which machine was used most last month"),
    ],
)
async def test_other_things_are_left_alone(request_: str) -> None:
    answer = await ask(request_)
    assert (answer.calls, answer.acts) == ([], False)


@pytest.mark.parametrize(
    ("request_", "most"),
    [
        ("show the latest thing written in lounge", 1),
        ("newest message in sales please", 1),
        ("what did somebody say last in the room gym", 1),
        ("the last 3 messages in lounge", 3),
    ],
)
async def test_only_as_many_messages_are_told_as_are_asked_for(request_: str, most: int) -> None:
    items = [{"sender": "anna", "at": f"2027-01-10T09:3{at}:00Z", "text": f"note {at}"} for at in range(5)]
    assert (await ask(request_)).params["limit"] == most + 1
    assert (await ask(request_, result("data/list", {"items": items}))).text.count("\n- ") == most


@pytest.mark.parametrize("request_", ["which log files are there", "which files talk about lamps, in which file"])
async def test_questions_about_files_are_not_answered_from_the_log_or_the_messages(request_: str) -> None:
    assert (await ask(request_)).calls == []


async def test_known_names_count_and_other_words_do_not() -> None:
    rooms = profile("rooms", name=("lounge", "night shift"))
    assert (await ask("who is in lounge", data=(rooms,))).calls == [("room/who", {"name": "lounge"})]
    assert (await ask("who is in oslo", data=(rooms,))).calls == []


async def test_a_collection_of_somebodys_own_comes_before_doorwards() -> None:
    own = profile("messages", "managed", text=("hi",))
    assert (await ask("how many messages are there")).commands == ["data/count"]
    reading = await ask("how many messages are there", data=(own,))
    assert reading.calls == [] or reading.params["collection"] == "messages"


async def test_changed_records_are_counted_in_every_collection_of_somebodys_own() -> None:
    own = (profile("orders", "managed"), profile("users"), profile("pets", "managed"))
    answer = await ask("which records changed yesterday", data=own)
    assert [(command, one["collection"]) for command, one in answer.calls] == [
        ("data/count", "orders"),
        ("data/count", "pets"),
    ]
    told = await ask(
        "which records changed yesterday",
        result("data/count", {"count": 2}),
        result("data/count", {"count": 0}),
        data=own,
    )
    assert told.text == "2 records have changed yesterday: 2 in orders."


LOG = {"items": [{"at": "2027-01-15T07:00:00.123Z", "level": "ERROR", "message": "disk full"}], "matched": 1}
REPORT = {
    "items": [
        {"persona": "a", "calls": 3, "done": 2, "failed": 1, "refused": 0, "meanMs": 10.0},
        {"persona": "b", "calls": 1, "done": 1, "failed": 0, "refused": 0, "meanMs": 50.0},
    ]
}
DENIED = {
    "at": "2027-01-15T07:00:00Z",
    "command": "file/write",
    "caller": "guide",
    "status": "denied",
    "note": "Denied by owner.",
}
SAID = [
    {"sender": "anna", "at": "2027-01-10T09:30:00Z", "text": "The schema of the\ndatabase is decided: PostgreSQL."},
    {"sender": "ben", "at": "2027-01-09T09:30:00Z", "text": "Nice schema"},
    {"sender": "ben", "at": "2027-01-09T09:31:00Z", "text": "database schema?"},
    {"sender": "owner", "at": "2027-01-15T08:00:00Z", "text": "What did we decide about the database schema?"},
]


@pytest.mark.parametrize(
    ("request_", "results", "text"),
    [
        (
            "list rooms",
            [("data/list", {"items": [{"name": "a, b and c"}, {"name": "general"}]})],
            "We have 2 rooms that I can see: “a, b and c” and general.",
        ),
        (
            "is everything okay",
            [("ai/report", REPORT), ("debug/logs", LOG)],
            "Not everything is well. 2 callers made 4 calls (3 done, 1 failed, 0 refused)."
            "\n\nThere is 1 error in the log:\n- 15 January 2027 at 07:00 UTC: “disk full”",
        ),
        (
            "is everything okay",
            [("ai/report", {"items": []}), ("debug/logs", {"items": [], "matched": 0})],
            "Yes, everything is running okay. No calls were made yet. There are no errors in the log.",
        ),
        (
            "which commands were denied today",
            [("data/list", {"items": [DENIED]})],
            "I see 1 refused call today:\n"
            "- file/write by guide on 15 January 2027 at 07:00 UTC: denied, because: “Denied by owner.”",
        ),
        (
            "how many calls were denied today",
            [("data/list", {"items": [DENIED]})],
            "I see 1 refused call today.",
        ),
        (
            "What did we decide about the database schema?",
            [("data/list", {"items": SAID})],
            "I see 1 message about that:\n"
            "- anna on 10 January 2027 at 09:30 UTC: “The schema of the database is decided: PostgreSQL.”",
        ),
        (
            "count users by access",
            [("data/aggregate", {"items": [{"access": "edit", "count": 3}, {"access": "root", "count": 1}]})],
            "Users by access: edit 3, root 1 (4 in all).",
        ),
        (
            "does carla have edit access",
            [("data/list", {"items": [{"id": "carla", "access": "read"}]})],
            "No: the user carla has access read.",
        ),
        (
            "what did scout do yesterday",
            [
                (
                    "data/list",
                    {"items": [{**DENIED, "caller": "scout", "note": "", "code": "not_found", "status": "failed"}]},
                )
            ],
            "I see 1 call by scout yesterday:\n- file/write by scout on 15 January 2027 at 07:00 UTC: failed, "
            "because: “not found”",
        ),
        (
            "how many processors are there",
            [("shell/nproc", {"exitCode": 0, "stdout": "2\n", "stderr": ""})],
            "Processors: 2",
        ),
    ],
)
async def test_the_answer_is_said_from_the_results(request_: str, results: list[tuple[str, Any]], text: str) -> None:
    tools = ("ai/report", "debug/logs", "data/list", "data/aggregate", "shell/nproc")
    answer = await ask(request_, *(result(command, value) for command, value in results), tools=tools)
    assert (answer.calls, answer.text) == ([], text)


async def test_values_of_a_field_come_from_the_schema() -> None:
    described = {
        "collection": "orders",
        "fields": {"status": "text"},
        "schema": {"properties": {"status": {"enum": ["open", "paid"]}}},
    }
    everything = {"items": [{"collection": "orders", "kind": "managed"}]}
    results = (result("data/describe", everything), result("data/describe", described))
    assert (await ask("which statuses are possible for orders", *results)).text == (
        "The status of orders can be open or paid."
    )
    assert (await ask("which fields do orders have", *results)).text == "orders has 1 field: status (text)."


@pytest.mark.parametrize(
    ("request_", "tools", "calls"),
    [
        ("How many rooms do we have?", ("room/list",), [("room/list", {})]),
        ("who is here", ("data/list",), ["data/list"]),
        ("what is waiting for approval", ("approval/list",), [("approval/list", {})]),
        ("is everything okay", ("ai/report",), [("ai/report", {})]),
    ],
)
async def test_another_command_is_used_where_the_first_is_not_offered(
    request_: str, tools: tuple[str, ...], calls: list[Any]
) -> None:
    answer = await ask(request_, tools=tools)
    assert answer.calls == calls or answer.commands == calls


async def test_a_command_that_is_not_offered_is_named() -> None:
    answer = await ask("which commands failed today", tools=("room/who",))
    assert answer.calls == []
    assert answer.text.startswith("That needs data/list, which I am not offered here")
