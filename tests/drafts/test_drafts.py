"""Drafts: an agent changes a copy-on-write draft of a project, and a person merges it."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.anyio


@pytest.fixture
async def project(driver, tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("one\ntwo\nthree\n")
    await driver.owner("room/create", name="app", recipe="coding", workspace=str(folder))
    return folder


async def agent(driver, command, /, **params):
    return await driver.ask(command, by="claude", room="app", params=params)


async def test_an_agent_works_in_its_draft_and_the_persons_files_stay_as_they_are(driver, project):
    edited = await agent(driver, "file/edit", path="a.txt", oldString="two", newString="2")
    assert edited.status == "done", edited
    ran = await agent(driver, "bash", command="cat a.txt; echo new > b.txt; ls")
    assert ran.result["stdout"] == "one\n2\nthree\na.txt\nb.txt\n", ran
    read = await agent(driver, "file/read", path="b.txt")
    assert read.result["content"] == "new\n"
    assert sorted(path.name for path in project.iterdir()) == ["a.txt"]
    assert (project / "a.txt").read_text() == "one\ntwo\nthree\n"
