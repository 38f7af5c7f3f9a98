"""Git runs in a repository whose configuration cannot make it start anything (CVE-2025-68144 and its like)."""

from __future__ import annotations

import asyncio
import os
import stat
import subprocess
from pathlib import Path

import pytest
from catalogue_house import Shell

from doorward.commands.programs import git

HARMLESS = b"""\
[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
; a comment
# another
[remote "origin"]
\turl = https://example.org/x.git
\tfetch = +refs/heads/*:refs/remotes/origin/*
[branch "main"]
\tremote = origin
\tmerge = refs/heads/main
[user]
\tname = Ada
\temail = "ada@example.org"
"""
RUNS = [
    ("core.fsmonitor", "[core]\n\tfsmonitor = ./evil\n"),
    ("core.fsmonitor", "[core] fsmonitor = ./evil\n"),
    ("core.fsmonitor", "[CORE]\n\tFSMonitor=./evil\n"),
    ("core.fsmonitor", "[user]\n[core]fsmonitor=./evil"),
    ("core.hookspath", "[core]\n\thooksPath = .\n"),
    ("core.pager", "[core]\n\tpager = ./evil\n"),
    ("core.editor", "[core]\n\teditor = ./evil\n"),
    ("core.sshcommand", "[core]\n\tsshCommand = ./evil\n"),
    ("core.worktree", "[core]\n\tworktree = /etc\n"),
    ("core.askpass", "[core]\n\taskPass = ./evil\n"),
    ("core.alternaterefscommand", "[core]\n\talternateRefsCommand = ./evil\n"),
    ("diff.external", "[diff]\n\texternal = ./evil\n"),
    ("diff.x.textconv", '[diff "x"]\n\ttextconv = ./evil\n'),
    ("diff.x.command", '[diff "x"]\n\tcommand = ./evil\n'),
    ("diff.x.command", "[diff.x]\n\tcommand = ./evil\n"),
    ("filter.x.clean", '[filter "x"]\n\tclean = ./evil\n'),
    ("filter.x.smudge", '[filter "x"]\n\tsmudge = ./evil\n'),
    ("filter.x.process", '[filter "x"]\n\tprocess = ./evil\n'),
    ("merge.x.driver", '[merge "x"]\n\tdriver = ./evil\n'),
    ("gpg.program", "[gpg]\n\tprogram = ./evil\n"),
    ("gpg.ssh.defaultkeycommand", '[gpg "ssh"]\n\tdefaultKeyCommand = ./evil\n'),
    ("log.showsignature", "[log]\n\tshowSignature = true\n"),
    ("include.path", "[include]\n\tpath = ../evil.config\n"),
    ("includeif.gitdir:/.path", '[includeIf "gitdir:/"]\n\tpath = ../evil.config\n'),
    ("alias.log", "[alias]\n\tlog = !./evil\n"),
    ("pager.log", "[pager]\n\tlog = ./evil\n"),
    ("credential.helper", "[credential]\n\thelper = ./evil\n"),
    ("submodule.x.update", '[submodule "x"]\n\tupdate = !./evil\n'),
    ("uploadpack.packobjectshook", "[uploadpack]\n\tpackObjectsHook = ./evil\n"),
    ("remote.origin.uploadpack", '[remote "origin"]\n\tuploadpack = ./evil\n'),
    ("remote.origin.vcs", '[remote "origin"]\n\tvcs = evil\n'),
    ("trailer.x.command", '[trailer "x"]\n\tcommand = ./evil\n'),
    ("sequence.editor", "[sequence]\n\teditor = ./evil\n"),
    ("interactive.difffilter", "[interactive]\n\tdiffFilter = ./evil\n"),
    ("difftool.x.cmd", '[difftool "x"]\n\tcmd = ./evil\n'),
    ("browser.x.cmd", '[browser "x"]\n\tcmd = ./evil\n'),
    ("extensions.partialclone", "[extensions]\n\tpartialClone = origin\n"),
    ("protocol.ext.allow", '[protocol "ext"]\n\tallow = always\n'),
    ("tar.x.command", '[tar "x"]\n\tcommand = ./evil\n'),
    ("web.browser", "[web]\n\tbrowser = ./evil\n"),
]
UNSURE = [
    "[core]\n\tfilemode = \\\n\tfsmonitor = ./evil\n",
    '[core "\n"]\n',
    "fsmonitor = x\n",
    "[core\n",
    "[core]\n\tfile mode = x\n",
    "[core]\r\tfsmonitor = x\n",
    "[core]\n\tfilemode = true\x00\n",
    "[core]\n\xff = 1\n",
]


