"""Questions about records: a request becomes a query by the words of the collections, fields and values."""

from __future__ import annotations

from typing import Any

import pytest
from house_prompts import ask, result, tool

from doorward.store.collection_profiles import CollectionProfile, FieldProfile

TOOLS = ("data/list", "data/count", "data/aggregate", "data/query", "data/read", "file/list")


def field(name: str, kind: str = "text", *values: Any, **more: Any) -> FieldProfile:
    return FieldProfile(name=name, kind=kind, values=values, complete=True, **more)  # type: ignore[arg-type]


PLANTS = CollectionProfile(
    name="plants",
    kind="managed",
    key="id",
    label="name",
    count=30,
    fields=(
        field("name", "text", "Silver Fern", "Red Maple", "Winter Rose"),
        field("family", "text", "fern", "tree", "shrub"),
        field("height_cm", "number", 40, 300, 90, least=40, most=300),
        field("unitPrice", "number", 4.5, 80.0, least=4.5, most=80.0),
        field("hardy", "boolean", True, False),
        field("pot_code", "text", "P-1", missing=4),
    ),
)
GARDENERS = CollectionProfile(
    name="gardeners",
    kind="managed",
    key="id",
    label="full_name",
    count=12,
    fields=(
        field("full_name", "text", "Ida Holm", "Bo Berg", "Ida Storm"),
        field("phone", "text", "040 111 222", "040 333 444"),
        field("town", "text", "Lund", "Ystad"),
        field("started", dates=True, least="2025-01-02", most="2026-12-30"),
    ),
)
SALES = CollectionProfile(
    name="sales",
    kind="managed",
    key="id",
    count=90,
    fields=(
        field("plant", "text", "p1", "p2", links="plants", links_by="id"),
        field("gardener", "text", "g1", "g2", links="gardeners", links_by="id"),
        field("sold_on", dates=True, least="2026-09-01", most="2027-01-14"),
        field("amount", "number", 4.5, 160.0, least=4.5, most=160.0),
        field("paid", "boolean", True, False),
    ),
)
HOUSE = (PLANTS, GARDENERS, SALES)


async def asked(*requests: str) -> tuple[str, dict[str, Any]]:
    """The only call of the last request. An SQL text and its values are told as `sql`."""
    answer = await ask(*requests, tools=TOOLS, data=HOUSE)
    assert len(answer.calls) == 1, answer.text
    return answer.calls[0]


@pytest.mark.parametrize(
    ("request_", "command", "params"),
    [
        ("how many plants do we have?", "data/count", {"collection": "plants"}),
        ("hw many shrub plants are there", "data/count", {"collection": "plants", "filter": {"family": "shrub"}}),
        ("number of hardy plants", "data/count", {"collection": "plants", "filter": {"hardy": True}}),
        ("count the plants that aren't hardy", "data/count", {"collection": "plants", "filter": {"hardy": False}}),
        ("how many unpaid sales are there", "data/count", {"collection": "sales", "filter": {"paid": False}}),
        ("how many gardeners live in Ystad", "data/count", {"collection": "gardeners", "filter": {"town": "Ystad"}}),
        (
            "count the sales since Monday",
            "data/count",
            {"collection": "sales", "filter": {"sold_on": {"$gte": "2027-01-11"}}},
        ),
        (
            "which plants cost less than 20",
            "data/list",
            {"collection": "plants", "filter": {"unitPrice": {"$lt": 20}}, "limit": 200},
        ),
        (
            "list plants taller than 90 cm",
            "data/list",
            {"collection": "plants", "filter": {"height_cm": {"$gt": 90}}, "limit": 200},
        ),
        (
            "plants without a pot code",
            "data/list",
            {"collection": "plants", "filter": {"pot_code": {"$exists": False}}, "limit": 200},
        ),
        (
            "show me the 3 cheapest plants",
            "data/list",
            {
                "collection": "plants",
                "orderBy": "unitPrice",
                "filter": {"$and": [{"unitPrice": {"$exists": True}}]},
                "limit": 3,
            },
        ),
        (
            "what's the phone number of Bo Berg?",
            "data/list",
            {"collection": "gardeners", "filter": {"full_name": "Bo Berg"}, "limit": 200},
        ),
        (
            "phone of Ida Strom",
            "data/list",
            {"collection": "gardeners", "filter": {"full_name": "Ida Storm"}, "limit": 200},
        ),
        (
            "how many plants per family?",
            "data/aggregate",
            {"collection": "plants", "groupBy": ["family"], "metrics": {"count": {"count": "*"}}, "limit": 200},
        ),
        (
            "average price of the plants",
            "data/aggregate",
            {
                "collection": "plants",
                "metrics": {"avg": {"avg": "unitPrice"}, "count": {"count": "*"}},
                "limit": 200,
            },
        ),
    ],
)
async def test_a_question_becomes_one_call(request_: str, command: str, params: dict[str, Any]) -> None:
    assert await asked(request_) == (command, params)


