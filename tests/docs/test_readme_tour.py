"""Every command of the README is typed into a real terminal, in order, and prints what the README shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from console_blocks import ROOT, blocks, compare, steps, with_known_ids

from doorward_process import Doorward

README = (ROOT / "README.md").read_text()


@pytest.mark.parametrize("document", ["README.md", "docs/LEDGER.md"])
def test_every_command_prints_what_the_document_shows(document: str, tmp_path: Path) -> None:
    doorward = Doorward(tmp_path / ".doorward")
    if document != "README.md":
        doorward("init")
    known: dict[str, str] = {}
    for step in steps((ROOT / document).read_text()):
        seen = doorward.on_terminal(with_known_ids(step.command, known), step.answer)
        difference = compare(step.expected, seen.out, known)
        assert not difference, f"$ {step.command}\n{difference}"


def test_the_tour_shows_what_a_newcomer_needs() -> None:
    commands = "\n".join(step.command for step in steps(README))
    wanted = ["init", "run data/list", "explain", "run file/write", "--dry-run", "approvals approve", "--ticket="]
    wanted += ["run undo", "audit tail", "audit show", "audit verify", "recipe list", "rooms create", "token create"]
    assert [one for one in wanted if f"doorward {one}" not in commands and one not in commands] == []


def test_the_two_commands_of_the_readme_are_targets_of_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text()
    lines = [line.partition("#")[0].split() for block in blocks(README, "sh") for line in block.splitlines()]
    assert lines == [["make", "run"], ["make", "test"]]
    assert all(f"\n{target}:" in makefile for _, target in lines)


class TestComparing:
    """The comparison itself, so that a wrong README cannot pass."""

    @pytest.mark.parametrize(
        ("expected", "printed"),
        [
            (["a", "b"], "a\nb\n"),
            (["a …"], "a whatever"),
            (["a", "…", "b"], "a\nx\ny\nb"),
            (["a", "…", "b"], "a\nb"),
            (["a", "…"], "a\nx"),
            (["at 2026-11-16 00:59:55"], "at 2031-01-02 03:04:05"),
            (["id 1m7gxw9dfxgnxm42"], "id 9abcdefghijk1234"),
            (["a", "b"], "a\n\r\x1b[K/ 1 s\r\x1b[K- 2 s\r\x1b[Kb"),
        ],
    )
    def test_passes(self, expected: list[str], printed: str) -> None:
        assert compare(expected, printed, {}) == ""

    @pytest.mark.parametrize(
        ("expected", "printed"),
        [
            (["a"], "b"),
            (["a"], "a\nb"),
            (["a"], "\r\x1b[K/ 1 s\r\x1b[Ka\nb"),
            (["a", "b"], "a"),
            (["a", "b"], "a\nx\nb"),
            (["…", "b"], "a\nc"),
            (["id 1m7gxw9dfxgnxm42"], "id unknown"),
            (["1m7gxw9dfxgnxm42", "1m7gxw9dfxgnxm42"], "9abcdefghijk1234\n9abcdefghijk9999"),
        ],
    )
    def test_finds(self, expected: list[str], printed: str) -> None:
        assert compare(expected, printed, {}) != ""

    def test_an_id_that_was_met_stands_in_later_commands(self) -> None:
        known: dict[str, str] = {}
        assert compare(["id 1m7gxw9dfxgnxm42"], "id 9abcdefghijk1234", known) == ""
        assert with_known_ids("undo 1m7gxw9dfxgnxm42", known) == "undo 9abcdefghijk1234"
