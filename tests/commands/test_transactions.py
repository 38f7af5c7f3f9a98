"""What a program changes is made all at once, can be approved as a difference, and can be taken back."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest
from transaction_house import BIG_CHANGE, approved, furnish, listing, parked, script, shown, workspace

from doorward.config import settings
from doorward.core.model import Credential, Request
from doorward.gate.executions.notices import OutputNotice

pytestmark = pytest.mark.anyio


async def test_a_scripts_changes_are_made_and_undone_and_brought_back(driver: Any) -> None:
    folder = workspace(driver)
    furnish(folder)
    before = listing(folder)
    outcome = await script(driver, BIG_CHANGE)
    assert outcome.status == "done", outcome
    after = listing(folder)
    assert after != before
    assert after["made/inner/deep.txt"][1] == "deep\n"
    assert after["link"][1] == "notes.txt"
    assert "docs" not in after
    undone = await driver.owner("undo", execution=outcome.call)
    assert listing(folder) == before
    await driver.owner("undo", execution=undone.call)
    assert listing(folder) == after


async def test_times_are_carried_over_and_brought_back(driver: Any) -> None:
    folder = workspace(driver)
    furnish(folder)
    os.utime(folder / "notes.txt", ns=(5 * 10**17, 5 * 10**17))
    outcome = await script(driver, "touch -d 2001-09-09T01:46:40Z notes.txt; cp -p notes.txt copy")
    assert {(folder / name).stat().st_mtime for name in ("notes.txt", "copy")} == {1e9}
    await driver.owner("undo", execution=outcome.call)
    assert (folder / "notes.txt").stat().st_mtime_ns == 5 * 10**17


async def test_the_result_names_what_changed(driver: Any) -> None:
    furnish(workspace(driver))
    outcome = await script(driver, "rm old; echo x > made; echo y >> notes.txt; mkfifo pipe")
    assert outcome.result["changes"] == {
        "created": ["made"],
        "changed": ["notes.txt"],
        "deleted": ["old"],
        "total": 3,
        "leftOut": ["pipe"],
    }


async def test_a_script_that_is_stopped_changes_nothing(opened: Any) -> None:
    quick = settings.Settings(sandbox=settings.SandboxSettings(wall_seconds=0.5))
    async with opened(changes=quick) as driver:
        outcome = await script(driver, "echo half > half.txt; sleep 30")
        assert (outcome.status, outcome.code) == ("failed", "timed_out")
        assert "0.5 s, its time limit (setting sandbox.wall_seconds). The workspace is unchanged" in outcome.message
        assert listing(workspace(driver)) == {}


async def test_a_script_that_is_cancelled_changes_nothing(driver: Any) -> None:
    wrote = asyncio.Event()
    request = Request(
        command="bash",
        credential=Credential(owner=True),
        door="test",
        params={"command": "echo half > half.txt; echo ready; sleep 30"},
    )
    running = driver.house.gate.handle(
        request, lambda notice: wrote.set() if isinstance(notice, OutputNotice) else None
    )
    task = asyncio.create_task(running)
    await wrote.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert listing(workspace(driver)) == {}


async def test_a_script_that_fails_by_itself_leaves_what_it_did(driver: Any) -> None:
    outcome = await script(driver, "echo kept > kept.txt; exit 3")
    assert (outcome.status, outcome.code, outcome.result["exitCode"]) == ("failed", "command_failed", 3)
    assert listing(workspace(driver))["kept.txt"][1] == "kept\n"
    await driver.owner("undo", execution=outcome.call)
    assert listing(workspace(driver)) == {}


async def test_a_live_script_writes_as_it_runs(driver: Any) -> None:
    outcome = await script(driver, "echo now > now.txt", live=True)
    assert outcome.status == "done"
    assert "changes" not in outcome.result
    assert listing(workspace(driver))["now.txt"][1] == "now\n"
    undo = await driver.ask("undo", by="", room="", params={"execution": outcome.call})
    assert undo.code == "not_found"


async def test_an_undo_is_refused_when_something_changed_since(driver: Any) -> None:
    folder = workspace(driver)
    furnish(folder)
    outcome = await script(driver, BIG_CHANGE)
    (folder / "new.txt").write_text("mine\n")
    after = listing(folder)
    undo = await driver.ask("undo", by="", room="", params={"execution": outcome.call})
    assert (undo.status, undo.code) == ("failed", "conflict")
    assert "new.txt" in undo.message
    assert listing(folder) == after


async def test_a_program_of_the_catalogue_can_be_undone(driver: Any) -> None:
    folder = workspace(driver)
    furnish(folder)
    before = listing(folder)
    outcome = await driver.owner("shell/rm", recursive=True, paths=["docs"])
    assert "docs" not in listing(folder)
    await driver.owner("undo", execution=outcome.call)
    assert listing(folder) == before


async def test_a_file_with_a_name_that_is_no_text_stops_the_change(driver: Any) -> None:
    outcome = await script(driver, "touch fine; touch $'\\xff'")
    assert (outcome.status, outcome.code) == ("failed", "command_failed")
    assert "not UTF-8" in outcome.message
    assert listing(workspace(driver)) == {}


async def test_people_see_the_difference_and_approve_just_that(driver: Any) -> None:
    folder = workspace(driver)
    furnish(folder)
    ticket = await parked(driver, command="date +%N > stamp; seq 0 8998 > z; echo two >> notes.txt; cat notes.txt")
    assert "stamp" not in listing(folder)
    question = await shown(driver, ticket)
    assert "+two" in question["difference"]
    assert "exit code 0" in question["difference"]
    assert (question["linesAdded"], question["linesRemoved"]) == (9001, 0)
    stamp = next(line for line in question["difference"].splitlines() if line.startswith("+") and line[1:].isdigit())
    outcome = await approved(driver, ticket)
    assert outcome.status == "done", outcome
    assert outcome.result["stdout"] == "one\ntwo\n"
    assert listing(folder)["stamp"][1] == f"{stamp[1:]}\n"
    await driver.owner("undo", execution=outcome.call)
    assert "stamp" not in listing(folder)


async def test_an_agent_learns_nothing_from_a_question_about_its_call(driver: Any) -> None:
    (workspace(driver) / "private.txt").write_text("the treasure is under the oak\n")
    outcome = await driver.ask("bash", params={"command": "cat private.txt"})
    assert outcome.status == "parked"
    assert "treasure" not in str(outcome)
    listed = await driver.owner("approval/list")
    assert "treasure" not in str(listed.result)
    assert all("treasure" not in str(row) for row in await driver.ledger())


async def test_an_approved_difference_is_refused_when_the_workspace_changed(driver: Any) -> None:
    folder = workspace(driver)
    furnish(folder)
    ticket = await parked(driver, command=BIG_CHANGE)
    (folder / "notes.txt").write_text("something else\n")
    before = listing(folder)
    outcome = await approved(driver, ticket)
    assert (outcome.status, outcome.code) == ("failed", "conflict")
    assert "workspace has changed" in outcome.message
    assert listing(folder) == before


async def test_a_change_elsewhere_does_not_spoil_an_approved_difference(driver: Any) -> None:
    folder = workspace(driver)
    furnish(folder)
    ticket = await parked(driver, command="echo two >> notes.txt")
    (folder / "unrelated.txt").write_text("meanwhile\n")
    assert (await approved(driver, ticket)).status == "done"
    assert listing(folder)["notes.txt"][1] == "one\ntwo\n"


async def test_an_approved_write_is_refused_when_its_file_changed(driver: Any) -> None:
    folder = workspace(driver)
    (folder / "a.txt").write_text("one\n")
    ticket = await parked(driver, "file/write", path="a.txt", content="two\n")
    assert (await shown(driver, ticket))["difference"].splitlines()[-2:] == ["-one", "+two"]
    (folder / "a.txt").write_text("other\n")
    outcome = await approved(driver, ticket)
    assert (outcome.code, (folder / "a.txt").read_text()) == ("conflict", "other\n")


async def test_an_approved_edit_of_an_unchanged_file_is_made(driver: Any) -> None:
    (workspace(driver) / "a.txt").write_text("one\n")
    ticket = await parked(driver, "file/edit", path="a.txt", oldString="one", newString="two")
    assert (await approved(driver, ticket)).status == "done"
    assert (workspace(driver) / "a.txt").read_text() == "two\n"


async def test_what_would_fail_is_told_to_whoever_decides_and_not_to_whoever_asks(driver: Any) -> None:
    (workspace(driver) / "a.txt").write_text("one\n")
    outcome = await driver.ask("file/edit", params={"path": "a.txt", "oldString": "none", "newString": "two"})
    assert outcome.status == "parked"
    assert "does not occur" not in str(outcome)
    assert "does not occur" in (await shown(driver, outcome.ticket))["difference"]


@pytest.mark.parametrize("verdict", ["approve", "deny"])
async def test_what_was_foreseen_is_forgotten_once_it_is_not_needed(driver: Any, verdict: str) -> None:
    ticket = await parked(driver, command="echo secret > s.txt")
    await driver.owner(f"approval/{verdict}", id=ticket)
    if verdict == "approve":
        await driver.ask("", ticket=ticket)
    (row,) = await driver.house.services.store.read("SELECT foreseen, effect FROM approvals WHERE id = ?", (ticket,))
    assert (row["foreseen"], row["effect"]) == ("", None)


async def test_an_approved_effect_survives_a_restart(opened: Any) -> None:
    async with opened() as driver:
        ticket = await parked(driver, command="echo kept > kept.txt")
        await driver.owner("approval/approve", id=ticket)
    async with opened() as driver:
        outcome = await driver.ask("", ticket=ticket)
        assert outcome.status == "done", outcome
        assert listing(workspace(driver))["kept.txt"][1] == "kept\n"


async def test_with_foreseeing_off_the_script_runs_when_it_is_approved(opened: Any) -> None:
    plain = settings.Settings(approvals=settings.ApprovalSettings(foresee=False))
    async with opened(changes=plain) as driver:
        ticket = await parked(driver, command="echo ran > ran.txt")
        assert (await shown(driver, ticket))["difference"] == ""
        assert (await approved(driver, ticket)).status == "done"
        assert listing(workspace(driver))["ran.txt"][1] == "ran\n"


async def test_a_script_that_does_not_end_is_asked_about_without_its_effect(opened: Any) -> None:
    quick = settings.Settings(sandbox=settings.SandboxSettings(wall_seconds=0.3))
    async with opened(changes=quick) as driver:
        ticket = await parked(driver, command="sleep 30")
        assert "not known" in (await shown(driver, ticket))["difference"]


async def test_people_are_asked_soon_about_a_script_whose_effect_takes_long_to_work_out(opened: Any) -> None:
    soon = settings.Settings(approvals=settings.ApprovalSettings(foresee_seconds=0.3))
    async with opened(changes=soon) as driver:
        ticket = await parked(driver, command="sleep 30")
        assert "could not be previewed" in (await shown(driver, ticket))["difference"]
        assert not [one for one in driver.house.services.executions if not one.has_ended]


async def test_folders_that_nobody_may_write_to_are_made_with_what_is_in_them(driver: Any) -> None:
    outcome = await script(driver, "mkdir d; echo in > d/f; chmod 500 d")
    assert outcome.status == "done", outcome
    assert listing(workspace(driver))["d"][0] & 0o777 == 0o500
    await driver.owner("undo", execution=outcome.call)
    assert listing(workspace(driver)) == {}


async def test_files_with_holes_do_not_fill_the_memory(driver: Any) -> None:
    outcome = await script(driver, "for n in $(seq 10); do truncate -s 9000000 hole$n; done")
    assert (outcome.status, outcome.code) == ("failed", "command_failed")
    assert "scratch_bytes" in outcome.message
    assert listing(workspace(driver)) == {}


async def test_what_cannot_be_undone_is_said(driver: Any) -> None:
    os.mkfifo(workspace(driver) / "pipe")
    outcome = await script(driver, "rm pipe")
    assert outcome.result["changes"]["undo"] == "no: the old content of pipe cannot be stored"


async def test_a_pipe_in_the_place_of_a_folder_removes_the_folder(driver: Any) -> None:
    furnish(workspace(driver))
    outcome = await script(driver, "rm -r docs; mkfifo docs")
    assert outcome.result["changes"]["deleted"] == ["docs/a.md", "docs"]
    assert "docs" not in listing(workspace(driver))


async def test_names_and_output_cannot_imitate_the_difference(driver: Any) -> None:
    ticket = await parked(driver, command="touch $'ok\\nIt changes nothing.'; echo 'It changes nothing.'")
    lines = (await shown(driver, ticket))["difference"].splitlines()
    assert "It changes nothing." not in lines
    assert "  | It changes nothing." in lines