@pytest.mark.parametrize(
    ("request_", "parts", "values"),
    [
        ("how many sales by Bo Berg", ['FROM "sales" AS t', 'j0."full_name" = ?'], ["Bo Berg"]),
        ("which gardeners have sold a Red Maple?", ['FROM "gardeners" AS t', "EXISTS", '"name" = ?'], ["Red Maple"]),
        ("sales per gardener", ['j0."full_name" AS name', "GROUP BY 1"], []),
        ("total amount of sales of tree plants", ['sum(t."amount")', 'j0."family" = ?'], ["tree"]),
        ("which gardener has the most sales?", ["ORDER BY count DESC", 'r."gardener" = t."id"'], []),
        ("gardeners without sales", ["NOT EXISTS"], []),
    ],
)
async def test_links_between_collections_are_followed(request_: str, parts: list[str], values: list[Any]) -> None:
    command, params = await asked(request_)
    assert command == "data/query"
    assert [part for part in parts if part not in params["sql"]] == []
    assert params.get("params", []) == values


async def test_values_are_bound_and_names_are_quoted() -> None:
    odd = CollectionProfile(
        name='pl"ants',
        kind="managed",
        key="id",
        label="na me",
        count=9,
        fields=(
            field("na me", "text", "x'; DROP TABLE a"),
            field('li"nk', "text", "p1", "p2", links="plants", links_by="id"),
        ),
    )
    trap = "x'; DROP TABLE a"
    answer = await ask(f'how many pl ants are called "{trap}" with family fern', tools=TOOLS, data=(odd, PLANTS))
    ((command, params),) = answer.calls
    assert (command, params["params"]) == ("data/query", [trap, "fern"])
    assert "DROP" not in params["sql"]
    assert 'FROM "pl""ants" AS t LEFT JOIN "plants" AS j0 ON j0."id" = t."li""nk"' in params["sql"]


@pytest.mark.parametrize(
    ("requests", "where"),
    [
        (("list the shrub plants", "and which of those are hardy?"), {"family": "shrub", "hardy": True}),
        (("how many sales are paid", "and unpaid?"), {"paid": False}),
    ],
)
async def test_a_follow_up_goes_on_from_the_question_before(requests: tuple[str, str], where: dict[str, Any]) -> None:
    _, params = await asked(*requests)
    assert params["filter"] == where


@pytest.mark.parametrize(
    ("request_", "word"),
    [
        ("how many purple plants are there", "purple"),
        ("which plants did the neighbours steal", "steal"),
        ("what is the colour of Red Maple", "colour"),
        ("plants that bloom in moonlight", "moonlight"),
        ("the second cheapest plant", "second"),
    ],
)
async def test_a_word_that_nothing_explains_is_named_and_nothing_runs(request_: str, word: str) -> None:
    answer = await ask(request_, tools=TOOLS, data=HOUSE)
    assert (answer.calls, answer.acts) == ([], False)
    assert answer.text.startswith("I do not know")
    assert word in answer.text


async def test_a_name_that_two_people_have_is_asked_back() -> None:
    answer = await ask("phone number of Ida?", tools=TOOLS, data=HOUSE)
    assert answer.calls == []
    assert answer.text == "Which one do you mean: “Ida Holm” or “Ida Storm”?"


async def test_a_month_without_its_year_is_asked_back_when_two_can_be_meant() -> None:
    answer = await ask("which gardeners started in March?", tools=TOOLS, data=HOUSE)
    assert answer.calls == []
    assert answer.text == "Which year do you mean: 2025 or 2026?"


