"""The review of a draft by file and by hunk: what a person sees and chooses, and what the agent reads afterwards."""

from __future__ import annotations

import json

import pytest

from doorward.agents.approved_merges import run_approved_merges
from waiting import until

pytestmark = pytest.mark.anyio

LINES = "".join(f"line {n}\n" for n in range(1, 31))
BOTH = LINES.replace("line 2\n", "line two\n").replace("line 29\n", "line twenty-nine\n")


@pytest.fixture
async def project(driver, tmp_path):
    """A project with a draft that changes two places of one file, one place of another, and more."""
    folder = tmp_path / "project"
    (folder / "old").mkdir(parents=True)
    for name in ("a.txt", "b.txt"):
        (folder / name).write_text(LINES)
    (folder / "old" / "gone.txt").write_text("gone\n")
    await driver.owner("room/create", name="app", recipe="coding", workspace=str(folder))
    await done(driver, "file/write", path="a.txt", content=BOTH)
    await done(driver, "file/write", path="b.txt", content=BOTH)
    script = 'rm -r old; mkdir new; printf \'\\0\\1\' > new/data; echo \'{"scripts": {"test": "x"}}\' > package.json'
    await done(driver, "bash", command=f"{script}; echo 3 passed # make test")
    return folder


async def agent(driver, command, /, ticket="", **params):
    return await driver.ask(command, by="claude", room="app", params=params or None, ticket=ticket)


async def done(driver, command, /, **params):
    outcome = await agent(driver, command, **params)
    assert outcome.status == "done", outcome
    return outcome.result


async def person(driver, command, /, **params):
    return await driver.ask(command, by="", room="app", params=params)


async def seen(driver, command, /, **params):
    outcome = await person(driver, command, **params)
    assert outcome.status == "done", outcome
    return outcome.result


async def submit(driver):
    outcome = await agent(driver, "draft/submit", message="all tests pass")
    assert outcome.status == "parked", outcome
    return outcome.ticket


async def test_a_review_lists_every_file_with_its_lines_hunks_and_warnings(driver, project):
    review = await seen(driver, "draft/review", approval=await submit(driver))
    files = {one["path"]: one for one in review["files"]}
    assert list(files) == ["a.txt", "b.txt", "new/data", "old/gone.txt", "package.json"]
    assert files["a.txt"] == {"path": "a.txt", "change": "changed", "linesAdded": 2, "linesRemoved": 2, "hunks": 2}
    assert (files["new/data"]["hunks"], files["old/gone.txt"]["change"]) == (0, "deleted")
    assert "npm" in files["package.json"]["later"]
    assert review["submitted"]
    assert "3 passed" in review["lastRun"]["output"]
    hunks = (await seen(driver, "draft/hunks", path="a.txt"))["hunks"]
    assert [(one["number"], one["next"]) for one in hunks] == [(1, None), (2, None)]
    assert "-line 29\n+line twenty-nine\n" in hunks[1]["text"]
    first = (await seen(driver, "draft/hunks", path="a.txt", hunk=1, limit=20))["hunks"][0]
    rest = (await seen(driver, "draft/hunks", path="a.txt", hunk=1, offset=first["next"]))["hunks"][0]
    assert first["text"] + rest["text"] == hunks[0]["text"]
    assert (await agent(driver, "draft/review")).code == "not_permitted"


async def test_a_merged_part_ends_the_submission_and_the_agent_reads_what_was_left_and_why(driver, project):
    ticket = await submit(driver)
    merged = await seen(
        driver,
        "draft/merge",
        approval=ticket,
        paths=["old/gone.txt"],
        hunks={"a.txt": [2]},
        reason="The other names are not used any more.",
    )
    assert (project / "a.txt").read_text() == LINES.replace("line 29\n", "line twenty-nine\n")
    assert (project / "b.txt").read_text() == LINES
    assert not (project / "old").exists()
    assert not (project / "new").exists()
    outcome = await agent(driver, "draft/submit", ticket=ticket)
    assert outcome.status == "done", outcome
    told = outcome.result
    assert told["summary"] == "owner merged 2 of 5 files (2 of 6 hunks); the rest stays in the draft."
    assert told["mergedPaths"] == ["a.txt", "old/gone.txt"]
    assert told["left"] == [
        {"path": "a.txt", "hunks": [1]},
        {"path": "b.txt"},
        {"path": "new/data"},
        {"path": "package.json"},
    ]
    assert told["reason"] == "The other names are not used any more."
    assert told["execution"] == merged["execution"] != outcome.call
    assert "The other names are not used any more." in outcome.text
    shown = (await driver.owner("approval/show", id=ticket)).result
    assert shown["state"] == "used"
    again = await agent(driver, "draft/submit", ticket=ticket)
    assert "Merged 2 of 5 files (2 of 6 hunks); the rest stays in the draft. Reason: The other names" in again.message
    status = await done(driver, "draft/status")
    assert status["changes"]["changed"] == ["a.txt", "b.txt"]
    assert status["lastMerge"] == told
    undone = await person(driver, "undo", execution=merged["execution"])
    assert undone.status == "done", undone
    assert (project / "a.txt").read_text() == LINES
    assert (project / "old" / "gone.txt").exists()


