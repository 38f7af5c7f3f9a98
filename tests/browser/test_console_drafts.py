"""A person reviews an agent's draft in the console, by file and by hunk, like a pull request."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
from browsing import Console
from playwright.sync_api import Locator, Page, expect

LINES = "".join(f"line {n}\n" for n in range(1, 31))
FIRST, LAST = ("line 2\n", "line two\n"), ("line 29\n", "line twenty-nine\n")
BOTH = LINES.replace(*FIRST).replace(*LAST)
HOSTILE = ["<img src=x onerror=alert(1)>.txt", "a\u202etxt.exe", "__proto__", "new\nline", "-rf", "constructor"]


class Project:
    """A room with a folder of its own, and an agent that works there."""

    def __init__(self, console: Console, folder: Path, room: str) -> None:
        self.console, self.folder, self.room = console, folder, room
        folder.mkdir(parents=True)
        for name in ("a.txt", "b.txt"):
            (folder / name).write_text(LINES)
        console.owner.result("room/create", name=room, recipe="coding", workspace=str(folder))

    def ask(self, command: str, /, ticket: str = "", **params: Any) -> dict[str, Any]:
        return self.console.owner.ask(command, by="claude", room=self.room, ticket=ticket, **params)

    def write(self, path: str, content: str) -> None:
        outcome = self.ask("file/write", path=path, content=content)
        assert outcome["status"] == "done", outcome

    def submit(self) -> str:
        outcome = self.ask("draft/submit", message="Spell the numbers out.")
        assert outcome["status"] == "parked", outcome
        return str(outcome["ticket"])


@pytest.fixture
def project(console: Console, tmp_path: Path) -> Project:
    return Project(console, tmp_path / "project", tmp_path.name.replace("_", "-")[-30:].strip("-"))


def card(page: Page, ticket: str) -> Locator:
    return page.locator(f"#approval-{ticket}")


def is_mixed(box: Locator) -> bool:
    return bool(box.evaluate("one => one.indeterminate"))


def test_one_hunk_of_two_files_is_merged_the_rest_stays_and_the_agent_reads_it(
    console: Console, project: Project
) -> None:
    project.write("a.txt", BOTH)
    project.write("b.txt", BOTH)
    project.write("package.json", '{"scripts": {"test": "x"}}\n')
    ran = project.ask("bash", command="echo 12 passed # make test")
    assert ran["status"] == "done", ran
    ticket = project.submit()
    page = console.page(f"rooms/{project.room}")
    one = card(page, ticket)
    for words in ("Spell the numbers out.", "12 passed", "npm runs the scripts", "Merge all 3 files."):
        expect(one).to_contain_text(words)
    for label in ("Merge hunk 2 of 2 of a.txt", "Merge hunk 1 of 2 of b.txt", "Merge package.json"):
        box = one.get_by_label(label)
        expect(box).to_be_checked()
        box.focus()
        page.keyboard.press("Space")
        expect(box).not_to_be_checked()
    assert is_mixed(one.get_by_label("Merge a.txt"))
    assert is_mixed(one.get_by_label("Merge every file"))
    expect(
        one.get_by_text("Merge 2 of 3 files (2 of 5 hunks); the rest stays in the draft.", exact=True)
    ).to_be_visible()
    one.get_by_label("Reason, for the agent to read").fill("No scripts, please.")
    one.get_by_role("button", name="Merge 2 of 3 files").click()
    said = "Merged 2 of 3 files (2 of 5 hunks); the rest stays in the draft. Reason: No scripts, please."
    expect(page.get_by_role("log", name="Messages")).to_contain_text(said)
    assert (project.folder / "a.txt").read_text() == LINES.replace(*FIRST)
    assert (project.folder / "b.txt").read_text() == LINES.replace(*LAST)
    assert sorted(path.name for path in project.folder.iterdir()) == ["a.txt", "b.txt"]
    page.get_by_text("claude asked to run").click()
    expect(one).to_contain_text("Ran as execution")  # Doorward ended the call of an agent that does not wait
    assert said.removesuffix(".") in project.ask("draft/submit", ticket=ticket)["message"]
    left = project.ask("draft/status")["result"]
    assert (left["changes"]["total"], left["conflicts"]) == (3, [])
    assert left["lastMerge"]["left"] == [
        {"path": "a.txt", "hunks": [2]},
        {"path": "b.txt", "hunks": [1]},
        {"path": "package.json"},
    ]


def test_names_and_text_of_a_draft_are_shown_and_never_become_markup(console: Console, project: Project) -> None:
    text = shlex.quote("</code><script>alert(1)</script>\u200b")
    made = project.ask("bash", command="; ".join(f"echo {text} > {shlex.quote(f'./{name}')}" for name in HOSTILE))
    assert made["status"] == "done", made
    ticket = project.submit()
    page = console.page("approvals")
    page.on("dialog", lambda _: console.complaints.append("a dialog of the draft's own"))
    one = card(page, ticket)
    expect(one.get_by_role("button", expanded=True)).to_have_count(len(HOSTILE))
    expect(one.locator(".diff-text", has_text="</code><script>alert(1)</script>")).to_have_count(len(HOSTILE))
    assert one.locator("script, img, iframe, a[href^='javascript']").count() == 0
    expect(one).to_contain_text("U+202E")
    one.get_by_label("Merge every file").uncheck()
    expect(one.get_by_role("button", name="Merge nothing")).to_be_disabled()
    for name in ("Merge __proto__", "Merge constructor", "Merge new‹U+000A›line"):
        one.get_by_label(name, exact=True).check()
    one.get_by_role("button", name="Merge 3 of 6 files").click()
    expect(one).to_contain_text("Merged 3 of 6 files")
    names = sorted(path.name for path in project.folder.iterdir())
    assert names == ["__proto__", "a.txt", "b.txt", "constructor", "new\nline"]


def test_a_conflict_names_its_file_and_a_person_or_the_agent_solves_it(console: Console, project: Project) -> None:
    project.write("a.txt", LINES.replace(*FIRST))
    project.write("b.txt", BOTH)
    (project.folder / "a.txt").write_text(LINES.replace("line 2\n", "of the person\n"))
    ticket = project.submit()
    page = console.page("approvals")
    one = card(page, ticket)
    conflicts = one.get_by_role("region", name="Conflicts")
    expect(conflicts).to_contain_text("a.txt: both sides changed the same lines in one place.")
    expect(one.get_by_text("Merge 1 of 2 files; the rest stays in the draft.", exact=True)).to_be_visible()
    one.get_by_role("button", name="Ask the agent to solve conflicts…").click()
    expect(one.get_by_label("Reason, for the agent to read")).to_have_value(
        "The workspace changed meanwhile. Run draft/update, solve the conflicts in a.txt, and submit again."
    )
    one.get_by_role("link", name="Keep one version yourself").click()
    main = page.get_by_role("main")
    main.get_by_role("button", name="Keep the draft’s of a.txt").click()
    page.get_by_role("dialog").get_by_role("button", name="Keep it").click()
    expect(conflicts).to_have_count(0)
    main.get_by_role("button", name="Merge all").click()
    expect(main).to_contain_text("owner merged all 2 files.")
    assert (project.folder / "a.txt").read_text() == LINES.replace(*FIRST)
    assert (project.folder / "b.txt").read_text() == BOTH
    shown = console.owner.result("approval/show", id=ticket)
    assert shown["reason"] == "Merged all 2 files."


def test_a_large_draft_lists_its_files_at_once_and_loads_hunks_when_a_file_is_opened(
    console: Console, project: Project
) -> None:
    project.write("long.txt", "".join(f"{n} of a long file\n" for n in range(20_000)))
    made = project.ask("bash", command="mkdir many; for n in $(seq 500); do echo $n > many/$n.txt; done")
    assert made["status"] == "done", made
    ticket = project.submit()
    page = console.page("approvals", viewport={"width": 390, "height": 844})
    loaded: list[str] = []
    page.on("request", lambda sent: loaded.append(sent.post_data or "") if sent.url.endswith("/api/run") else None)
    page.reload()
    one = card(page, ticket)
    expect(one.get_by_text("Merge all 501 files.", exact=True)).to_be_visible()
    assert not any("draft/hunks" in body for body in loaded)
    long = one.get_by_role("button", name="long.txt")
    long.press("Enter")
    hunk = one.get_by_role("group", name="Hunk 1 of 1 of long.txt")
    expect(hunk).to_contain_text("0 of a long file")
    one.get_by_role("button", name="Show more", exact=True).click()
    expect(hunk).to_contain_text("1000 of a long file")
    expect(hunk).not_to_contain_text("19999 of a long file")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert sum("draft/hunks" in body for body in loaded) == 1
    one.get_by_label("Merge long.txt").uncheck()
    one.get_by_role("button", name="Merge 500 of 501 files").click()
    expect(one).to_contain_text("Merged 500 of 501 files")
    assert len(list((project.folder / "many").iterdir())) == 500
    assert not (project.folder / "long.txt").exists()