@pytest.mark.parametrize(
    ("request_", "value", "text"),
    [
        ("how many shrub plants do we have", {"count": 1}, "There is 1 plant with family shrub."),
        ("any hardy plants?", {"items": []}, "No, there are no plants with hardy yes."),
        (
            "which plants cost less than 20",
            {"items": [{"id": "p1", "name": "Silver Fern", "unitPrice": 4.5}, {"id": "p2", "name": "Heath"}]},
            "There are 2 plants with unit price under 20:\n- “Silver Fern”\n- Heath",
        ),
        (
            "phone number of Bo Berg",
            {"items": [{"full_name": "Bo Berg", "phone": "040 333 444"}]},
            "phone of “Bo Berg”: “040 333 444”.",
        ),
    ],
)
async def test_the_answer_stands_on_the_result(request_: str, value: Any, text: str) -> None:
    command, _ = await asked(request_)
    answer = await ask(request_, result(command, value), tools=TOOLS, data=HOUSE)
    assert (answer.calls, answer.text) == ([], text)


async def test_a_hundred_wide_collections_are_read_and_an_empty_house_says_so() -> None:
    wide = tuple(
        CollectionProfile(
            name=f"table_{number}",
            kind="managed",
            key="id",
            count=5,
            fields=tuple(field(f"field_{number}_{one}", "text", f"value {one}") for one in range(50)),
        )
        for number in range(100)
    )
    answer = await ask("how many plants do we have", tools=TOOLS, data=(*wide, *HOUSE))
    assert answer.calls == [("data/count", {"collection": "plants"})]
    empty = await ask("how many plants do we have", tools=TOOLS)
    assert (empty.calls, empty.acts) == ([], False)


async def test_values_that_are_commands_or_names_of_fields_stay_values() -> None:
    traps = CollectionProfile(
        name="notes",
        kind="managed",
        key="id",
        label="title",
        count=20,
        fields=(
            field("title", "text", "delete everything", "data/list"),
            field("kind", "text", "price", "delete"),
            field("price", "number", 3, 9),
        ),
    )
    answer = await ask("how many notes of the kind delete are there", tools=TOOLS, data=(traps,))
    assert answer.calls == [("data/count", {"collection": "notes", "filter": {"kind": "delete"}})]
    answer = await ask("how many notes of the kind price", tools=TOOLS, data=(traps,))
    assert answer.calls == [("data/count", {"collection": "notes", "filter": {"kind": "price"}})]


async def test_a_field_that_links_one_of_doorwards_own_collections_is_a_plain_field() -> None:
    tickets = CollectionProfile(
        name="tickets",
        kind="managed",
        key="id",
        count=20,
        fields=(
            field("assignee", "text", "ann", "ben", links="users", links_by="id"),
            field("subject", "text", "Door"),
        ),
    )
    answer = await ask("how many tickets are assigned to ben", tools=TOOLS, data=(tickets,))
    assert answer.calls == [("data/count", {"collection": "tickets", "filter": {"assignee": "ben"}})]


BOATS = CollectionProfile(
    name="boats",
    kind="managed",
    key="id",
    label="name",
    count=12,
    fields=(
        field("name", "text", "Old Gull", "Petrel", "Tern"),
        field("year_built", "number", 1990, 2024, least=1990, most=2024),
        field("inspection_due", dates=True, least="2026-12-01", most="2027-06-01"),
        field("licence_expires", dates=True, least="2026-12-01", most="2028-06-01"),
    ),
)
TRIPS = CollectionProfile(
    name="trips",
    kind="managed",
    key="id",
    count=60,
    fields=(
        field("boat", "text", "b1", "b2", links="boats", links_by="id"),
        field("day", dates=True, least="2026-12-01", most="2027-02-01"),
        field("status", "text", "sailed", "cancelled", "planned"),
    ),
)


@pytest.mark.parametrize(
    ("request_", "parts"),
    [
        ("what's the oldest boat", {"orderBy": "year_built"}),
        ("boats with an expired licence", {"filter": {"licence_expires": {"$lt": "2027-01-14~"}}}),
        ("boats that never sailed", 'NOT EXISTS (SELECT 1 FROM "trips"'),
        ("which boat was cancelled most often", 'r."status" = ?) AS count'),
        ("when is the next trip", 'ORDER BY t."day" ASC LIMIT 1'),
    ],
)
async def test_dates_ahead_are_no_age_and_conditions_of_linked_records_stay_theirs(request_: str, parts: Any) -> None:
    answer = await ask(request_, tools=TOOLS, data=(BOATS, TRIPS))
    assert len(answer.calls) == 1, answer.text
    ((_, params),) = answer.calls
    if isinstance(parts, str):
        assert parts in params["sql"]
    else:
        assert parts.items() <= params.items()


