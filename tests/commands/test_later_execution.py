"""Agents change the files that a person's own tools run later only with a person's approval of exactly that."""

from __future__ import annotations

import json
from typing import Any

import pytest
from transaction_house import script, workspace

RECIPE = {
    "recipeId": "open",
    "displayName": "Open",
    "strategy": {"aiCommands": {"enabled": True, "whitelist": ["*"], "maxCommandsPerMinute": 10_000}},
}
PACKAGE = {"name": "a", "scripts": {"test": "jest"}}
CHANGE = (
    "echo evil > .envrc; mkdir -p .vscode; echo '{}' > .vscode/tasks.json; ln -s .vscode .idea; echo a > a.txt;"
    " sed -i s/jest/evil/ package.json; mkdir sub;"
    """ echo '{"scripts": {"x": "y"}}' > new.json; mv new.json sub/package.json"""
)


@pytest.fixture
async def lab(driver: Any) -> Any:
    """A house with a room whose recipe allows agents everything."""
    await driver.owner("recipe/put", id="open", text=json.dumps(RECIPE))
    await driver.owner("room/create", name="lab", recipe="open")
    (workspace(driver) / "package.json").write_text(json.dumps(PACKAGE))
    return driver


@pytest.mark.parametrize("live", [False, True], ids=["on a copy", "live"])
async def test_an_agents_program_cannot_make_a_persons_tools_run_something(lab: Any, live: bool) -> None:
    folder = workspace(lab)
    outcome = await lab.ask("bash", room="lab", params={"command": CHANGE, "live": live})
    assert outcome.status == "done", outcome
    withheld = outcome.result["withheld"] if live else outcome.result["changes"]["withheld"]
    for path in (".envrc", ".vscode/tasks.json", ".idea", "package.json", "sub/package.json"):
        assert path in withheld, path
    assert json.loads((folder / "package.json").read_text()) == PACKAGE
    assert "withheld: Your own tools would run" in outcome.text
    left = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())
    assert left == ["a.txt", "package.json"]


async def test_other_changes_of_such_files_and_moves_lose_nothing(lab: Any) -> None:
    folder = workspace(lab)
    add = """sed -i 's/"name"/"version": "1", "name"/' package.json;"""
    add += "mkdir -p node_modules/b; echo x > node_modules/b/.envrc"
    outcome = await lab.ask("bash", room="lab", params={"command": add})
    assert "withheld" not in outcome.result["changes"], outcome
    assert json.loads((folder / "package.json").read_text())["version"] == "1"
    moved = await lab.ask("bash", room="lab", params={"command": "mkdir b; mv package.json b"})
    assert "package.json" in moved.result["changes"]["withheld"]
    assert (folder / "package.json").exists()
    (folder / "note").write_text("keep me\n")
    away = await lab.ask("bash", room="lab", params={"command": "mkdir -p .vscode; mv note .vscode/tasks.json"})
    assert ".vscode/tasks.json" in away.result["changes"]["withheld"]
    assert (folder / "note").read_text() == "keep me\n"
    virtual = await lab.ask("vfs/move", room="lab", params={"source": "/workspace/note", "target": "/workspace/.envrc"})
    assert (virtual.status, "need approval" in virtual.message) == ("failed", True), virtual
    assert (folder / "note").read_text() == "keep me\n"


async def test_a_persons_own_program_and_an_approved_run_make_such_changes(lab: Any) -> None:
    folder = workspace(lab)
    assert (await script(lab, "echo mine > .envrc")).status == "done"
    assert (folder / ".envrc").read_text() == "mine\n"
    strict = {"enabled": True, "whitelist": ["*"], "requireApproval": {"bash": True}}
    await lab.owner("recipe/put", id="open", text=json.dumps({**RECIPE, "strategy": {"aiCommands": strict}}))
    parked = await lab.ask("bash", room="lab", params={"command": "echo theirs > .envrc"})
    shown = str((await lab.owner("approval/show", id=parked.ticket)).result)
    assert ".envrc: direnv runs it when you enter the folder." in shown
    await lab.owner("approval/approve", id=parked.ticket)
    assert (await lab.ask("", room="lab", ticket=parked.ticket)).status == "done"
    assert (folder / ".envrc").read_text() == "theirs\n"


@pytest.mark.parametrize("path", [".envrc", "deep/.vscode/./settings.json", "/workspace/.claude/settings.json"])
async def test_an_agents_file_command_on_such_a_path_asks_and_says_why(lab: Any, path: str) -> None:
    outcome = await lab.ask("file/write", room="lab", params={"path": path, "content": "x"})
    assert (outcome.status, outcome.rule) == ("parked", "built-in: changes of files that run later need approval")
    shown = str((await lab.owner("approval/show", id=outcome.ticket)).result)
    assert "which runs outside the sandbox: " in shown
    assert not list(workspace(lab).rglob("*.json"))[1:]


async def test_a_symlink_does_not_hide_such_a_path(lab: Any) -> None:
    folder = workspace(lab)
    (folder / ".vscode").mkdir()
    (folder / "link").symlink_to(".vscode")
    through = await lab.ask("file/write", room="lab", params={"path": "link/tasks.json", "content": "x"})
    assert (through.status, through.code) == ("failed", "conflict"), through