@pytest.mark.parametrize(("key", "text"), RUNS, ids=[key for key, _ in RUNS])
async def test_a_repository_that_names_a_program_is_not_worked_in(shell: Shell, key: str, text: str) -> None:
    plant(shell, text)
    for command, words in (("git_status", []), ("git_diff", []), ("git_log", ["-p"]), ("git_add", ["-A"])):
        outcome = await shell.ask(command, words)
        assert (outcome.status, outcome.code) == ("failed", "command_failed")
        assert key in outcome.message.lower()
    assert not (shell.workspace / "canary").exists()


@pytest.mark.parametrize("text", UNSURE)
async def test_a_configuration_that_may_be_read_otherwise_is_refused(shell: Shell, text: str) -> None:
    (shell.workspace / ".git/config").write_bytes(text.encode("latin-1"))
    outcome = await shell.ask("git_status", [])
    assert outcome.status == "failed"
    assert "cannot be parsed reliably" in outcome.message or "control" in outcome.message


async def test_the_configuration_of_a_worktree_is_looked_at_too(shell: Shell) -> None:
    (shell.workspace / ".git/config.worktree").write_text("[core]\n\tfsmonitor = ./evil\n")
    outcome = await shell.ask("git_status", [])
    assert "core.fsmonitor" in outcome.message


def test_ordinary_configurations_are_harmless() -> None:
    assert all(git.is_harmless(key) for key in git.parse_keys(HARMLESS))
    assert "remote.origin.url" in list(git.parse_keys(HARMLESS))
    windows = b"\xef\xbb\xbf" + HARMLESS.replace(b"\n", b"\r\n")
    assert list(git.parse_keys(windows)) == list(git.parse_keys(HARMLESS))


def test_every_key_that_git_reads_is_seen() -> None:
    """Git itself is the judge of what a configuration file says."""
    for _, text in RUNS:
        given = HARMLESS + text.encode()
        told = subprocess.run(
            ["git", "config", "--file", "-", "--no-includes", "--list", "--name-only", "-z"],
            input=given,
            capture_output=True,
            check=True,
        )
        assert list(git.parse_keys(given)) == [key for key in told.stdout.decode().split("\x00") if key]


async def test_what_a_fresh_repository_has_is_harmless(shell: Shell) -> None:
    assert (await shell.ask("git_init", ["fresh"])).status == "done"
    config = (shell.workspace / "fresh/.git/config").read_bytes()
    assert all(git.is_harmless(key) for key in git.parse_keys(config))
    assert (await shell.ask("git_status", {"folder": "fresh"})).status == "done"
    assert not (shell.workspace / "fresh/.git/hooks").exists()


async def test_hooks_do_not_run(shell: Shell) -> None:
    hooks = shell.workspace / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("pre-commit", "commit-msg", "prepare-commit-msg", "post-commit", "post-checkout", "post-index-change"):
        script(hooks / name)
    (shell.workspace / "new.txt").write_text("x")
    for command, words in (
        ("git_add", ["-A"]),
        ("git_commit", ["-m", "x"]),
        ("git_switch", ["-c", "other"]),
        ("git_restore", ["."]),
    ):
        outcome = await shell.ask(command, words)
        assert outcome.status == "done", outcome
    assert not (shell.workspace / "canary").exists()