@pytest.mark.parametrize("request_", ["how old is Petrel?", "how many people fit on Tern", "who is out today?"])
async def test_a_word_is_no_part_of_a_name_and_no_date_by_chance(request_: str) -> None:
    answer = await ask(request_, tools=TOOLS, data=(BOATS, TRIPS))
    assert (answer.calls, answer.acts) == ([], False)


async def test_a_field_that_is_called_like_its_collection_is_measured() -> None:
    outages = CollectionProfile(
        name="outages",
        kind="managed",
        key="id",
        count=20,
        fields=(field("machine", "text", "iris-28.lan", "slate-09.lan"), field("downtime", "number", 5, 526)),
    )
    answer = await ask("highest downtime of outages for iris-28.lan?", tools=TOOLS, data=(outages,))
    metrics = {"max": {"max": "downtime"}, "count": {"count": "*"}}
    where = {"machine": "iris-28.lan"}
    assert answer.calls == [
        ("data/aggregate", {"collection": "outages", "filter": where, "metrics": metrics, "limit": 200})
    ]
    tools = (*TOOLS, tool("file/delete", reads_only=False, destroys=True, asks=True))
    answer = await ask("the outage on slate-09.lan was a mistake, delete it", tools=tools, data=(outages,))
    assert "file/delete" not in answer.commands


SHOWS = CollectionProfile(
    name="shows",
    kind="managed",
    key="id",
    count=40,
    fields=(
        field("play", "text", "p1", "p2", links="plays", links_by="id"),
        field("day", dates=True, least="2026-09-01", most="2027-03-20"),
        field("starts", "text", "19:30", "20:00"),
        field("origin", "text", "Lund", "Ystad"),
        field("destination", "text", "Lund", "Ystad"),
        field("main_singer", "text", "s1", "s2", links="singers", links_by="id"),
    ),
)
PLAYS = CollectionProfile(
    name="plays", kind="managed", key="id", label="title", count=9, fields=(field("title", "text", "Moon", "Tin Man"),)
)
SINGERS = CollectionProfile(
    name="singers",
    kind="managed",
    key="id",
    label="name",
    count=14,
    fields=(
        field("name", "text", "Ida Holm", "Bo Berg"),
        field("voice", "text", "main", "choir"),
        field("email", "text", "a@b.example"),
        field("born", dates=True, least="1960-02-01", most="2001-11-30"),
        field("joined", dates=True, least="2019-02-01", most="2026-11-30"),
        field("on_leave", "boolean", True, False),
        field("solos", "number", 0, 3, missing=3),
    ),
)
STAGE = (SHOWS, PLAYS, SINGERS)
"""Today is Friday, 15 January 2027."""


@pytest.mark.parametrize(
    ("request_", "days"),
    [
        ("list the shows in March", ["2027-03-01", "2027-03-31~"]),
        ("list the shows in October", ["2026-10-01", "2026-10-31~"]),
        ("is there a show on monday", ["2027-01-18", "2027-01-18~"]),
        ("how many shows were there on monday", ["2027-01-11", "2027-01-11~"]),
        ("shows on monday", ["2027-01-18", "2027-01-18~"]),
        ("which singers joined on monday", ["2027-01-11", "2027-01-11~"]),
        ("shows in the next 10 days", ["2027-01-15", "2027-01-25~"]),
        ("shows before christmas", ["2026-12-24~"]),
    ],
)
async def test_a_bare_month_or_weekday_is_settled_by_the_tense_and_the_records(request_: str, days: list[str]) -> None:
    answer = await ask(request_, tools=("data/query",), data=STAGE)
    assert answer.params["params"] == days


@pytest.mark.parametrize(
    ("request_", "parts", "values"),
    [
        ("whose birthday is it this month?", ["""substr(t."born", 6, 5) >= ?"""], ["01-01", "01-31"]),
        ("which singers were born in 1988", ["""t."born" >= ?"""], ["1988-01-01", "1988-12-31~"]),
        ("which singers have no solos", ["""(t."solos" IS NULL OR t."solos" = 0)"""], []),
        ("shows to Lund", ["""t."destination" = ?"""], ["Lund"]),
        ("shows from Lund", ["""t."origin" = ?"""], ["Lund"]),
        ("email of the main in Tin Man", ["""EXISTS (SELECT 1 FROM "shows\""""], ["Tin Man"]),
        ("which singers sang in a show yesterday", [], None),
    ],
)
async def test_words_are_not_taken_for_the_nearest_field(request_: str, parts: list[str], values: Any) -> None:
    answer = await ask(request_, tools=("data/query",), data=STAGE)
    if values is None:
        assert answer.calls == [], answer.calls
    else:
        assert [part for part in parts if part not in answer.params["sql"]] == []
        assert answer.params.get("params", []) == values


