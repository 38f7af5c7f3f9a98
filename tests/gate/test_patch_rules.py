"""The gate judges every file of a patch as the file command that would make the same change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

EDIT = "*** Update File: {0}\n-a\n+b\n"
ADD = "*** Add File: {0}\n+x\n"
DELETE = "*** Delete File: {0}\n"
GUARDED = "built-in: changes of files that run later need approval"


@pytest.fixture
async def lab(driver: Any) -> Any:
    await driver.owner("recipe/put", id="lab", text=json.dumps(recipe()))
    await driver.owner("room/create", name="lab", recipe="lab")
    folder = Path(driver.house.home.path, "workspace")
    for path in ("src/a.py", "b.py", ".git/config", "package.json"):
        (folder / path).parent.mkdir(exist_ok=True, parents=True)
        (folder / path).write_text("a\n")
    return driver


def recipe(**more: Any) -> dict[str, Any]:
    commands = {"enabled": True, "whitelist": ["*"], "maxCommandsPerMinute": 10_000, **more}
    return {"recipeId": "lab", "displayName": "Lab", "strategy": {"aiCommands": commands}}


async def ask(lab: Any, *parts: str, **rules: Any) -> Any:
    """An agent's patch under a recipe with these rules."""
    await lab.owner("recipe/put", id="lab", text=json.dumps(recipe(**rules)))
    lab.clock.advance(60)
    text = "".join(["*** Begin Patch\n", *parts, "*** End Patch\n"])
    return await lab.ask("file/patch", room="lab", params={"patch": text})


IN_SRC = {"path": {"glob": "src/**"}}


@pytest.mark.parametrize(
    ("parts", "rules"),
    [
        ([EDIT.format("src/a.py"), EDIT.format("b.py")], {"parameterRules": {"file/*": IN_SRC}}),
        ([EDIT.format("src/a.py"), EDIT.format("b.py")], {"parameterRules": {"file/edit": IN_SRC}}),
        ([EDIT.format("src/a.py"), EDIT.format("b.py")], {"parameterRules": {"file/patch": IN_SRC}}),
        ([EDIT.format("src/a.py"), EDIT.format("src/../b.py")], {"parameterRules": {"file/edit": IN_SRC}}),
        ([EDIT.format("src/a.py"), EDIT.format("/workspace/b.py")], {"parameterRules": {"file/edit": IN_SRC}}),
        ([EDIT.format("src/a.py"), ADD.format("c.py")], {"parameterRules": {"file/write": IN_SRC}}),
        ([EDIT.format("src/a.py"), DELETE.format("b.py")], {"blacklist": ["file/delete"]}),
        (["*** Update File: src/a.py\n*** Move to: c.py\n"], {"parameterRules": {"file/write": IN_SRC}}),
        (["*** Update File: src/a.py\n*** Move to: src/c.py\n"], {"blacklist": ["file/delete"]}),
        ([ADD.format("src/c.py")], {"parameterRules": {"file/write": {"content": {"maxLength": 1}}}}),
        ([EDIT.format("src/a.py")], {"parameterRules": {"file/edit": {"newString": {"maxLength": 1}}}}),
    ],
)
async def test_a_patch_cannot_do_what_a_file_command_may_not(lab: Any, parts: list[str], rules: Any) -> None:
    folder = Path(lab.house.home.path, "workspace")
    outcome = await ask(lab, *parts, **rules)
    assert (outcome.status, outcome.code) == ("refused", "not_permitted"), outcome
    assert (folder / "src/a.py").read_text() == "a\n"


async def test_a_patch_within_the_rules_runs(lab: Any) -> None:
    outcome = await ask(lab, EDIT.format("src/a.py"), ADD.format("src/b.py"), parameterRules={"file/*": IN_SRC})
    assert outcome.status == "done", outcome
    assert (Path(lab.house.home.path, "workspace") / "src/b.py").read_text() == "x\n"


@pytest.mark.parametrize("path", [".git/config", "package.json", "deep/.envrc", "./src/../.vscode/tasks.json"])
async def test_one_guarded_path_among_others_makes_the_patch_wait(lab: Any, path: str) -> None:
    moved = await ask(lab, f"*** Update File: b.py\n*** Move to: {path}x/../.bashrc\n")
    assert (moved.status, moved.rule) == ("parked", GUARDED), moved
    part = (EDIT if path in (".git/config", "package.json") else ADD).format(path)
    outcome = await ask(lab, EDIT.format("b.py"), part)
    assert (outcome.status, outcome.rule) == ("parked", GUARDED), outcome
    shown = str((await lab.owner("approval/show", id=outcome.ticket)).result)
    assert "which runs outside the sandbox" in shown
    assert "+b" in shown
    await lab.owner("approval/approve", id=outcome.ticket)
    assert (await lab.ask("", room="lab", ticket=outcome.ticket)).status == "done"
    assert (Path(lab.house.home.path, "workspace") / "b.py").read_text() == "b\n"


async def test_a_part_that_needs_approval_makes_the_whole_patch_wait(lab: Any) -> None:
    asks = {"file/delete": True}
    assert (await ask(lab, EDIT.format("src/a.py"), requireApproval=asks)).status == "done"
    outcome = await ask(lab, ADD.format("c.py"), DELETE.format("b.py"), requireApproval=asks)
    assert outcome.status == "parked", outcome
    assert "requires approval for file/delete" in str((await lab.owner("approval/show", id=outcome.ticket)).result)
    two = {"file/delete": {"quorum": 2}, "file/write": True}
    both = await ask(lab, ADD.format("c.py"), DELETE.format("b.py"), requireApproval=two)
    assert (both.status, both.rule) == ("refused", "built-in: one call, one kind of approval"), both


async def test_a_patch_that_cannot_be_read_is_refused_before_anything_decides(lab: Any) -> None:
    outcome = await ask(lab, "*** Rename File: a\n", requireApproval={"file/patch": True})
    assert (outcome.status, outcome.code) == ("refused", "bad_params"), outcome
