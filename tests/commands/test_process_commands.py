"""Long-running programs of a room: reached by its other programs, read, stopped, and gone with Doorward."""

from __future__ import annotations

import asyncio
import json
import secrets
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

import pytest
from room_house import make_room, run, say

from doorward.config import settings
from doorward.core.model import Outcome
from doorward_process import Doorward
from waiting import AT_LEISURE, until, wait_until

pytestmark = pytest.mark.anyio

RUN = ("run", "--as", "me", "--room", "web")
SERVE = "printf yes > answer; exec python3 -u -m http.server 8080"


def processes(marker: str) -> list[int]:
    """The processes on this machine that have this text among their arguments."""
    found = []
    for arguments in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if marker.encode() in arguments.read_bytes():
                found.append(int(arguments.parent.name))
        except OSError:
            continue
    return found


async def started(driver: Any, room: str, script: str, by: str = "", **params: Any) -> str:
    outcome = await run(driver, room, "process/start", by=by, command=script, **params)
    assert outcome.status == "done", outcome
    return str(outcome.result["id"])


async def listed(driver: Any, room: str, id: str) -> dict[str, Any]:
    outcome = await run(driver, room, "process/list")
    return next(one for one in outcome.result["items"] if one["id"] == id)


async def test_a_started_server_is_reached_read_and_stopped_with_its_whole_tree(driver: Any) -> None:
    await make_room(driver, "web")
    await make_room(driver, "other")
    marker = f"marker-{secrets.token_hex(8)}"
    # One child ignores the polite signal, and another left its family.
    tree = f"(trap '' TERM; exec -a {marker} sleep 1000) & setsid bash -c 'exec -a {marker} sleep 1000' & "
    id = await started(driver, "web", tree + SERVE, name="server")
    await until(lambda: _has_ports(driver, id), AT_LEISURE)
    facts = await listed(driver, "web", id)
    assert (facts["name"], facts["state"], facts["ports"]) == ("server", "running", [8080])
    get = "curl -sS -m 20 http://localhost:8080/answer"
    assert await say(driver, "web", get) == "yes"
    assert "Couldn't connect" in await say(driver, "other", get)
    logs = (await run(driver, "web", "process/logs", id=id)).result
    assert "Serving HTTP on" in logs["text"]
    assert '"GET /answer HTTP/1.1" 200' in logs["text"]
    assert await say(driver, "web", get) == "yes"
    later = (await run(driver, "web", "process/logs", id=id, since=logs["next"])).result
    assert later["text"].count("GET /answer") == 1
    last = (await run(driver, "web", "process/logs", id=id, tail=1)).result
    assert last["text"] == later["text"]
    assert len(processes(marker)) >= 2
    stopped = (await run(driver, "web", "process/stop", id=id)).result
    assert (stopped["state"], stopped["end"]) == ("ended", "stopped by owner")
    assert processes(marker) == []
    again = await run(driver, "web", "process/stop", id=id)
    assert (again.code, "has ended already: stopped by owner" in again.message) == ("conflict", True)
    assert "Couldn't connect" in await say(driver, "web", get)


async def _has_ports(driver: Any, id: str) -> bool:
    return "ports" in await listed(driver, "web", id)


async def test_a_person_opens_its_port_with_a_link_that_works_once(driver: Any) -> None:
    await make_room(driver, "web")
    id = await started(driver, "web", SERVE)
    await until(lambda: _has_ports(driver, id), AT_LEISURE)
    refused = await run(driver, "web", "process/open", by="helper", id=id)
    assert refused.code == "not_permitted"
    wrong = await run(driver, "web", "process/open", id=id, port=9)
    assert f"Give a port on which process {id} listens; valid: 8080; given 9." in wrong.message
    link = urlsplit((await run(driver, "web", "process/open", id=id)).result["url"])
    assert str(link.hostname).endswith(".localhost")
    locked = await fetch(link, "/answer")
    assert (locked[0], "This port is locked" in locked[2]) == (403, True)
    elsewhere = await fetch(link, link.path, Host=f"127.0.0.1:{link.port}")
    assert elsewhere[0] == 400
    status, fields, _ = await fetch(link, link.path)
    assert (status, fields["location"]) == (303, "/")
    cookie = fields["set-cookie"].partition(";")[0]
    assert "HttpOnly; SameSite=Lax" in fields["set-cookie"]
    assert (await fetch(link, "/answer", Cookie=f"other=1; {cookie}"))[::2] == (200, "yes")
    assert (await fetch(link, "/answer", Cookie=cookie[:-1]))[0] == 403
    assert (await fetch(link, link.path))[0] == 403
    await run(driver, "web", "process/stop", id=id)
    with pytest.raises(ConnectionRefusedError):
        await fetch(link, "/answer", Cookie=cookie)


