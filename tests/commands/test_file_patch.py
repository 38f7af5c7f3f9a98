"""file/patch: both forms of a patch, applied to all of its files or to none."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from file_house import FileHouse

from doorward.core.errors import BadParams, Conflict, DoorwardError, NotFound

CODEX = """*** Begin Patch
*** Add File: docs/new.md
+# New
+
*** Update File: /workspace/a.py
*** Move to: src/a.py
@@ class Door:
     def open(self):
-        return 1
+        return 2
@@
+# the end
*** Delete File: old.txt
*** End Patch
"""


@pytest.fixture
def house(tmp_path: Path) -> Iterator[FileHouse]:
    made = FileHouse(tmp_path)
    yield made
    made.close()


def contents(house: FileHouse) -> dict[str, str]:
    files = (path for path in house.workspace.rglob("*") if path.is_file())
    return {str(path.relative_to(house.workspace)): path.read_bytes().decode() for path in files}


def fill(house: FileHouse) -> None:
    window = "class Window:\n    def open(self):\n        return 1\n\n"
    (house.workspace / "a.py").write_text(f"{window}{window.replace('Window', 'Door')}")
    (house.workspace / "old.txt").write_text("old\n")


async def test_a_patch_adds_changes_moves_and_deletes_and_is_undone_as_one(house: FileHouse) -> None:
    fill(house)
    before = contents(house)
    done = await house.run("file/patch", patch=CODEX)
    after = contents(house)
    assert sorted(after) == ["docs/new.md", "src/a.py"]
    assert after["docs/new.md"] == "# New\n\n"
    door = before["a.py"].partition("class Door")[2].replace("1", "2")
    assert after["src/a.py"] == f"{before['a.py'].partition('class Door')[0]}class Door{door}# the end\n"
    assert [one["path"] for one in done["files"]] == ["docs/new.md", "a.py", "src/a.py", "old.txt"]
    assert "-        return 1\n" in done["diff"]
    await house.run("undo", execution=done["execution"])
    assert contents(house) == before


@pytest.mark.parametrize("fault", ["missing", "wrong line", "exists"])
async def test_if_one_file_does_not_fit_none_is_changed(house: FileHouse, fault: str) -> None:
    fill(house)
    if fault == "missing":
        (house.workspace / "old.txt").unlink()
    elif fault == "wrong line":
        (house.workspace / "a.py").write_text("class Door:\n    def open(self):\n        return 7\n")
    else:
        (house.workspace / "src").mkdir()
        (house.workspace / "src/a.py").write_text("mine\n")
    before = contents(house)
    with pytest.raises(DoorwardError) as caught:
        await house.run("file/patch", patch=CODEX)
    assert isinstance(caught.value, NotFound if fault == "missing" else Conflict)
    assert "Nothing was changed." in caught.value.message
    if fault == "wrong line":
        expected = "Hunk 1 of 2 of 'a.py' does not apply: at line 2 it expects '        return 1', but line 3 is"
        assert expected in caught.value.message
    assert contents(house) == before


async def test_every_diff_of_git_applies_as_git_applies_it(house: FileHouse, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_GLOBAL": "/dev/null"}

    def git(*words: str) -> str:
        who = ("-c", "user.name=a", "-c", "user.email=a", "-c", "core.autocrlf=false")
        return subprocess.run(
            ["git", *who, *words], cwd=theirs, env=env, check=True, capture_output=True, text=True
        ).stdout

    old = {
        "one": "".join(f"{n}\n" for n in range(40)),
        "dash": "-- a\n++ b\n-- c\n",
        "bare": "no newline",
        "gone": "x\n",
        "moved": "m\n" * 9,
        "sub/same": "s\n" * 20,
    }
    new = {
        "one": "".join(f"{n}\n" for n in range(40) if n not in (3, 30)) + "40\n",
        "dash": "++ b\n-- c\n-- d\n",
        "bare": "no newline either",
        "sub/moved": "m\n" * 9 + "n\n",
        "sub/again": "s\n" * 20,
        "empty-no-more": "hello",
    }
    git("init", "-q")
    for path, text in old.items():
        for root in (theirs, house.workspace):
            (root / path).parent.mkdir(exist_ok=True)
            (root / path).write_text(text)
    git("add", ".")
    git("commit", "-qm", "one")
    for path in old:
        (theirs / path).unlink()
    for path, text in new.items():
        (theirs / path).write_text(text)
    git("add", "-A")
    await house.run("file/patch", patch=git("diff", "--cached", "-M"))
    assert contents(house) == new


async def test_a_hunk_whose_number_is_wrong_is_found_by_its_lines_if_they_occur_once(house: FileHouse) -> None:
    file = house.workspace / "f"
    file.write_text("a\nb\nc\nd\nc\n")
    await house.run("file/patch", patch="--- a/f\n+++ b/f\n@@ -9,2 +9,2 @@\n c\n-d\n+D\n")
    assert file.read_text() == "a\nb\nc\nD\nc\n"
    with pytest.raises(Conflict, match="its lines occur 2 times, at lines 3, 5; give more context"):
        await house.run("file/patch", patch="--- a/f\n+++ b/f\n@@ -9 +9 @@\n-c\n+C\n")


async def test_line_ends_of_a_file_stay_as_they_are(house: FileHouse) -> None:
    file = house.workspace / "f"
    file.write_bytes(b"a\r\nb\r\n")
    await house.run("file/patch", patch="*** Begin Patch\n*** Update File: f\n a\n-b\n+c\n*** End Patch")
    assert file.read_bytes() == b"a\r\nc\r\n"


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        ("", "must"),
        ("hello", "expected '--- a/path'"),
        ("*** Begin Patch\n*** Update File: a\n-x\n+y\n", "must end with '*** End Patch'"),
        ("*** Begin Patch\n*** End Patch", "changes no file"),
        ("*** Begin Patch\n*** Rename File: a\n*** End Patch", "line 2"),
        ("*** Begin Patch\n*** Delete File: ../a\n*** End Patch", "leads out of the workspace"),
        ("*** Begin Patch\n*** Delete File: /etc/passwd\n*** End Patch", "starts with '/'"),
        ("*** Begin Patch\n*** Delete File: a\n*** Delete File: ./a\n*** End Patch", "'a' more than once"),
        ("--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n", "announces 2 old and 2 new lines, but has 1 and 1"),
        ("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n+c\n", "but has more"),
        ("diff --git a/f b/f\nold mode 100644\nnew mode 100755\n", "cannot change file modes"),
        ('--- "a/f"\n+++ "b/f"\n@@ -1 +1 @@\n-a\n+b\n', "quotation marks"),
    ],
)
async def test_a_patch_that_is_not_valid_says_where_and_why(house: FileHouse, patch: str, why: str) -> None:
    with pytest.raises(BadParams) as caught:
        await house.run("file/patch", patch=patch)
    assert why in caught.value.message
