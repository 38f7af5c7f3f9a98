"""Drafts of unusual projects, and drafts that are too large or in each other's way."""

from __future__ import annotations

import os
import subprocess

import pytest

from doorward.app import open_house
from doorward.config.home import Home
from doorward.config.settings import SandboxSettings, Settings
from doorward.core.model import Credential, Outcome, Request

pytestmark = pytest.mark.anyio

SETTINGS = Settings(sandbox=SandboxSettings(draft_bytes=1_000_000))


@pytest.fixture
async def house(tmp_path):
    async with open_house(Home(tmp_path / "home"), changes=SETTINGS) as house:
        yield house


@pytest.fixture
async def project(house, tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    await ask(house, "room/create", "", room="", name="app", recipe="coding", workspace=str(folder))
    return folder


async def ask(house, command: str, by: str = "claude", /, room: str = "app", **params) -> Outcome:
    credential = Credential(owner=True, speak_as=by)
    return await house.gate.handle(
        Request(command=command, credential=credential, door="test", room=room, params=params)
    )


def git(folder, *words):
    given = ["git", "-c", "user.name=me", "-c", "user.email=me@example.org", "-c", "protocol.file.allow=always", *words]
    return subprocess.run(given, cwd=folder, check=True, capture_output=True, text=True).stdout


async def test_links_modes_case_clashes_submodules_and_odd_names_come_through_a_merge(house, project):
    inner = project.parent / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    (inner / "part.txt").write_text("part\n")
    git(inner, "add", ".")
    git(inner, "commit", "-qm", "inner")
    git(project, "init", "-q")
    git(project, "submodule", "add", "-q", str(inner), "sub")
    (project / "README").write_text("upper\n")
    (project / "large.bin").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n")
    (project / "link").symlink_to("README")
    (project / "outside").symlink_to("/etc/passwd")
    git(project, "add", ".")
    git(project, "commit", "-qm", "first")
    script = """
        echo lower > readme; echo more >> sub/part.txt; rm link; ln -s readme link; ln -sfn /etc/shadow outside
        chmod 755 README; mkdir -p 'a b/ü'; echo x > 'a b/ü/-n "q".txt'; mkfifo pipe; sed -i s/12/13/ large.bin
        cat outside 2>&1; echo gitdir: /tmp > sub/.git
    """
    ran = await ask(house, "bash", command=script)
    assert ran.status == "done", ran
    status = (await ask(house, "draft/status")).result
    assert status["conflicts"] == []
    assert status["changes"]["leftOut"] == ["pipe"]
    assert "sub/.git" in status["changes"]["withheld"]
    merged = await ask(house, "draft/merge", "")
    assert merged.status == "done", merged
    assert ((project / "readme").read_text(), (project / "README").read_text()) == ("lower\n", "upper\n")
    assert (project / "sub/part.txt").read_text() == "part\nmore\n"
    assert (os.readlink(project / "link"), os.readlink(project / "outside")) == ("readme", "/etc/shadow")
    assert (project / "README").stat().st_mode & 0o777 == 0o755
    assert (project / 'a b/ü/-n "q".txt').read_text() == "x\n"
    assert "size 13" in (project / "large.bin").read_text()
    assert not (project / "pipe").exists()
    assert git(project / "sub", "log", "--format=%s") == "inner\n"


async def test_of_two_drafts_that_change_one_line_the_second_gets_a_conflict(house, project):
    (project / "a.txt").write_text("one\n")
    for by in ("claude", "codex"):
        wrote = await ask(house, "file/write", by, path="a.txt", content=f"{by}\n")
        assert wrote.status == "done", wrote
    first, second = [(await ask(house, "draft/status", by)).result["id"] for by in ("claude", "codex")]
    assert (await ask(house, "draft/merge", "")).code == "bad_params"
    assert (await ask(house, "draft/merge", "", id=first)).status == "done"
    late = await ask(house, "draft/merge", "", id=second)
    assert (late.code, "a.txt" in late.message) == ("conflict", True)
    assert (project / "a.txt").read_text() == "claude\n"
    assert (await ask(house, "file/read", "codex", path="a.txt")).result["content"] == "codex\n"


async def test_a_draft_over_its_limit_can_be_read_and_dropped_but_not_changed(house, project):
    (project / ".gitignore").write_text("out\n")
    await ask(house, "bash", command="head -c 3000000 /dev/urandom > out")
    refused = await ask(house, "file/write", path="more.txt", content="x")
    assert (refused.code, "sandbox.draft_bytes" in refused.message) == ("conflict", True)
    assert (await ask(house, "draft/status")).status == "done"
    assert (await ask(house, "draft/drop")).status == "done"
    assert (await ask(house, "file/write", path="more.txt", content="x")).status == "done"
    assert os.listdir(project) == [".gitignore"]


async def test_another_workspace_of_the_room_gets_drafts_of_its_own(house, project):
    await ask(house, "file/write", path="a.txt", content="in the first\n")
    other = project.parent / "other"
    other.mkdir()
    await ask(house, "room/workspace", "", room="", name="app", workspace=str(other))
    await ask(house, "file/write", path="b.txt", content="in the second\n")
    assert (await ask(house, "file/list")).result["items"][0]["path"] == "b.txt"
    assert [one["workspace"] for one in (await ask(house, "draft/list")).result["items"]] == [str(project), str(other)]


async def test_a_program_that_fills_its_draft_is_stopped_and_earlier_work_can_go_on(house, project):
    assert (await ask(house, "file/write", path="work.txt", content="earlier\n")).status == "done"
    filling = "for n in $(seq 200); do head -c 100000 /dev/urandom > part-$n; sleep 0.05; done; sleep 60"
    stopped = await ask(house, "bash", command=filling)
    assert stopped.code == "command_failed", stopped
    assert "larger than 1,000,000 bytes (setting sandbox.draft_bytes)" in stopped.message
    assert (await ask(house, "file/read", path="work.txt")).result["content"] == "earlier\n"
    assert (await ask(house, "file/write", path="more.txt", content="x")).code == "conflict"
    growing = await ask(house, "bash", command="head -c 2000000 /dev/urandom > another; sleep 60")
    assert "sandbox.draft_bytes" in growing.message
    assert (await ask(house, "bash", command="rm -f part-* another")).status == "done"
    assert (await ask(house, "file/write", path="more.txt", content="x")).status == "done"
    status = (await ask(house, "draft/status")).result
    assert (status["changes"]["created"], status["bytes"] < 100_000) == (["more.txt", "work.txt"], True)


async def test_programs_keep_their_caches_in_the_draft_and_not_in_the_workspace_or_home(house, project):
    script = "mkdir -p $XDG_CACHE_HOME/tool && cd $XDG_CACHE_HOME/tool && echo kept >> state && cat state"
    outputs = [(await ask(house, "bash", command=script)).result["stdout"] for _ in range(2)]
    assert outputs == ["kept\n", "kept\nkept\n"]
    other = await ask(house, "bash", "codex", command='ls -A "$XDG_CACHE_HOME"')
    assert "tool" not in other.result["stdout"]
    filling = 'head -c 3000000 /dev/urandom > "$XDG_CACHE_HOME/large"; sleep 60'
    assert "sandbox.draft_bytes" in (await ask(house, "bash", command=filling)).message
    assert (await ask(house, "draft/status")).result["changes"]["total"] == 0


async def test_a_draft_that_changes_too_much_for_one_review_is_reviewed_and_merged_in_parts(
    house, project, monkeypatch
):
    monkeypatch.setattr("doorward.sandbox.draft_changes.MOST_PATHS", 20)
    script = "for folder in one two; do mkdir $folder; for n in $(seq 15); do echo $n > $folder/$n; done; done"
    assert (await ask(house, "bash", command=script)).status == "done"
    for command, by in (("draft/status", "claude"), ("draft/merge", "")):
        refused = await ask(house, command, by)
        assert ("too many to review at once" in refused.message, "in parts" in refused.hint) == (True, True), refused
    parked = await ask(house, "draft/submit")
    shown = await ask(house, "approval/show", "", room="", id=parked.ticket)
    assert "too many to review at once" in str(shown.result), shown
    assert "one/15" in (await ask(house, "draft/diff", paths=["one"])).result["diff"]
    for folder in ("one", "two"):
        merged = await ask(house, "draft/merge", "", paths=[folder])
        assert merged.status == "done", merged
    assert sorted(len(os.listdir(project / folder)) for folder in ("one", "two")) == [15, 15]
    assert (await ask(house, "draft/status")).result["changes"]["total"] == 0