async def test_attributes_without_a_driver_do_nothing(shell: Shell) -> None:
    (shell.workspace / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n")
    (shell.workspace / "list.txt").write_text("changed\n")
    for command, words in (("git_status", []), ("git_diff", []), ("git_add", ["-A"]), ("git_blame", ["list.txt"])):
        outcome = await shell.ask(command, words)
        assert outcome.status == "done", outcome


async def test_a_git_file_or_symlink_that_leads_elsewhere_is_refused(shell: Shell, tmp_path: Path) -> None:
    inner = shell.workspace / "src/.git"
    inner.write_text(f"gitdir: {tmp_path}\n")
    outcome = await shell.ask("git_status", {"folder": "src"})
    assert "leads elsewhere" in outcome.message
    inner.unlink()
    inner.symlink_to("../.git")
    outcome = await shell.ask("git_status", {"folder": "src"})
    assert "leads elsewhere" in outcome.message


async def test_a_common_folder_elsewhere_is_refused(shell: Shell) -> None:
    (shell.workspace / ".git/commondir").write_text("../elsewhere\n")
    outcome = await shell.ask("git_status", [])
    assert "commondir" in outcome.message


async def test_a_bare_repository_in_a_folder_is_not_taken_for_one(shell: Shell) -> None:
    bare = shell.workspace / "bare"
    (bare / "objects").mkdir(parents=True)
    (bare / "refs").mkdir()
    (bare / "HEAD").write_text("ref: refs/heads/main\n")
    (bare / "config").write_text("[core]\n\tbare = true\n\tfsmonitor = ./evil\n\tworktree = .\n")
    script(bare / "evil")
    outcome = await shell.ask("git_status", {"folder": "bare", "short": True})
    assert outcome.status == "done", outcome
    assert "?? bare/" in outcome.result["stdout"] or "?? ./" in outcome.result["stdout"]
    assert not (shell.workspace / "canary").exists()


async def test_a_repository_inside_another_cannot_start_anything(shell: Shell) -> None:
    """Git looks into checked-out submodules by starting itself there, without what we told it."""
    assert (await shell.ask("git_init", ["-q", "sub"])).status == "done"
    commit = {"folder": "sub", "message": ["x"], "allowEmpty": True, "quiet": True}
    assert (await shell.ask("git_commit", commit)).status == "done"
    assert (await shell.ask("git_add", ["sub"])).status == "done"
    script(shell.workspace / "sub/evil")
    with (shell.workspace / "sub/.git/config").open("a") as config:
        config.write("[core]\n\tfsmonitor = ./evil\n")
    for command, words in (("git_status", []), ("git_diff", []), ("git_add", ["-u"]), ("git_commit", ["-am", "x"])):
        await shell.ask(command, words)
        assert not list(shell.workspace.rglob("canary"))


async def test_without_a_repository_it_is_said_how_to_make_one(shell: Shell) -> None:
    for path in sorted((shell.workspace / ".git").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    (shell.workspace / ".git").rmdir()
    outcome = await shell.ask("git_status", [])
    assert (outcome.code, "shell/git_init" in outcome.message) == ("not_found", True)


async def test_the_one_who_asked_is_the_author(shell: Shell) -> None:
    assert (await shell.ask("git_commit", ["--allow-empty", "-qm", "by whom"])).status == "done"
    shown = await shell.ask("git_log", ["-n1", "--format=short"])
    assert "Author: owner <doorward@localhost>" in shown.result["stdout"]


async def test_outside_the_guard_the_planted_program_would_run(shell: Shell) -> None:
    """The canary itself: without our environment git does run what the configuration names."""
    plant(shell, "[core]\n\tfsmonitor = ./evil\n")
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
    await asyncio.to_thread(subprocess.run, ["git", "status"], cwd=shell.workspace, env=environment, check=True)
    assert (shell.workspace / "canary").exists()


def plant(shell: Shell, text: str) -> None:
    with (shell.workspace / ".git/config").open("a") as config:
        config.write(text)
    script(shell.workspace / "evil")


def script(file: Path) -> None:
    file.write_text(f"#!/bin/sh\ntouch {'../' if file.parent.name == 'sub' else ''}canary\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