async def fetch(link: SplitResult, path: str, **fields: str) -> tuple[int, dict[str, str], str]:
    """What a browser gets that opens a page below this link."""
    reader, writer = await asyncio.open_connection("127.0.0.1", link.port)
    head = {"Host": link.netloc, "Connection": "close", **fields}
    writer.write("\r\n".join((f"GET {path} HTTP/1.1", *map(": ".join, head.items()), "", "")).encode())
    answer, _, body = (await reader.read()).decode().partition("\r\n\r\n")
    writer.close()
    status, *lines = answer.split("\r\n")
    given = dict(line.split(": ", 1) for line in lines)
    return int(status.split()[1]), {name.lower(): value for name, value in given.items()}, body


async def test_members_see_a_process_and_only_its_caller_and_admins_stop_it(driver: Any) -> None:
    await make_room(driver, "web")
    await make_room(driver, "other")
    id = await started(driver, "web", "echo secret=hunter22; sleep 1000", by="helper", name="watcher")
    seen = await run(driver, "web", "process/list", by="second")
    assert [one["name"] for one in seen.result["items"]] == ["watcher"]
    refused = await run(driver, "web", "process/stop", by="second", id=id)
    assert (refused.code, "belongs to helper" in refused.message) == ("not_permitted", True)
    elsewhere = await run(driver, "other", "process/list", by="second")
    assert elsewhere.result["items"] == []
    stopped = await driver.owner("process/stop", id=id)
    assert stopped.result["end"] == "stopped by owner"
    missing = await run(driver, "web", "process/logs", id="nothing")
    assert (missing.code, "There is no process 'nothing' in your rooms" in missing.message) == ("not_found", True)


async def test_limits_and_bad_scripts_are_refused_before_anything_starts(opened: Any) -> None:
    few = settings.Settings(sandbox=settings.SandboxSettings(room_processes=2, caller_processes=1))
    async with opened(changes=few) as driver:
        await make_room(driver, "web")
        await started(driver, "web", "sleep 1000")
        mine = await run(driver, "web", "process/start", command="sleep 1000")
        assert "1 processes of yours in this room run already; at most 1 may" in mine.message
        await started(driver, "web", "sleep 1000", by="helper")
        full = await run(driver, "web", "process/start", by="second", command="sleep 1000")
        assert "2 processes in this room run already; at most 2 may (setting sandbox.room_processes)" in full.message
        bad = await run(driver, "web", "process/start", command="rm -rf /")
        assert (bad.code, bad.message.startswith("process/start: the script is refused")) == ("bad_params", True)
        nowhere = await driver.ask("process/start", by="", room="", params={"command": "true"})
        assert "process/start runs in a room" in nowhere.message
        gone = await run(driver, "web", "process/start", command="true", folder="no/such")
        assert "The folder 'no/such' does not exist" in gone.message or gone.code == "conflict"


RULES = {
    "allowed like bash": ({}, "done"),
    "parked like bash": ({"requireApproval": {"bash": True}}, "parked"),
    "refused like bash": ({"blacklist": ["bash"]}, "refused"),
    "narrowed like bash": ({"parameterRules": {"bash": {"command": {"const": "make"}}}}, "refused"),
    "named itself": ({"blacklist": ["bash"], "whitelist": ["process/*"]}, "done"),
}


@pytest.mark.parametrize("which", RULES)
async def test_a_recipe_that_does_not_name_it_governs_it_as_bash(driver: Any, which: str) -> None:
    commands, status = RULES[which]
    await make_room(driver, "web", **commands)
    outcome = await run(driver, "web", "process/start", by="helper", command="true")
    assert outcome.status == status, outcome


