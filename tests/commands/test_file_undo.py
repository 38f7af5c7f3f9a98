"""file/undo and file/history: what was replaced comes back, once, and only where nobody changed it since (R7.5)."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from file_house import ADA, BOT, STRANGER, FileHouse
from hypothesis import given, settings
from hypothesis import strategies as st

from doorward.commands.file.text import digest
from doorward.core.errors import Conflict, DoorwardError, NotFound, NotPermitted, Unrecorded
from doorward.store import before_images


@pytest.fixture
def house(tmp_path: Path) -> Iterator[FileHouse]:
    made = FileHouse(tmp_path)
    yield made
    made.close()


def content(house: FileHouse, path: str = "f") -> str | None:
    file = house.workspace / path
    return file.read_text() if file.exists() else None


async def test_an_edit_is_undone_and_redone_and_undone(house: FileHouse) -> None:
    await house.run("file/write", path="f", content="one")
    edited = await house.run("file/edit", path="f", oldString="one", newString="two")
    undone = await house.run("file/undo", execution=edited["execution"])
    assert content(house) == "one"
    assert undone["undone"] == edited["execution"]
    redone = await house.run("file/undo", execution=undone["execution"])
    assert content(house) == "two"
    await house.run("file/undo", execution=redone["execution"])
    assert content(house) == "one"


async def test_the_undo_of_a_new_file_removes_it_and_its_undo_brings_it_back(house: FileHouse) -> None:
    written = await house.run("file/write", path="a/b", content="new")
    undone = await house.run("file/undo", execution=written["execution"])
    assert content(house, "a/b") is None
    await house.run("file/undo", execution=undone["execution"])
    assert content(house, "a/b") == "new"


async def test_a_deleted_file_comes_back_with_its_folder(house: FileHouse) -> None:
    await house.run("file/write", path="a/b", content="kept")
    deleted = await house.run("file/delete", path="a/b")
    (house.workspace / "a").rmdir()
    await house.run("undo", execution=deleted["execution"])
    assert content(house, "a/b") == "kept"


async def test_an_undo_keeps_the_mode_of_the_file(house: FileHouse) -> None:
    await house.run("file/write", path="f", content="one")
    (house.workspace / "f").chmod(0o750)
    written = await house.run("file/write", path="f", content="two")
    await house.run("file/undo", execution=written["execution"])
    assert (house.workspace / "f").stat().st_mode & 0o777 == 0o750


@pytest.mark.parametrize("later", ["changed outside", None])
async def test_a_file_that_changed_since_is_left_alone(house: FileHouse, later: str | None) -> None:
    await house.run("file/write", path="f", content="one")
    written = await house.run("file/write", path="f", content="two")
    if later is None:
        (house.workspace / "f").unlink()
    else:
        (house.workspace / "f").write_text(later)
    with pytest.raises(Conflict, match=f"'f' has changed since .*{digest(b'two')}"):
        await house.run("file/undo", execution=written["execution"])
    assert content(house) == later
    (house.workspace / "f").write_text("two")
    await house.run("file/undo", execution=written["execution"])
    assert content(house) == "one"


async def test_an_older_change_is_not_undone_over_a_newer_one(house: FileHouse) -> None:
    first = await house.run("file/write", path="f", content="one")
    second = await house.run("file/write", path="f", content="two")
    with pytest.raises(Conflict):
        await house.run("file/undo", execution=first["execution"])
    await house.run("file/undo", execution=second["execution"])
    await house.run("file/undo", execution=first["execution"])
    assert content(house) is None


async def test_an_execution_is_undone_once_only(house: FileHouse) -> None:
    written = await house.run("file/write", path="f", content="one")
    undone = await house.run("file/undo", execution=written["execution"])
    with pytest.raises(Conflict, match=undone["execution"]):
        await house.run("file/undo", execution=written["execution"])


async def test_of_many_undos_at_once_one_does_it(house: FileHouse) -> None:
    written = await house.run("file/write", path="f", content="one")
    ends = await asyncio.gather(
        *(house.run("file/undo", execution=written["execution"]) for _ in range(8)), return_exceptions=True
    )
    assert sum(isinstance(end, dict) for end in ends) == 1
    assert sum(isinstance(end, Conflict) for end in ends) == 7
    assert content(house) is None


async def test_what_was_kept_but_never_changed_has_nothing_to_undo(house: FileHouse) -> None:
    """The process died after it kept the old bytes and before it touched the file."""
    await house.run("file/write", path="f", content="one")
    died = house.context("file/write", {"path": "f", "content": "two"})
    await house.store.write(
        before_images.store_image(died.call, kind="file", target="f", before=b"one", after=digest(b"two"), at=1.0)
    )
    with pytest.raises(Conflict, match="nothing to undo"):
        await house.run("file/undo", execution=died.call.id)
    assert content(house) == "one"


async def test_an_undo_that_died_before_it_was_done_can_be_made_again(house: FileHouse) -> None:
    await house.run("file/write", path="f", content="one")
    written = await house.run("file/write", path="f", content="two")
    died = house.context("file/undo", {"execution": written["execution"]})
    await house.store.write(
        before_images.store_image(died.call, kind="file", target="f", before=b"two", after=digest(b"one"), at=1.0)
    )
    await house.run("file/undo", execution=written["execution"])
    assert content(house) == "one"


async def test_an_undo_that_could_not_be_noted_says_that_it_happened(house: FileHouse) -> None:
    await house.run("file/write", path="f", content="one")
    written = await house.run("file/write", path="f", content="two")
    with contextlib.closing(sqlite3.connect(house.store.path)) as db:
        db.execute("CREATE TRIGGER no_note BEFORE UPDATE ON before_images BEGIN SELECT RAISE(ABORT, 'no note'); END")
    with pytest.raises(Unrecorded, match="no note"):
        await house.run("file/undo", execution=written["execution"])
    assert content(house) == "one"
    with pytest.raises(Conflict, match="nothing to undo"):
        await house.run("file/undo", execution=written["execution"])


async def test_an_unknown_execution_or_another_tenants_has_nothing_to_undo(house: FileHouse) -> None:
    written = await house.run("file/write", path="f", content="one")
    with pytest.raises(NotFound):
        await house.run("file/undo", execution="0000000000000000")
    with pytest.raises(NotFound):
        await house.run("file/undo", STRANGER, execution=written["execution"])
    assert (await house.run("file/history", STRANGER, path="f"))["items"] == []
    assert content(house) == "one"


async def test_an_undo_needs_the_right_to_the_change_itself(house: FileHouse) -> None:
    deleted = await house.run("file/write", path="f", content="one")
    house.denied.add("file/write")
    with pytest.raises(NotPermitted):
        await house.run("file/undo", execution=deleted["execution"])
    assert content(house) == "one"


async def test_a_path_turned_into_a_symlink_is_not_restored_through(house: FileHouse) -> None:
    outside = house.workspace.parent / "outside"
    outside.write_text("two")
    await house.run("file/write", path="f", content="one")
    written = await house.run("file/write", path="f", content="two")
    (house.workspace / "f").unlink()
    (house.workspace / "f").symlink_to(outside)
    with pytest.raises(DoorwardError):
        await house.run("file/undo", execution=written["execution"])
    assert outside.read_text() == "two"


async def test_the_history_tells_each_change_newest_first(house: FileHouse) -> None:
    first = await house.run("file/write", path="d/f", content="one")
    second = await house.run("file/write", BOT, path="d/f", content="three")
    third = await house.run("file/delete", path="d/f")
    undone = await house.run("file/undo", execution=third["execution"])
    told = (await house.run("file/history", path="d/../d/f"))["items"]
    assert [item["execution"] for item in told] == [one["execution"] for one in (undone, third, second, first)]
    assert [item["command"] for item in told] == ["file/undo", "file/delete", "file/write", "file/write"]
    assert [(item["bytesBefore"], item["bytesAfter"]) for item in told] == [(None, 5), (5, None), (3, 5), (None, 3)]
    assert [item["undone"] for item in told] == [False, True, False, False]
    assert told[1]["undoneBy"] == undone["execution"]
    assert (told[2]["caller"], told[2]["onBehalfOf"]) == (BOT.id, BOT.on_behalf_of)
    assert told[3]["caller"] == ADA.id
    assert [item["path"] for item in (await house.run("file/list", path="d"))["items"]] == ["d/f"]
    assert len((await house.run("file/history", path="d/f", limit=2))["items"]) == 2


WORDS = st.sampled_from(["", "a", "b", "ab", "ba", "aab\n"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.sampled_from(["f", "d/g"]), WORDS),
        st.tuples(st.just("edit"), st.sampled_from(["f", "d/g"]), st.sampled_from(["a", "b"]), WORDS, st.booleans()),
        st.tuples(st.just("delete"), st.sampled_from(["f", "d/g"])),
        st.tuples(st.just("undo"), st.integers(0, 8)),
    ),
    max_size=12,
)


class Model:
    """The files as they should be; each change knows what it replaced and left."""

    def __init__(self) -> None:
        self.files: dict[str, str | None] = {"f": None, "d/g": None}
        self.changes: list[dict[str, Any]] = []

    def after(self, step: tuple[Any, ...]) -> tuple[str, str | None] | None:
        """The path and its new content, or None when the step must be refused."""
        if step[0] == "undo":
            return self._after_undo(step[1])
        now = self.files[step[1]]
        if step[0] == "write":
            return step[1], step[2]
        if now is None:
            return None
        if step[0] == "delete":
            return step[1], None
        old, new, everywhere = step[2:]
        fits = old != new and (now.count(old) == 1 or (everywhere and old in now))
        return (step[1], now.replace(old, new)) if fits else None

    def _after_undo(self, number: int) -> tuple[str, str | None] | None:
        if number >= len(self.changes) or self.changes[number]["undone"]:
            return None
        change = self.changes[number]
        still = self.files[change["path"]] == change["left"]
        return (change["path"], change["replaced"]) if still else None


async def follow(steps: list[tuple[Any, ...]], folder: Path) -> None:
    house = FileHouse(folder)
    model = Model()
    try:
        for step in steps:
            wanted = model.after(step)
            try:
                answer = await perform(house, model, step)
            except DoorwardError:
                answer = None
            assert (answer is None) == (wanted is None), step
            if wanted is not None and answer is not None:
                path, new = wanted
                if model.files[path] != new:
                    change = {"path": path, "replaced": model.files[path], "left": new, "undone": False}
                    model.changes.append(change | {"execution": answer["execution"]})
                if step[0] == "undo":
                    model.changes[step[1]]["undone"] = True
                model.files[path] = new
            assert {path: content(house, path) for path in model.files} == model.files, step
        assert set(house.names()) <= {"f", "d", "d/g"}
    finally:
        house.close()


async def perform(house: FileHouse, model: Model, step: tuple[Any, ...]) -> Any:
    if step[0] == "write":
        return await house.run("file/write", path=step[1], content=step[2])
    if step[0] == "edit":
        return await house.run("file/edit", path=step[1], oldString=step[2], newString=step[3], replaceAll=step[4])
    if step[0] == "delete":
        return await house.run("file/delete", path=step[1])
    known = model.changes[step[1]]["execution"] if step[1] < len(model.changes) else "0000000000000000"
    return await house.run("file/undo", execution=known)


@settings(max_examples=40, deadline=None)
@given(STEPS)
def test_any_sequence_of_changes_and_undos_equals_the_model(steps: list[tuple[Any, ...]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(follow(steps, Path(folder)))


async def test_the_oldest_history_is_dropped_beyond_the_limit_and_undo_says_so(house: FileHouse) -> None:
    calls = []
    for number in range(4):
        done = await house.run("file/write", path="f", content=str(number) * 1_000)
        calls.append(done["execution"])
    assert await before_images.drop_beyond(house.store, 2_000) == 1
    assert await before_images.drop_beyond(house.store, 2_000) == 0
    with pytest.raises(NotFound, match=r"can no longer be undone: its history was dropped.*limits\.undo_bytes"):
        await house.run("undo", execution=calls[1])
    kept = (await house.run("file/history", path="f"))["items"]
    assert [(one["undone"], "note" in one) for one in kept] == [(False, False)] * 2 + [(False, True), (False, False)]
    for call in reversed(calls[2:]):
        await house.run("undo", execution=call)
    assert (house.workspace / "f").read_text() == "1" * 1_000
