"""What people see of an approval: who asks and for whom, why a person is asked, and whether they may decide."""

from __future__ import annotations


async def asked(driver, path="a", **more):
    outcome = await driver.ask("file/write", params={"path": path, "content": "x\n"}, **more)
    assert outcome.status == "parked"
    return outcome.ticket


async def test_it_says_who_asks_for_whom_and_what_makes_a_person_be_asked(driver):
    shown = (await driver.owner("approval/show", id=await asked(driver))).result
    assert (shown["caller"], shown["kind"], shown["onBehalfOf"]) == ("helper", "ai", "owner")
    assert shown["why"] == "The recipe code-collaboration of the room general requires approval for file/write."
    assert (shown["approvers"], shown["quorum"], shown["safety"]) == (["owner", "admin"], 1, "caution")
    assert shown["cannotDecide"] == ""


async def test_it_says_so_when_the_recipe_would_not_ask_any_more(driver):
    ticket = await asked(driver)
    await driver.owner("room/recipe", name="general", recipe="admin")
    shown = (await driver.owner("approval/show", id=ticket)).result
    assert "would not" in shown["why"]


async def test_a_member_who_may_not_decide_is_told_why_before_they_try(driver):
    await driver.owner("user/create", id="mel", access="full")
    await driver.owner("room/join", name="general", member="mel", role="member")
    token = await driver.token("mel-laptop", user="mel", kind="human", access="full")
    ticket = await asked(driver)
    seen = (await driver.ask("approval/show", token=token, room="", params={"id": ticket})).result
    tried = await driver.ask("approval/approve", token=token, room="", params={"id": ticket})
    assert seen["cannotDecide"] == tried.message
    assert "You may not decide" in tried.message


async def test_decisions_have_a_time_that_people_can_read(driver):
    ticket = await asked(driver)
    await driver.owner("approval/deny", id=ticket)
    (decision,) = (await driver.owner("approval/show", id=ticket)).result["decisions"]
    assert (decision["decider"], decision["verdict"]) == ("owner", "deny")
    assert decision["at"].endswith("Z")


async def test_older_ones_come_page_by_page_without_gap_or_repetition(driver):
    made = [await asked(driver, path=f"file{number}") for number in range(5)]
    seen, before = [], ""
    while before is not None:
        page = (await driver.owner("approval/list", limit=2, before=before)).result
        seen += [item["id"] for item in page["items"]]
        before = page["next"]
    assert seen == made[::-1]


async def test_people_outside_the_room_learn_nothing_of_its_approvals(driver):
    """Members see them, and people with full access, who see every room that is not a direct one."""
    tokens = {}
    for name, access in (("mel", "read"), ("ada", "read"), ("fay", "full")):
        await driver.owner("user/create", id=name, access=access)
        tokens[name] = await driver.token(f"{name}-laptop", user=name, kind="human", access=access)
    await driver.owner("room/join", name="general", member="mel", role="member")
    ticket = await asked(driver, path="plan-of-merger")
    seen = {}
    for name, token in tokens.items():

        async def ask(command, token=token, **params):
            return await driver.ask(command, token=token, room="", params=params)

        shown = await ask("approval/show", id=ticket)
        listed = await ask("data/list", collection="approvals")
        queried = await ask("data/query", sql="SELECT id FROM approvals")
        decided = await ask("approval/deny", id=ticket)
        noted = await ask("data/list", collection="audit", filter={"status": "parked"})
        seen[name] = [
            shown.code if shown.status != "done" else shown.result["params"]["path"],
            len(listed.result["items"]),
            len(queried.result["items"]),
            decided.code,
            [item["note"] for item in noted.result["items"]],
        ]
    waits = ["file/write is waiting for approval."]
    assert seen == {
        "mel": ["plan-of-merger", 1, 1, "not_permitted", waits],
        "ada": ["not_found", 0, 0, "not_found", [None]],
        "fay": ["plan-of-merger", 1, 1, "not_permitted", waits],
    }


async def test_a_long_difference_is_read_to_its_end_and_its_counts_are_those_of_the_whole(driver):
    old = "".join(f"old {number} {'x' * 200}\n" for number in range(100))
    await driver.owner("file/write", path="long", content=old)
    content = "".join(f"new {number} {'y' * 200}\u202e\n" for number in range(100))
    outcome = await driver.ask("file/write", params={"path": "long", "content": content})
    text, offset, parts = "", 0, 0
    while offset is not None:
        shown = (await driver.owner("approval/show", id=outcome.ticket, offset=offset)).result
        assert (shown["linesAdded"], shown["linesRemoved"]) == (100, 100)
        text, offset, parts = text + shown["difference"], shown["differenceNext"], parts + 1
    assert parts == 3
    assert sum(line.startswith("-old") for line in text.splitlines()) == 100
    assert [line for line in text.splitlines() if line.startswith("+new")] == [
        "+" + line.replace("\u202e", "\\u202e") for line in content.splitlines()
    ]
    await driver.owner("approval/deny", id=outcome.ticket)
    assert (await driver.owner("approval/show", id=outcome.ticket)).result["difference"] == ""
