"""Drafts: an agent changes a copy-on-write draft of a project, and a person merges it."""

from __future__ import annotations

import os
import subprocess

import pytest

from doorward.agents.approved_merges import run_approved_merges
from waiting import until

pytestmark = pytest.mark.anyio

LINES = "".join(f"line {n}\n" for n in range(1, 31))


@pytest.fixture
async def project(driver, tmp_path):
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "app.txt").write_text(LINES)
    (folder / "gone.txt").write_text("gone\n")
    (folder / ".gitignore").write_text("build/\n*.log\n")
    await driver.owner("room/create", name="app", recipe="coding", workspace=str(folder))
    return folder


async def agent(driver, command, /, by="claude", **params):
    return await driver.ask(command, by=by, room="app", params=params)


async def done(driver, command, /, **params):
    outcome = await agent(driver, command, **params)
    assert outcome.status == "done", outcome
    return outcome.result


async def person(driver, command, /, **params):
    return await driver.ask(command, by="", room="app", params=params)


async def bash(driver, script):
    return await done(driver, "bash", command=script)


async def replace(driver, old, new):
    await done(driver, "file/edit", path="src/app.txt", oldString=old, newString=new)


def listing(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


async def submit(driver, message="all tests pass"):
    """Submit, and return the ticket and what the person sees."""
    outcome = await agent(driver, "draft/submit", message=message)
    assert outcome.status == "parked", outcome
    shown = (await driver.owner("approval/show", id=outcome.ticket)).result
    return outcome.ticket, shown


async def test_an_agent_works_without_asking_and_one_approval_merges_everything_and_undo_reverts_it(driver, project):
    before = listing(project)
    await replace(driver, "line 2\n", "line two\n")
    await bash(
        driver, "rm gone.txt; mkdir new build; echo x > new/file.txt; echo o > build/out; cat src/app.txt > a.log"
    )
    assert (await done(driver, "file/read", path="new/file.txt"))["content"] == "x\n"
    assert listing(project) == before
    checked = await bash(driver, "echo 3 tests passed # make test")
    assert checked["exitCode"] == 0
    ticket, shown = await submit(driver)
    text = str(shown)
    for part in ("-line 2", "+line two", "3 tests passed", "all tests pass", "build", "gone.txt"):
        assert part in text, part
    assert listing(project) == before
    await driver.owner("approval/approve", id=ticket)
    merged = await driver.ask("draft/submit", by="claude", room="app", ticket=ticket)
    assert merged.status == "done", merged
    assert (project / "src/app.txt").read_text() == LINES.replace("line 2\n", "line two\n")
    assert sorted(path.name for path in project.iterdir()) == [".gitignore", "new", "src"]
    # The draft goes on from there, with its build output.
    again = await bash(driver, "ls; cat build/out")
    assert again["stdout"].split() == ["a.log", "build", "new", "src", "o"]
    assert (await done(driver, "draft/status"))["changes"]["total"] == 0
    undone = await person(driver, "undo", execution=merged.call)
    assert undone.status == "done", undone
    assert listing(project) == before


async def test_an_approved_draft_is_merged_although_its_agent_has_gone(driver, project):
    await replace(driver, "line 2\n", "line two\n")
    async with run_approved_merges(driver.house.gate, driver.house.services, grace=0):
        ticket, _ = await submit(driver)
        lasting = await driver.ask("approval/approve", by="", room="", params={"id": ticket, "scope": "always"})
        assert "for the difference that it shows" in lasting.message
        assert (project / "src/app.txt").read_text() == LINES
        await driver.owner("approval/approve", id=ticket)
        await until(lambda: (project / "src/app.txt").read_text() != LINES)
        await driver.house.gate.settled()
    shown = (await driver.owner("approval/show", id=ticket)).result
    assert shown["state"] == "used"
    assert (project / "src/app.txt").read_text() == LINES.replace("line 2\n", "line two\n")


async def test_an_approved_draft_of_an_agent_with_a_token_is_merged_as_long_as_the_token_is_valid(
    driver, project, caplog
):
    made = (await driver.owner("token/create", name="robot", kind="ai", access="edit", rooms=["app"])).result

    async def ask(command, **params):
        return await driver.ask(command, token=made["token"], room="app", session="one", params=params)

    file = project / "src/app.txt"
    async with run_approved_merges(driver.house.gate, driver.house.services, grace=0):
        for text in ("by the robot\n", "after its end\n"):
            assert (await ask("file/write", path="src/app.txt", content=text)).status == "done"
            parked = await ask("draft/submit")
            assert parked.status == "parked", parked
            if text == "after its end\n":
                await driver.owner("token/revoke", id=made["id"])
            await driver.owner("approval/approve", id=parked.ticket)
            await until(lambda: file.read_text() == "by the robot\n" or "not merged" in caplog.text)
            await driver.house.gate.settled()
        await until(lambda: "the approved draft of robot was not merged: its access ended" in caplog.text)
    assert file.read_text() == "by the robot\n"


async def test_what_a_person_changed_meanwhile_is_merged_by_lines_and_never_lost(driver, project):
    await replace(driver, "line 2\n", "line two\n")
    text = (project / "src/app.txt").read_text()
    (project / "src/app.txt").write_text(text.replace("line 29\n", "line of the person\n"))
    assert (await done(driver, "draft/status"))["mergedByLines"] == ["src/app.txt"]
    merged = await person(driver, "draft/merge")
    assert merged.status == "done", merged
    both = LINES.replace("line 2\n", "line two\n").replace("line 29\n", "line of the person\n")
    assert (project / "src/app.txt").read_text() == both
    assert (await done(driver, "file/read", path="src/app.txt"))["content"] == both


@pytest.mark.parametrize("keep", ["", "draft", "workspace"])
async def test_a_conflict_stops_the_merge_until_the_agent_resolves_it(driver, project, keep):
    await replace(driver, "line 2\n", "of the draft\n")
    theirs = LINES.replace("line 2\n", "of the person\n")
    (project / "src/app.txt").write_text(theirs)
    refused = await person(driver, "draft/merge")
    assert refused.code == "conflict"
    assert "src/app.txt" in refused.message
    _, shown = await submit(driver)
    assert "cannot be merged" in str(shown)
    assert (project / "src/app.txt").read_text() == theirs
    await done(driver, "draft/update", keep=keep)
    content = (await done(driver, "file/read", path="src/app.txt"))["content"]
    if keep == "":
        assert "<<<<<<< workspace\nof the person\n=======\nof the draft\n>>>>>>> draft\n" in content
        await done(driver, "file/write", path="src/app.txt", content=LINES.replace("line 2\n", "of both\n"))
    status = await done(driver, "draft/status")
    assert status["conflicts"] == []
    merged = await person(driver, "draft/merge")
    expected = {"": "of both\n", "draft": "of the draft\n", "workspace": "of the person\n"}[keep]
    assert merged.status == "done" or keep == "workspace", merged
    assert (project / "src/app.txt").read_text() == LINES.replace("line 2\n", expected)


async def test_a_deleted_folder_is_merged_and_a_file_that_a_person_changed_in_it_is_a_conflict(driver, project):
    for folder in ("one", "two"):
        (project / folder / "inside").mkdir(parents=True)
        (project / folder / "inside" / "file.txt").write_text("old\n")
    await bash(driver, "rm -r one two; mkdir two; echo new > two/new.txt")
    assert (await done(driver, "draft/status"))["conflicts"] == []
    (project / "one/inside/file.txt").write_text("of the person\n")
    refused = await person(driver, "draft/merge")
    assert refused.code == "conflict"
    assert "one/inside/file.txt" in refused.message
    assert (project / "two/inside/file.txt").exists()
    await person(driver, "draft/merge", paths=["two"])
    assert [path.name for path in (project / "two").iterdir()] == ["new.txt"]
    await done(driver, "draft/update", keep="draft")
    merged = await person(driver, "draft/merge")
    assert merged.status == "done", merged
    assert not (project / "one").exists()


async def test_a_person_merges_single_files_and_hunks_and_the_rest_stays_in_the_draft(driver, project):
    await replace(driver, "line 2\n", "line two\n")
    await replace(driver, "line 29\n", "line twenty-nine\n")
    await bash(driver, "echo a > a.txt; echo b > b.txt")
    wrong = await person(driver, "draft/merge", hunks={"src/app.txt": [3]})
    assert "hunks 1 to 2" in wrong.message
    await person(driver, "draft/merge", paths=["a.txt"], hunks={"src/app.txt": [2]})
    assert (project / "src/app.txt").read_text() == LINES.replace("line 29\n", "line twenty-nine\n")
    assert (project / "a.txt").read_text() == "a\n"
    assert not (project / "b.txt").exists()
    left = await done(driver, "draft/status")
    assert left["changes"]["total"] == 2
    assert left["conflicts"] == []
    await person(driver, "draft/merge")
    assert (project / "src/app.txt").read_text() == LINES.replace("line 2\n", "line two\n").replace(
        "line 29\n", "line twenty-nine\n"
    )


async def test_drafts_run_side_by_side_and_an_agent_has_no_hand_in_those_of_others(driver, project):
    await replace(driver, "line 2\n", "by claude\n")
    first = (await done(driver, "draft/status"))["id"]
    assert (await agent(driver, "file/read", by="codex", path="src/app.txt")).result["content"] == LINES
    await agent(driver, "file/write", by="codex", path="other.txt", content="by codex")
    for command in ("draft/diff", "draft/drop", "draft/update"):
        assert (await agent(driver, command, by="codex", id=first)).code == "not_permitted"
    second = (await done(driver, "draft/open", name="another task"))["id"]
    assert (await done(driver, "file/read", path="src/app.txt"))["content"] == LINES
    await done(driver, "draft/open", id=first)
    assert "by claude" in (await done(driver, "file/read", path="src/app.txt"))["content"]
    assert (await agent(driver, "draft/merge")).code == "not_permitted"
    await done(driver, "draft/drop", id=second)
    await person(driver, "draft/drop", id=first)
    listed = (await person(driver, "draft/list")).result["items"]
    assert [one["agent"] for one in listed] == ["codex"]
    assert (project / "src/app.txt").read_text() == LINES
    assert os.listdir(driver.house.home.path / "drafts") == [listed[0]["id"]]


async def test_what_git_would_run_later_never_leaves_a_draft_and_commits_do(driver, project):
    def git(*words):
        return subprocess.run(
            ["git", "-c", "user.name=me", "-c", "user.email=me@example.org", *words],
            cwd=project,
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-qm", "first")
    marker = project.parent / "ran"
    await bash(
        driver,
        f"""git config user.email a@example.org; git config user.name agent
        git config core.fsmonitor 'touch {marker}; false'
        git config filter.x.clean 'touch {marker}; cat'; echo '*.txt filter=x' > .gitattributes; git add .gitattributes
        printf '#!/bin/sh\\ntouch {marker}\\n' > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout
        echo more >> src/app.txt; echo '{{"scripts": {{"test": "touch x"}}}}' > package.json
        git commit -qam 'by the agent' --no-verify""",
    )
    git("status")  # refreshes the index, as a person's tools do all the time
    assert git("log", "--format=%s").split("\n")[0] == "first"
    _, shown = await submit(driver)
    assert ".git/config" in str(shown)
    assert "package.json" in str(shown)
    assert "git runs the filters" in str(shown)
    merged = await person(driver, "draft/merge")
    assert merged.status == "done", merged
    assert git("log", "--format=%s").split("\n")[0] == "by the agent"
    assert git("status", "--porcelain") == "?? package.json\n"
    git("checkout", "-q", "-b", "other")
    (project / "src/app.txt").write_text("by the person\n")
    git("add", ".")
    assert not marker.exists()
    assert "fsmonitor" not in (project / ".git/config").read_text()


async def test_a_folder_that_is_gone_and_bad_input_are_said_and_the_draft_is_kept(driver, project):
    assert (await agent(driver, "draft/status")).code == "not_found"
    await replace(driver, "line 2\n", "line two\n")
    project.rename(project.parent / "elsewhere")
    gone = await person(driver, "draft/merge")
    assert gone.status != "done"
    assert str(project) in gone.message
    (project.parent / "elsewhere").rename(project)
    missing = await person(driver, "draft/diff", id="nothing")
    assert missing.code == "not_found"
    assert (await person(driver, "draft/merge", paths=["src/none.txt"])).code == "bad_params"
    assert "line two" in (await person(driver, "draft/diff")).result["diff"]