@pytest.mark.parametrize(
    "request_",
    [
        "which shows leave Lund on sunday",  # no flag `on_leave` of a linked singer
        "did anyone bring a Moon yesterday",
        "where are we playing on friday and what time do we start",
        "any sold out shows so far",
    ],
)
async def test_a_part_or_a_verb_that_is_not_understood_is_not_dropped(request_: str) -> None:
    answer = await ask(request_, tools=TOOLS, data=STAGE)
    assert (answer.calls, answer.acts) == ([], False)


async def test_a_date_without_a_field_belongs_to_the_linked_records_of_a_person() -> None:
    answer = await ask("which gardeners sold a Red Maple yesterday", tools=TOOLS, data=HOUSE)
    assert answer.params["params"] == ["Red Maple", "2027-01-14", "2027-01-14~"]
    assert 'AND e00."sold_on" >= ?' in answer.params["sql"].replace("e10.", "e00.").replace("e20.", "e00.")


async def test_a_cancelled_record_is_not_announced_as_if_it_took_place() -> None:
    found = result("data/query", {"items": [{"id": "t-1", "boat": "Tern", "day": "2027-01-20", "status": "cancelled"}]})
    answer = await ask("when is the next trip", found, tools=TOOLS, data=(BOATS, TRIPS))
    assert "20 January 2027" in answer.text
    assert "status cancelled" in answer.text


FERRIES = CollectionProfile(
    name="vessels",
    kind="managed",
    key="id",
    label="name",
    count=12,
    fields=(
        field("name", "text", "Old Gull", "Petrel", "Tern"),
        field("capacity", "number", 90, 300),
        field("car_spaces", "number", 0, 30, missing=2),
        field("skipper", "text", "Ida Holm", "Bo Berg"),
        field("next_inspection", dates=True, least="2026-12-01", most="2027-06-01"),
    ),
)
TICKETS = CollectionProfile(
    name="bookings",
    kind="managed",
    key="id",
    count=60,
    fields=(
        field("passenger", "text", "p1", "p2", links="passengers", links_by="id"),
        field("fare", "number", 12.5, 80.0),
        field("seats", "number", 1, 4),
        field("paid", "boolean", True, False),
        field("vehicle", "text", "car", "van"),
    ),
)
PASSENGERS = CollectionProfile(
    name="passengers",
    kind="managed",
    key="id",
    label="name",
    count=30,
    fields=(field("name", "text", "Anna Lind", "Ewan Ray"), field("phone", "text", "1", "2")),
)


@pytest.mark.parametrize(
    ("request_", "part"),
    [
        ("which boats can't take cars", '(t."car_spaces" IS NULL OR t."car_spaces" = 0)'),
        ("which ships are overdue for their inspection", 't."next_inspection" < ?'),
        ("how many people fit on the Petrel", 't."name" = ?'),
        ("who skippers the Tern?", 't."name" = ?'),
        ("which passenger has spent the most with us?", 'coalesce(sum(r."fare"), 0)'),
        ("how much money do people still owe us for bookings", 'sum(t."fare") AS sum'),
        ("what do the unpaid bookings add up to", 'sum(t."fare") AS sum'),
        ("what did we take in fares for each kind of vehicle", 't."vehicle" AS name, sum(t."fare") AS sum'),
    ],
)
async def test_everyday_words_mean_the_fields_that_hold_the_answer(request_: str, part: str) -> None:
    answer = await ask(request_, tools=("data/query",), data=(FERRIES, TICKETS, PASSENGERS))
    assert len(answer.calls) == 1, answer.text
    assert part in answer.params["sql"]


async def test_a_period_replaces_that_of_the_question_before() -> None:
    asked_ = ("which vessels are overdue", "and in the next 30 days?")
    answer = await ask(*asked_, tools=TOOLS, data=(FERRIES, TICKETS, PASSENGERS))
    assert answer.params["filter"] == {"next_inspection": {"$gte": "2027-01-15", "$lt": "2027-02-14~"}}


@pytest.mark.parametrize("request_", ["what is the euro to dollar rate today", "the policy number of Anna Lind"])
async def test_a_word_beside_a_known_one_is_not_swallowed(request_: str) -> None:
    answer = await ask(request_, tools=TOOLS, data=(FERRIES, TICKETS, PASSENGERS))
    assert (answer.calls, answer.acts) == ([], False)
