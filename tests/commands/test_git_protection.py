"""No program and no unapproved call decides what git runs when a person uses it outside the sandbox."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from transaction_house import script, workspace

RECIPE = {
    "recipeId": "open",
    "displayName": "Open",
    "strategy": {"aiCommands": {"enabled": True, "whitelist": ["*"], "maxCommandsPerMinute": 10_000}},
}
_EVIL = '[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = \\"touch MARKER; false\\"\\n'
ATTACKS = {
    "write the configuration": f'printf "{_EVIL}" > .git/config',
    "let git write the configuration": "git config core.fsmonitor 'touch MARKER; false'",
    "write a hook": "mkdir -p .git/hooks; printf '#!/bin/sh\\ntouch MARKER\\n' > .git/hooks/pre-commit;"
    " chmod +x .git/hooks/pre-commit",
    "rename the repository and back": f'mv .git other; printf "{_EVIL}" > other/config; mv other .git',
    "replace the repository": f'rm -rf .git; git init -q .; printf "{_EVIL}" > .git/config',
    "lead to another repository by a file": f'mv .git other; printf "{_EVIL}" > other/config;'
    " echo 'gitdir: other' > .git",
    "lead to another repository by a symlink": f'mv .git other; printf "{_EVIL}" > other/config; ln -s other .git',
    "lead to another configuration": f'cp -r .git other; printf "{_EVIL}" > other/config;'
    " echo ../other > .git/commondir",
    "link to another configuration": f'printf "{_EVIL}" > evil; ln -sf ../evil .git/config',
    "use the configuration of a worktree": "git config extensions.worktreeConfig true;"
    f' printf "{_EVIL}" > .git/config.worktree',
    "make a repository in a folder": f'mkdir -p inner; git init -q inner; printf "{_EVIL}" > inner/.git/config',
    "use another case": f'[ -d .GIT ] || mkdir .GIT; printf "{_EVIL}" > .GIT/config; printf "{_EVIL}" > .git/config',
}
GIT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "safe.directory",
    "GIT_CONFIG_VALUE_0": "*",
    **{f"GIT_{who}_{what}": "ada@localhost" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


def make_repository(folder: Path) -> None:
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    (folder / "a.txt").write_text("a\n")
    for words in (["init", "-q", "."], ["add", "a.txt"], ["commit", "-qm", "one"]):
        subprocess.run(["git", *words], cwd=folder, env=GIT, check=True, capture_output=True)


def use_git(folder: Path) -> None:
    """What a person does next, in every repository there is."""
    for repository in {folder, *(path.parent for path in folder.rglob(".git"))}:
        for words in (["status"], ["commit", "-q", "--allow-empty", "-m", "two"]):
            subprocess.run(["git", *words], cwd=repository, env=GIT, check=False, capture_output=True)


def is_repository(folder: Path) -> bool:
    done = subprocess.run(["git", "status"], cwd=folder, env=GIT, capture_output=True, check=False)
    return done.returncode == 0 and (folder / ".git" / "config").exists()


def test_every_attack_works_without_the_protection(tmp_path: Path) -> None:
    folder, marker = tmp_path / "work", tmp_path / "ran"
    folder.mkdir()
    for name, attack in ATTACKS.items():
        make_repository(folder)
        subprocess.run(["bash", "-c", attack.replace("MARKER", str(marker))], cwd=folder, env=GIT, check=True)
        use_git(folder)
        assert marker.exists(), name
        marker.unlink()


@pytest.mark.parametrize("live", [False, True], ids=["on a copy", "live"])
async def test_no_program_decides_what_git_runs_outside(driver: Any, tmp_path: Path, live: bool) -> None:
    folder, marker = workspace(driver), tmp_path / "ran"
    for name, attack in ATTACKS.items():
        driver.clock.advance(60)
        make_repository(folder)
        outcome = await script(driver, attack.replace("MARKER", str(marker)), live=live)
        if not live:  # a live program gets errors instead, where it can be stopped while it runs
            assert ".git" in outcome.result["changes"]["withheld"], (name, outcome)
        use_git(folder)
        assert not marker.exists(), name


async def test_a_live_program_cannot_hide_what_it_wrote_by_permissions_or_depth(driver: Any, tmp_path: Path) -> None:
    folder, marker = workspace(driver), tmp_path / "ran"
    make_repository(folder)
    write = f'git init -q a/b; printf "{_EVIL}" > a/b/.git/config'.replace("MARKER", str(marker))
    deep = 'python3 -c \'import os; [(os.mkdir("d"), os.chdir("d")) for _ in range(1000)]\''
    hide = f"chmod 0 a/b/.git/config; chmod 500 a/b/.git; chmod 0 a; {deep}"
    outcome = await script(driver, f"mkdir -p a/b; {write}; {hide}", live=True)
    assert (await script(driver, "rm -r d", live=True)).status == outcome.status == "done"
    assert "a/b/.git/config" in outcome.result["withheld"], outcome
    assert not (folder / "a/b/.git/config").exists()


async def test_programs_use_git_as_usual_and_new_repositories_are_kept(driver: Any) -> None:
    folder = workspace(driver)
    make_repository(folder)
    who = "export GIT_AUTHOR_NAME=b GIT_AUTHOR_EMAIL=b GIT_COMMITTER_NAME=b GIT_COMMITTER_EMAIL=b;"
    use = f"{who} git checkout -qB config; echo b > b.txt; git add .; git commit -qm two; git branch hooks/x"
    for live in (False, True):
        outcome = await script(driver, use.replace("config", f"config{live}").replace("/x", f"/{live}"), live=live)
        assert outcome.status == "done", outcome
        assert "withheld" not in json.dumps(outcome.result), outcome
        (folder / "b.txt").write_text(f"{live}")
    made = await script(driver, "git init -q new; git clone -q --no-hardlinks . copy")
    assert (made.status, made.result["changes"].get("withheld")) == ("done", None), made
    (folder / "b").mkdir()
    await driver.owner("shell/git_init", folder="b")
    assert [name for name in ("new", "copy", "b") if not is_repository(folder / name)] == []
    removed = await script(driver, "rm -rf new copy")
    assert (removed.status, removed.result["changes"].get("withheld")) == ("done", None), removed
    assert not (folder / "new").exists()


GUARDED = [".git/config", "./.git//config", "a/../.git/config", "sub/.git/hooks/pre-commit", ".GIT/config", ".git"]


@pytest.fixture
async def lab(driver: Any) -> Any:
    """A house with a room whose recipe allows agents everything."""
    await driver.owner("recipe/put", id="open", text=json.dumps(RECIPE))
    await driver.owner("room/create", name="lab", recipe="open")
    return driver


async def test_an_agents_file_command_on_gits_settings_always_waits_for_a_person(lab: Any) -> None:
    driver, folder = lab, workspace(lab)
    make_repository(folder)
    for path in GUARDED:
        for command, more in (
            ("file/write", {"content": "x"}),
            ("file/edit", {"oldString": "a", "newString": "b"}),
            ("file/delete", {}),
        ):
            driver.clock.advance(60)
            outcome = await driver.ask(command, room="lab", params={"path": path, **more})
            assert (outcome.status, outcome.rule) == (
                "parked",
                "built-in: changes of files that run later need approval",
            ), (path, outcome)
    for path in ("a.txt", ".git/refs/heads/config", ".gitignore", "docs/config"):
        driver.clock.advance(60)
        outcome = await driver.ask("file/write", room="lab", params={"path": path, "content": "x"})
        assert outcome.status == "done", (path, outcome)
    (folder / "link").symlink_to(".git")
    through = await driver.ask("file/write", room="lab", params={"path": "link/config", "content": "x"})
    assert (through.status, through.code) == ("failed", "conflict"), through
    virtual = await driver.ask("vfs/write", room="lab", params={"path": "/workspace/.git/config", "content": "x"})
    assert "waiting for approval" in virtual.message, virtual

    ticket = (await driver.ask("file/write", room="lab", params={"path": ".git/config", "content": "[core]\n"})).ticket
    assert "git runs the programs that it names" in str((await driver.owner("approval/show", id=ticket)).result)
    await driver.owner("approval/approve", id=ticket)
    written = await driver.ask("", room="lab", ticket=ticket)
    assert (written.status, (folder / ".git/config").read_text()) == ("done", "[core]\n"), written
    undone = await driver.ask("undo", room="lab", params={"execution": written.call})
    assert (undone.status, undone.code) == ("failed", "not_permitted"), undone
    await driver.owner("undo", execution=written.call)
    assert (folder / ".git/config").read_text() != "[core]\n"