async def test_it_cannot_change_what_git_runs_and_new_repositories_are_named(driver: Any) -> None:
    await make_room(driver, "web")
    workspace = driver.house.home.path / "workspace"
    (workspace / ".git" / "hooks").mkdir(parents=True)
    (workspace / ".git" / "config").write_text("[core]\n\tbare = false\n")
    script = (
        "echo x > .git/hooks/pre-commit; echo x >> .git/config; mv .git away; "
        "mkdir -p sub/.git/hooks; echo x > sub/.git/hooks/pre-commit; echo done > free"
    )
    id = await started(driver, "web", script)
    facts = await until(lambda: _ended(driver, id), AT_LEISURE)
    assert (workspace / ".git" / "config").read_text() == "[core]\n\tbare = false\n"
    assert list((workspace / ".git" / "hooks").iterdir()) == []
    assert (workspace / "free").read_text() == "done\n"
    assert "sub/.git/hooks/pre-commit" in facts["note"]


async def _ended(driver: Any, id: str) -> dict[str, Any] | None:
    facts = await listed(driver, "web", id)
    return facts if facts["state"] == "ended" else None


async def test_a_script_is_not_tried_out_before_approval_while_it_could_reach_a_process(driver: Any) -> None:
    await make_room(driver, "web", requireApproval={"bash": True})
    id = (await approved(driver, await run(driver, "web", "process/start", by="helper", command=SERVE))).result["id"]
    await until(lambda: _has_ports(driver, id), AT_LEISURE)
    waiting = await run(driver, "web", "bash", by="helper", command="curl -sS localhost:8080/answer")
    before = (await run(driver, "web", "process/logs", id=id)).result["text"]
    done = await approved(driver, waiting)
    after = (await run(driver, "web", "process/logs", id=id)).result["text"]
    assert done.result["stdout"] == "yes"
    assert (before.count("GET /answer"), after.count("GET /answer")) == (0, 1)


async def approved(driver: Any, waiting: Outcome) -> Outcome:
    assert waiting.status == "parked", waiting
    await driver.owner("approval/approve", id=waiting.ticket)
    outcome: Outcome = await driver.ask("", room="web", ticket=waiting.ticket)
    assert outcome.status == "done", outcome
    return outcome


async def test_in_a_draft_it_serves_the_draft_and_the_workspace_stays(driver: Any, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "answer").write_text("old")
    await driver.owner("room/create", name="web", recipe="coding", workspace=str(project))
    await run(driver, "web", "file/write", by="helper", path="answer", content="new")
    serve = "echo > made; exec python3 -u -m http.server 8080"
    id = await started(driver, "web", serve, by="helper")
    await until(lambda: _has_ports(driver, id), AT_LEISURE)
    got = await run(driver, "web", "bash", by="helper", command="curl -sS localhost:8080/answer; ls")
    assert got.result["stdout"] == "newanswer\nmade\n"
    assert [(path.name, path.read_text()) for path in project.iterdir()] == [("answer", "old")]
    assert (await driver.owner("process/stop", id=id)).result["state"] == "ended"


async def test_a_process_ends_with_doorward_and_the_next_one_says_so(opened: Any) -> None:
    marker = f"marker-{secrets.token_hex(8)}"
    async with opened() as driver:
        await make_room(driver, "web")
        id = await started(driver, "web", f"exec -a {marker} sleep 1000")
        await until(lambda: processes(marker))
    assert processes(marker) == []
    async with opened() as driver:
        facts = await listed(driver, "web", id)
        assert (facts["state"], facts["end"]) == ("ended", "ended with the server")


def test_a_killed_doorward_leaves_nothing_running(tmp_path: Path) -> None:
    doorward = Doorward(tmp_path / "home")
    marker = f"marker-{secrets.token_hex(8)}"
    with doorward.up() as server:
        doorward("run", "--as", "me", "--room", "", "room/create", "--name=web", "--recipe=admin")
        start = (*RUN, "process/start", f"--command=exec -a {marker} sleep 1000")
        begun = json.loads(doorward(*start).out)
        assert begun["status"] == "done", begun
        wait_until(lambda: processes(marker))
        server.process.kill()
        server.process.wait()
        wait_until(lambda: not processes(marker))
    listing = doorward(*RUN, "process/list")
    assert listing.out, listing
    shown = json.loads(listing.out)
    assert [one["end"] for one in shown["result"]["items"]] == ["ended with the server"]
