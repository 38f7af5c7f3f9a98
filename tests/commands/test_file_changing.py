"""file/write, edit and delete: all of a change, or nothing of it."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import resource
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from file_house import FileHouse

from doorward.commands.file.text import LONGEST_DIFF
from doorward.core.errors import BadParams, CommandFailed, Conflict, NotFound


@pytest.fixture
def house(tmp_path: Path) -> Iterator[FileHouse]:
    made = FileHouse(tmp_path, largest_file=100_000)
    yield made
    made.close()


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize("content", ["a", "====", "YQ==\n", "Y Q==", "é", "YQ"])
async def test_what_is_not_base64_is_refused(house: FileHouse, content: str) -> None:
    with pytest.raises(BadParams, match="base64"):
        await house.run("file/write", path="b", content=content, encoding="base64")
    assert house.names() == []


async def test_half_a_character_is_refused(house: FileHouse) -> None:
    await house.run("file/write", path="f", content="x")
    with pytest.raises(BadParams, match="half a character"):
        await house.run("file/write", path="f", content="\ud800")
    with pytest.raises(BadParams, match="half a character"):
        await house.run("file/edit", path="f", oldString="x", newString="\ud800")


async def test_files_over_the_limit_are_neither_read_nor_written_nor_replaced(house: FileHouse) -> None:
    (house.workspace / "big").write_bytes(b"x" * 100_001)
    for command, more in (("file/read", {}), ("file/write", {"content": "small"}), ("file/delete", {})):
        with pytest.raises(BadParams, match="at most 100000"):
            await house.run(command, path="big", **more)
    with pytest.raises(BadParams, match="at most 100000"):
        await house.run("file/write", path="new/f", content="x" * 100_001)
    await house.run("file/write", path="f", content="x" * 100_000)
    with pytest.raises(BadParams, match="at most 100000"):
        await house.run("file/edit", path="f", oldString="x", newString="yy", replaceAll=True)
    assert house.names() == ["big", "f"]


async def test_a_write_without_parents_refuses_a_missing_folder(house: FileHouse) -> None:
    with pytest.raises(NotFound, match="The folder 'a' does not exist"):
        await house.run("file/write", path="a/b", content="", createParents=False)
    with pytest.raises(NotFound):
        await house.effect("file/write", path="a/b", content="", createParents=False)
    assert house.names() == []


async def test_a_write_that_expects_another_file_is_refused(house: FileHouse) -> None:
    first = await house.run("file/write", path="f", content="1", expectedDigest="")
    with pytest.raises(Conflict, match="expected no file"):
        await house.run("file/write", path="f", content="2", expectedDigest="")
    await house.run("file/write", path="f", content="2", expectedDigest=first["digest"])
    with pytest.raises(Conflict, match=sha(b"2")):
        await house.run("file/write", path="f", content="3", expectedDigest=first["digest"])
    with pytest.raises(Conflict, match="does not exist"):
        await house.run("file/write", path="new/g", content="3", expectedDigest=first["digest"])
    with pytest.raises(Conflict):
        await house.run("file/delete", path="f", expectedDigest=first["digest"])
    assert house.names() == ["f"]
    assert (house.workspace / "f").read_text() == "2"


async def test_writing_what_is_there_already_changes_nothing(house: FileHouse) -> None:
    await house.run("file/write", path="f", content="same")
    inode = (house.workspace / "f").stat().st_ino
    again = await house.run("file/write", path="f", content="same")
    assert not again["changed"]
    assert (house.workspace / "f").stat().st_ino == inode
    assert len((await house.run("file/history", path="f"))["items"]) == 1


async def test_an_edit_replaces_the_one_place_and_shows_it(house: FileHouse) -> None:
    await house.run("file/write", path="f", content="a\nb\nc")
    edited = await house.run("file/edit", path="f", oldString="b\nc", newString="B\nC")
    assert (house.workspace / "f").read_text() == "a\nB\nC"
    assert edited["replaced"] == 1
    assert edited["diff"] == (
        "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n-c\n\\ No newline at end of file\n"
        "+B\n+C\n\\ No newline at end of file\n"
    )


async def test_an_edit_that_fits_nowhere_or_twice_is_refused_with_the_places(house: FileHouse) -> None:
    content = "x\ny\nx x\n" + "z\n" * 30
    await house.run("file/write", path="f", content=content)
    with pytest.raises(Conflict, match="does not occur"):
        await house.run("file/edit", path="f", oldString="absent", newString="")
    with pytest.raises(Conflict, match=r"occurs 3 times in 'f', in lines 1, 3, 3\."):
        await house.run("file/edit", path="f", oldString="x", newString="")
    with pytest.raises(Conflict, match=r"30 times .* 4, 5, 6, 7, 8, 9, 10, 11, 12, 13 and more\."):
        await house.run("file/edit", path="f", oldString="z", newString="")
    with pytest.raises(BadParams, match="same"):
        await house.run("file/edit", path="f", oldString="x", newString="x")
    with pytest.raises(NotFound):
        await house.run("file/edit", path="missing/f", oldString="x", newString="y")
    assert (house.workspace / "f").read_text() == content
    edited = await house.run("file/edit", path="f", oldString="x", newString="", replaceAll=True)
    assert edited["replaced"] == 3
    assert (house.workspace / "f").read_text() == content.replace("x", "")


async def test_an_edit_across_other_line_ends_says_so(house: FileHouse) -> None:
    await house.run("file/write", path="f", content="a\r\nb\r\n")
    with pytest.raises(Conflict) as refusal:
        await house.run("file/edit", path="f", oldString="a\nb", newString="")
    assert "\\r\\n" in refusal.value.hint


async def test_edits_of_one_file_at_the_same_time_all_arrive(house: FileHouse) -> None:
    (house.workspace / "real").mkdir()
    (house.workspace / "alias").symlink_to("real")
    await house.run("file/write", path="real/f", content="".join(f"<{n}>\n" for n in range(40)))
    await asyncio.gather(
        *(
            house.run("file/edit", path=f"{('real', 'alias')[n % 2]}/f", oldString=f"<{n}>", newString=f"[{n}]")
            for n in range(40)
        )
    )
    assert (house.workspace / "real" / "f").read_text() == "".join(f"[{n}]\n" for n in range(40))


async def test_a_cancelled_write_leaves_the_old_or_the_new_and_nothing_else(house: FileHouse) -> None:
    await house.run("file/write", path="f", content="old")
    for turns in range(12):
        task = asyncio.ensure_future(house.run("file/write", path=f"{turns}/f", content="new"))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        assert not [name for name in house.names() if name.endswith(".doorward")]
        made = house.workspace / str(turns)
        assert not made.exists() or (made / "f").read_text() == "new"


async def test_a_call_cancelled_twice_still_waits_for_its_end(house: FileHouse) -> None:
    task = asyncio.ensure_future(house.run("file/write", path="f", content="x" * 90_000))
    for _ in range(3):
        await asyncio.sleep(0)
        task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert house.names() in ([], ["f"])


async def test_a_file_is_not_touched_when_what_it_replaces_cannot_be_stored(house: FileHouse) -> None:
    await house.run("file/write", path="f", content="old")
    with contextlib.closing(sqlite3.connect(house.store.path)) as db:
        db.execute(
            "CREATE TRIGGER nothing_more BEFORE INSERT ON before_images BEGIN SELECT RAISE(ABORT, 'no more'); END"
        )
    for path in ("f", "made/for/it"):
        with pytest.raises(Conflict, match="no more"):
            await house.run("file/write", path=path, content="new")
    with pytest.raises(Conflict, match="no more"):
        await house.run("file/delete", path="f")
    assert house.names() == ["f"]
    assert (house.workspace / "f").read_text() == "old"


async def test_a_folder_nobody_can_write_to_fails_with_a_sentence(house: FileHouse) -> None:
    house.workspace = Path("/sys")
    with pytest.raises(CommandFailed, match="Could not write 'doorward': "):
        await house.run("file/write", path="doorward", content="x")


async def test_a_disk_that_takes_no_more_fails_with_a_sentence(house: FileHouse) -> None:
    await house.run("file/write", path="f", content="old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, hard))
    try:
        with pytest.raises(CommandFailed, match="Could not write 'f'"):
            await house.run("file/write", path="f", content="x" * 5_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert house.names() == ["f"]
    assert (house.workspace / "f").read_text() == "old"
    assert len((await house.run("file/history", path="f"))["items"]) == 1


async def test_a_dry_run_shows_the_difference_and_changes_nothing(house: FileHouse) -> None:
    shown = await house.effect("file/write", path="a/new", content="1\n")
    assert shown["created"]
    assert shown["diff"] == "--- /dev/null\n+++ b/a/new\n@@ -0,0 +1 @@\n+1\n"
    assert house.names() == []
    await house.run("file/write", path="f", content="1\n")
    edited = await house.effect("file/edit", path="f", oldString="1", newString="2")
    assert edited["diff"] == "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-1\n+2\n"
    deleted = await house.effect("file/delete", path="f")
    assert deleted["diff"] == "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n"
    assert (deleted["bytesBefore"], deleted["bytesAfter"]) == (2, None)
    binary = await house.effect("file/write", path="f", content="/w==", encoding="base64")
    assert binary["diff"] == "Binary file f: 2 bytes become 1."
    with pytest.raises(Conflict):
        await house.effect("file/edit", path="f", oldString="absent", newString="2")
    assert (house.workspace / "f").read_text() == "1\n"
    assert len((await house.run("file/history", path="f"))["items"]) == 1


async def test_a_long_difference_is_cut_and_says_so(house: FileHouse) -> None:
    shown = await house.effect("file/write", path="f", content="line\n" * 15_000)
    assert len(shown["diff"]) < LONGEST_DIFF + 100
    assert "not shown" in shown["diff"]


async def test_several_edits_are_made_in_order_or_none_of_them(house: FileHouse) -> None:
    file = house.workspace / "f.py"
    file.write_text("def one():\n    return 1\n\n\ndef two():\n    return 2\n")
    good = [{"oldString": "return 1", "newString": "return 10"}, {"oldString": "10", "newString": "11"}]
    done = await house.run("file/edit", path="f.py", edits=good)
    assert (done["replaced"], "return 11" in file.read_text()) == (2, True)
    before = file.read_text()
    bad = [{"oldString": "two", "newString": "three"}, {"oldString": "  retrun 2\n", "newString": "x"}]
    with pytest.raises(Conflict) as caught:
        await house.run("file/edit", path="f.py", edits=bad)
    message = caught.value.message
    assert "Edit 2 of 2: oldString does not occur in 'f.py'." in message
    assert "Nothing was changed." in message
    assert "     6\t    return 2" in message
    assert file.read_text() == before
    for params in ({}, {"oldString": "a"}, {"oldString": "a", "newString": "b", "edits": good}):
        with pytest.raises(BadParams, match="edits"):
            await house.run("file/edit", path="f.py", **params)
