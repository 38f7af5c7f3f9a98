"""Paths that make a person's own tools run something later are found, and the reason is said in plain words."""

from __future__ import annotations

import json

import pytest

from doorward.sandbox.safefs.guarded_paths import find_guarded_path, find_later_execution, is_guarded


def _package(**scripts: str) -> bytes:
    return json.dumps({"name": "a", "scripts": scripts}).encode()


@pytest.mark.parametrize(
    ("path", "who"),
    [
        (".git/config", "git"),
        ("sub/.GIT/hooks/pre-commit", "git"),
        (".git", "git"),
        (".envrc", "direnv"),
        ("deep/er/.vscode/tasks.json", "editor"),
        (".claude/settings.local.json", "AI client"),
        (".cursor/rules/x.mdc", "AI client"),
        (".mcp.json", "AI client"),
        (".Zshrc", "shell"),
        (".husky/pre-commit", "git"),
        ("team.code-workspace", "editor"),
    ],
)
def test_a_change_of_a_listed_path_names_the_tool_that_runs_it(path: str, who: str) -> None:
    assert who in find_later_execution(path, b"old", b"new")
    assert who in find_later_execution(path, None, b"new")
    assert find_later_execution(path, b"same", b"same") == ""


@pytest.mark.parametrize(
    "path",
    [
        "Makefile",
        "src/config",
        ".git/objects/config",
        ".git/refs/heads/hooks/x",
        ".git/hooks/pre-commit.sample",
        ".git/index",
        ".vscode/extensions.json",
        "notes/claude",
        "node_modules/left-pad/.vscode/tasks.json",
        "node_modules/left-pad/package.json",
    ],
)
def test_other_paths_are_free(path: str) -> None:
    assert find_later_execution(path, None, b'{"scripts": {"test": "x"}}') == ""


def test_a_package_counts_only_when_its_scripts_change_and_names_them() -> None:
    old, more = _package(test="jest"), json.loads(_package(test="jest")) | {"dependencies": {"a": "1"}}
    assert find_later_execution("package.json", old, json.dumps(more).encode()) == ""
    assert "(test, postinstall)" in find_later_execution("package.json", old, _package(test="x", postinstall="y"))
    assert find_later_execution("package.json", old, _package()) == ""
    assert "not valid JSON" in find_later_execution("package.json", old, b"{")


def test_attributes_count_only_when_they_assign_a_program() -> None:
    assert find_later_execution(".gitattributes", None, b"*.txt text eol=lf\n") == ""
    assert "git runs the filters" in find_later_execution(".gitattributes", b"*.a text\n", b"*.a filter=evil\n")


def test_a_symlink_in_place_of_a_listed_folder_or_file_counts() -> None:
    assert find_later_execution(".vscode", None, b"other", symlink=True)
    assert find_later_execution("package.json", None, b"other.json", symlink=True)
    assert find_guarded_path(".vscode") is None
    assert find_later_execution("src", None, b"other", symlink=True) == ""


def test_only_gits_own_settings_and_hooks_are_read_only_for_programs() -> None:
    assert is_guarded(".git/modules/a/config")
    assert is_guarded(".git/objects/.git/config")
    assert not is_guarded(".gitattributes")
    assert not is_guarded(".envrc")
