"""Virtual files are changed by the commands that change the same without the tree, wholly or not at all."""

from __future__ import annotations

import json

import pytest

NOTES = {"type": "object", "properties": {"title": {"type": "string"}, "done": {"type": "boolean"}}}

UNWRITABLE = [
    ("/data/notes/n1", "[1]", "a JSON object"),
    ("/data/notes/n1", "{", "as JSON"),
    ("/data/notes/n1", '{"title": 5}', "title"),
    ("/data/notes", "{}", "cannot be written"),
    ("/data/notes/.schema", "{}", "cannot be written"),
    ("/data/rooms/general", '{"topic": "x"}', "rooms"),
    ("/system/me", "{}", "/system is read-only"),
    ("/proc/self/status", "x", "/proc is read-only"),
    ("/", "x", "the root of the tree"),
    ("/home", "x", "the root of the tree"),
    ("/home/anna/x", "x", "There is no '/home/anna'. /home contains: owner."),
    ("/etc/passwd", "x", "There is no '/etc'. / contains: data"),
]


@pytest.fixture
async def tree(driver):
    await driver.owner("collection/define", name="notes", schema=NOTES)
    await driver.owner("data/create", collection="notes", id="n1", data={"title": "Milk", "done": True})
    return driver


async def text(driver, path):
    return (await driver.owner("vfs/read", path=path)).result["content"]


async def refused(driver, command, **params):
    outcome = await driver.ask(command, by="", room="", params=params)
    assert outcome.status == "failed", outcome
    return outcome.message


async def test_home_and_tmp_appear_when_something_is_written(tree):
    made = (await tree.owner("vfs/write", path="~/deep/a.txt", content="a\n")).result
    again = (await tree.owner("vfs/append", path="~/deep/a.txt", content="b\n")).result
    await tree.owner("vfs/append", path="/tmp/new.txt", content="c\n")
    workspace = tree.house.home.path / "workspace"
    assert (made["did"], again["did"], made["command"]) == ("created", "changed", "file/write")
    assert (workspace / "home/owner/deep/a.txt").read_text() == "a\nb\n"
    assert (workspace / "tmp/new.txt").read_text() == "c\n"
    await tree.owner("undo", execution=again["execution"])
    assert await text(tree, "/workspace/home/owner/deep/a.txt") == "a\n"


async def test_bytes_that_are_no_text_are_written_and_appended(tree):
    await tree.owner("vfs/write", path="x.bin", content="AAEC", encoding="base64")
    await tree.owner("vfs/append", path="x.bin", content="/w==", encoding="base64")
    assert (tree.house.home.path / "workspace/x.bin").read_bytes() == b"\x00\x01\x02\xff"
    assert (await tree.owner("vfs/read", path="x.bin", encoding="base64")).result["content"] == "AAEC/w=="


async def test_a_record_is_written_whole(tree):
    await tree.owner("vfs/write", path="/data/notes/n1", content='{"title": "Bread", "version": 1}')
    changed = json.loads(await text(tree, "/data/notes/n1"))
    assert (changed["title"], "done" in changed, changed["version"]) == ("Bread", False, 2)
    stale = await refused(tree, "vfs/write", path="/data/notes/n1", content='{"title": "Tea", "version": 1}')
    assert "version 2" in stale
    made = (await tree.owner("vfs/write", path="/data/notes/n2", content='{"title": "New"}')).result
    assert (made["did"], made["command"]) == ("created", "data/create")
    await tree.owner("undo", execution=made["execution"])
    assert "There is no record" in await refused(tree, "vfs/read", path="/data/notes/n2")


async def test_what_cannot_be_written_says_why(tree):
    for path, content, says in UNWRITABLE:
        assert says in await refused(tree, "vfs/write", path=path, content=content)
    assert "record" in await refused(tree, "vfs/append", path="/data/notes/n1", content="x")


async def test_files_and_folders_are_made_copied_moved_and_removed(tree):
    await tree.owner("vfs/make", path="/tmp/a/b")
    await tree.owner("vfs/write", path="/tmp/a/x.txt", content="x")
    await tree.owner("vfs/copy", source="/tmp/a", target="~/a", recursive=True)
    await tree.owner("vfs/move", source="~/a/x.txt", target="/workspace/y.txt")
    await tree.owner("vfs/copy", source="/data/notes/n1", target="/tmp")
    await tree.owner("vfs/copy", source="/tmp/n1", target="/data/notes/n9")
    workspace = tree.house.home.path / "workspace"
    assert (workspace / "y.txt").read_text() == "x"
    assert not (workspace / "home/owner/a/x.txt").exists()
    assert json.loads((workspace / "tmp/n1").read_text())["title"] == "Milk"
    assert json.loads(await text(tree, "/data/notes/n9"))["title"] == "Milk"
    gone = (await tree.owner("vfs/remove", paths=["/tmp/a", "~/a", "y.txt"], recursive=True)).result["items"]
    assert {one["execution"] for one in gone} == {gone[0]["execution"]}, "one call removed all of them"
    assert not (workspace / "y.txt").exists()
    await tree.owner("undo", execution=gone[0]["execution"])
    assert (workspace / "y.txt").read_text() == "x"
    (record,) = (await tree.owner("vfs/remove", paths=["/data/notes/n9"])).result["items"]
    assert record["command"] == "data/delete"


async def test_nothing_is_removed_unless_all_of_it_can_be(tree):
    for name in ("a", "b", "c", "d"):
        await tree.owner("vfs/write", path=f"/tmp/{name}", content=name)
    many = ["/tmp/a", "/tmp/b", "/tmp/c", "/tmp/nope"]
    assert "tmp/nope" in await refused(tree, "vfs/remove", paths=many)
    assert "different parts" in await refused(tree, "vfs/remove", paths=["/tmp/a", "/data/notes/n1"])
    assert "is a folder" in await refused(tree, "vfs/remove", paths=["/workspace/tmp", "/tmp/a"])
    assert "itself cannot be removed" in await refused(tree, "vfs/remove", paths=["/workspace"], recursive=True)
    assert "collection/drop" in await refused(tree, "vfs/remove", paths=["/data/notes"], recursive=True)
    assert "copy it" in await refused(tree, "vfs/move", source="/data/notes/n1", target="/tmp/n1")
    assert len((await tree.owner("vfs/list", path="/tmp")).result["items"]) == 4
