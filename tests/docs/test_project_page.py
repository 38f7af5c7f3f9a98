"""Every command of docs/PROJECT.md is typed into a real terminal, in order, and prints what the page shows."""

from __future__ import annotations

from pathlib import Path

from console_blocks import ROOT, compare, steps, with_known_ids

from doorward_process import Doorward

PAGE = (ROOT / "docs" / "PROJECT.md").read_text()


def test_every_command_prints_what_the_page_shows(tmp_path: Path) -> None:
    doorward = Doorward(tmp_path / ".doorward")
    project = tmp_path / "shop"
    (project / "src").mkdir(parents=True)
    (project / ".git").mkdir()
    (project / "README.md").write_text("# Shop\n")
    (tmp_path / "secrets.txt").write_text("the secret\n")
    known: dict[str, str] = {}
    for step in steps(PAGE):
        seen = doorward.on_terminal(with_known_ids(step.command, known), step.answer)
        difference = compare(step.expected, seen.out, known)
        assert not difference, f"$ {step.command}\n{difference}"
        assert "the secret" not in seen.out
