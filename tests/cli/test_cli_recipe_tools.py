"""`doorward approvals approve --for`, `recipe from-ledger` and `recipe test` as a person runs them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from doorward_process import Doorward

WRITE = ("run", "file/write", "--path=src/a.py", "--content=hi", "--createParents=true")


def put_recipe(doorward: Doorward, **strategy: Any) -> None:
    recipe = {"recipeId": "lab", "displayName": "Lab", "strategy": strategy}
    file = doorward.folder / "lab.json"
    file.write_text(json.dumps(recipe))
    assert doorward("recipe", "put", str(file)).code == 0


def test_always_shows_its_rule_first_and_is_taken_only_with_a_yes(doorward: Doorward) -> None:
    ticket = doorward(*WRITE).json["ticket"]
    held = doorward("approvals", "show", ticket).json["result"]
    asked = doorward("approvals", "approve", ticket, "--for=always", "--rule=folder")
    assert (held["heldBy"], asked.code) == ("owner", 2)
    rule = "file/write where path is anything in src/ and content is any text and createParents is true"
    assert f"Without asking again: {rule}" in asked.err
    assert "it would have let 1 of 1 calls run without asking." in asked.err
    assert doorward("approvals", "show", ticket).json["result"]["state"] == "pending"

    wrong = doorward("approvals", "approve", ticket, "--for=always", "--rule=prefix", "--yes")
    assert (wrong.code, "Rules: exact, folder." in wrong.err) == (2, True)
    taken = doorward("approvals", "approve", ticket, "--for=always", "--rule=folder", "--yes").json["result"]
    assert (taken["state"], taken["rule"]) == ("approved", rule)
    other = doorward("run", "file/write", "--path=src/b.py", "--content=x", "--createParents=true")
    assert (other.code, other.json["rule"]) == (0, 'recipe code-collaboration: allowWithoutApproval "file/write"')
    assert doorward("run", "file/write", "--path=b.py", "--content=x").code == 4

    denied = doorward(*WRITE[:2], "--path=c.py", "--content=x").json["ticket"]
    doorward("approvals", "deny", denied, "--reason=Put it below src.")
    message = doorward("run", f"--ticket={denied}").json["message"]
    assert message == f"Approval {denied} is denied: Put it below src."


def test_a_recipe_from_the_ledger_allows_what_ran_and_keeps_its_questions(doorward: Doorward) -> None:
    commands = {"enabled": True, "whitelist": ["file/read"], "requireApproval": {"file/write": {"quorum": 1}}}
    put_recipe(doorward, mode="observe", aiCommands=commands)
    assert doorward("rooms", "create", "lab", "--recipe=lab").code == 0
    for name in ("a", "b"):
        path = f"--path=src/{name}.py"
        assert doorward("run", "--room=lab", "file/write", path, "--content=x", "--createParents=true").code == 0
    assert doorward("run", "--room=lab", "file/stat", "--path=src/a.py").code == 0
    empty = doorward("recipe", "from-ledger", "--room=general")
    assert (empty.code, "No agent ran a command in the room general" in empty.err + empty.out) == (1, True)

    file = doorward.folder / "lab-new.json"
    assert doorward("recipe", "from-ledger", "--room=lab", f"--output={file}").code == 0
    written = json.loads(file.read_text())
    assert (written["recipeId"], "mode" in written["strategy"]) == ("lab-new", False)
    folder = {"path": {"glob": "src/**"}}
    assert written["strategy"]["aiCommands"] == {
        "enabled": True,
        "whitelist": ["file/stat", "file/write"],
        "requireApproval": {"file/write": {"quorum": 1}},
        "parameterRules": {"file/stat": folder, "file/write": folder},
    }
    check_expectations(doorward, file)


def check_expectations(doorward: Doorward, file: Path) -> None:
    """Expectations beside the recipe are checked without a server, and a failure says what, and by which rule."""
    missing = doorward("recipe", "test", str(file))
    assert (missing.code, "lab-new.tests.json does not exist" in missing.err) == (2, True)
    tests = file.with_name("lab-new.tests.json")
    good = [
        {"command": "file/stat", "params": {"path": "src/a.py"}, "expect": "allowed"},
        {"command": "file/write", "params": {"path": "src/a.py", "content": ""}, "expect": "approval"},
        {"command": "file/stat", "params": {"path": "docs/a.md"}, "expect": "refused"},
        {"command": "recipe/put", "params": {"id": "x", "text": "{}"}, "expect": "refused"},
        {"command": "mcp/github/create_issue", "tier": "application", "expect": "refused"},
    ]
    tests.write_text(json.dumps(good))
    met = doorward("recipe", "test", str(file))
    assert (met.code, met.out.strip()) == (0, "5 of 5 expectations of lab-new.json are met.")
    tests.write_text(
        json.dumps({"tests": [{**good[0], "expect": "refused"}, {"command": "no/such", "expect": "allowed"}]})
    )
    failed = doorward("recipe", "test", str(file))
    assert failed.code == 1
    assert failed.out.splitlines() == [
        'test 1: file/stat {"path":"src/a.py"}: expected refused, got allowed (recipe lab-new: whitelist "file/stat")',
        "test 2: no/such {}: There is no command 'no/such' without a server. For a tool of another server, give its"
        " tier.",
        "0 of 2 expectations of lab-new.json are met.",
    ]
    tests.write_text('[{"command": "file/stat", "expects": "allowed"}]')
    wrong = doorward("recipe", "test", str(file))
    assert (wrong.code, "lab-new.tests.json, test 1:" in wrong.err) == (1, True)
