"""What others change while a program runs, or while people decide, is not lost, and nothing is made by halves."""

from __future__ import annotations

import asyncio
import secrets
from typing import Any

import pytest
from transaction_house import BIG_CHANGE, approved, end, furnish, listing, parked, script, workspace

from doorward.commands import workspace_changes
from doorward.core.errors import CommandFailed
from doorward.core.model import Credential, Request
from doorward.gate.executions.notices import OutputNotice

pytestmark = pytest.mark.anyio

MEANWHILE: list[tuple[str, str, str]] = [
    ("echo A >> notes.txt", "echo B >> notes.txt", "notes.txt"),
    ("rm -r docs", "echo late > docs/late.md", "docs/late.md"),
    ("mv docs papers", "echo late > docs/late.md", "docs/late.md"),
    ("echo q > docs/q", "rm -r docs", "docs"),
    ("echo mine > new.txt", "echo theirs > new.txt", "new.txt"),
    ("rm notes.txt", "chmod 600 notes.txt", "notes.txt"),
]


@pytest.mark.parametrize(("program", "meanwhile", "path"), MEANWHILE, ids=[f"{a} / {b}" for a, b, _ in MEANWHILE])
async def test_what_others_change_while_a_program_runs_is_not_lost_and_neither_is_its_output(
    driver: Any, program: str, meanwhile: str, path: str
) -> None:
    folder, marker = workspace(driver), secrets.token_hex(8)
    furnish(folder)
    request = Request(
        command="bash",
        credential=Credential(owner=True),
        door="test",
        params={
            "command": f"{program}; trap 'echo end >&2; exit 7' USR1; echo ready; while sleep 0.1; do :; done #{marker}"
        },
    )
    ready = asyncio.Event()
    running = driver.house.gate.handle(
        request, lambda notice: ready.set() if isinstance(notice, OutputNotice) else None
    )
    task = asyncio.create_task(running)
    await ready.wait()
    await script(driver, meanwhile, live=True)
    before = listing(folder)
    end(marker)
    outcome = await task
    assert (outcome.status, outcome.code) == ("failed", "conflict"), outcome
    assert f"{path!r} is" in outcome.message
    assert [outcome.result[key] for key in ("exitCode", "stdout", "stderr")] == [7, "ready\n", "end\n"]
    assert listing(folder) == before


@pytest.mark.parametrize("change", ["mv docs papers", "rm -r docs", "rm -r docs; echo file > docs"])
async def test_an_approved_change_of_a_folder_is_refused_when_something_is_new_in_it(driver: Any, change: str) -> None:
    folder = workspace(driver)
    furnish(folder)
    ticket = await parked(driver, command=f"{change}; echo said; exit 3")
    (folder / "docs" / "new.md").write_text("new\n")
    before = listing(folder)
    outcome = await approved(driver, ticket)
    assert (outcome.status, outcome.code) == ("failed", "conflict")
    assert "new.md" in outcome.message
    assert (outcome.result["exitCode"], outcome.result["stdout"]) == (3, "said\n")
    assert listing(folder) == before


async def test_an_undo_is_refused_when_something_is_new_in_what_would_go(driver: Any) -> None:
    folder = workspace(driver)
    furnish(folder)
    outcome = await script(driver, "mv docs papers")
    (folder / "papers" / "keep").write_text("keep\n")
    before = listing(folder)
    undo = await driver.ask("undo", by="", room="", params={"execution": outcome.call})
    assert (undo.status, undo.code) == ("failed", "conflict")
    assert listing(folder) == before
    (folder / "papers" / "keep").unlink()
    await driver.owner("undo", execution=outcome.call)
    assert listing(folder)["docs/a.md"][1] == "a\n"


async def test_a_change_that_fails_in_the_middle_is_taken_back(driver: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = workspace(driver)
    furnish(folder)
    before = listing(folder)
    put = workspace_changes.restore

    def failing(root: int, path: str, state: Any) -> None:
        if path == "zebra" and state is not None:
            raise CommandFailed("Could not change 'zebra': the disk is full.")
        put(root, path, state)

    monkeypatch.setattr(workspace_changes, "restore", failing)
    outcome = await script(driver, f"{BIG_CHANGE}; echo z > zebra")
    assert (outcome.status, outcome.code) == ("failed", "command_failed")
    assert outcome.message.startswith("Nothing was changed: Could not change 'zebra'")
    assert listing(folder) == before