async def test_a_part_is_merged_as_it_was_submitted_whatever_the_agent_wrote_since(driver, project):
    ticket = await submit(driver)
    await done(driver, "file/write", path="a.txt", content=LINES.replace("line 2\n", "written later\n"))
    await seen(driver, "draft/merge", approval=ticket, hunks={"a.txt": [1]})
    assert (project / "a.txt").read_text() == LINES.replace("line 2\n", "line two\n")
    assert "written later" in (await done(driver, "file/read", path="a.txt"))["content"]


async def test_a_merge_of_a_difference_that_nobody_looked_at_is_refused(driver, project):
    version = (await seen(driver, "draft/review"))["version"]
    await done(driver, "file/write", path="b.txt", content="something else\n")
    refused = await person(driver, "draft/merge", version=version, paths=["b.txt"])
    assert (refused.code, (project / "b.txt").read_text()) == ("conflict", LINES)
    assert (await person(driver, "draft/merge", hunks={"a.txt": []})).code == "bad_params"
    version = (await seen(driver, "draft/review"))["version"]
    await seen(driver, "draft/merge", version=version, paths=["b.txt"])
    assert (project / "b.txt").read_text() == "something else\n"


async def test_conflicts_leave_the_other_files_to_choose_from(driver, project):
    (project / "b.txt").write_text(LINES.replace("line 2\n", "of the person\n"))
    ticket = await submit(driver)
    review = await seen(driver, "draft/review", approval=ticket)
    assert [one["path"] for one in review["conflicts"]] == ["b.txt"]
    assert (await person(driver, "draft/merge", approval=ticket)).code == "conflict"
    await seen(driver, "draft/merge", approval=ticket, paths=["a.txt"])
    assert (project / "a.txt").read_text() == BOTH
    left = (await agent(driver, "draft/submit", ticket=ticket)).result["left"]
    assert {"path": "b.txt"} in left


async def test_a_decided_submission_cannot_be_merged_in_parts(driver, project):
    ticket = await submit(driver)
    await driver.owner("approval/deny", id=ticket, reason="Split it.")
    late = await person(driver, "draft/merge", approval=ticket, paths=["a.txt"])
    assert late.code == "conflict"
    assert "Split it" in late.message
    assert (await person(driver, "draft/review", approval="01k9x2m4q7ab3cde")).code == "not_found"
    assert (project / "a.txt").read_text() == LINES


async def test_a_submission_that_needs_two_people_is_not_merged_in_parts_by_one(driver, project):
    recipe = (await driver.owner("recipe/show", id="coding")).result["recipe"]
    recipe["recipeId"] = "careful"
    recipe["strategy"]["aiCommands"]["requireApproval"]["draft/submit"] = {"quorum": 2}
    await driver.owner("recipe/put", id="careful", text=json.dumps(recipe))
    await driver.owner("room/recipe", name="app", recipe="careful")
    ticket = await submit(driver)
    refused = await person(driver, "draft/merge", approval=ticket, paths=["a.txt"])
    assert refused.code == "conflict"
    assert "needs 2 approvals" in refused.message
    assert (project / "a.txt").read_text() == LINES
    assert (await driver.owner("approval/show", id=ticket)).result["state"] == "pending"


async def test_the_call_of_an_agent_that_has_gone_ends_with_the_part_that_was_merged(driver, project):
    async with run_approved_merges(driver.house.gate, driver.house.services, grace=0):
        ticket = await submit(driver)
        await seen(driver, "draft/merge", paths=["b.txt"])

        async def used():
            return (await driver.owner("approval/show", id=ticket)).result["state"] == "used"

        await until(used)
        await driver.house.gate.settled()
    assert (project / "b.txt").read_text() == BOTH
    assert (project / "a.txt").read_text() == LINES
