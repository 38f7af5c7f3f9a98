"""One tree shows files, records, executions and the house, each by the command that shows the same without it."""

from __future__ import annotations

import json

import pytest

NOTES = {"type": "object", "properties": {"title": {"type": "string"}}}
FILES = {"a.py": "x\n", "src/b.py": "y\n" * 5, "src/.hidden": "", "big.txt": "z" * 5_000}

MISSING = [
    ("/nope", "/ contains: data, home"),
    ("/home/anna", "/home contains: owner"),
    ("/system/nope", "/system contains:"),
    ("/system/commands/nope", "There is no '/system/commands/nope'"),
    ("/proc/nope", "There is no '/proc/nope'"),
    ("/proc/self/nope", "command, output, status"),
    ("/data/nope", "There is no collection 'nope'"),
    ("/data/notes/n3", "There is no record 'n3'"),
    ("/workspace/nope", "There is no 'nope' in the workspace"),
]


@pytest.fixture
async def tree(driver):
    await driver.owner("collection/define", name="notes", schema=NOTES)
    for id in ("n1", "n2"):
        await driver.owner("data/create", collection="notes", id=id, data={"title": id})
    for path, text in FILES.items():
        await driver.owner("file/write", path=path, content=text)
    return driver


async def names(driver, path, **more):
    return [one["name"] for one in (await driver.owner("vfs/list", path=path, **more)).result["items"]]


async def failed(driver, command, **params):
    outcome = await driver.ask(command, by="", room="", params=params)
    assert outcome.status == "failed", outcome
    return outcome


async def test_every_part_of_the_tree_is_listed(tree):
    assert await names(tree, "/") == ["data", "home", "proc", "system", "tmp", "workspace"]
    assert await names(tree, "/home") == ["owner"]
    assert await names(tree, "~") == []
    assert await names(tree, "/tmp") == []
    assert await names(tree, "/workspace") == ["a.py", "big.txt", "src"]
    assert await names(tree, "src", hidden=True) == [".hidden", "b.py"]
    assert await names(tree, "/workspace/a.py") == ["a.py"]
    assert {"notes", "rooms", "executions"} <= set(await names(tree, "/data"))
    assert await names(tree, "/data/notes") == ["n1", "n2"]
    assert await names(tree, "/data/notes", hidden=True) == [".schema", "n1", "n2"]
    assert {"status", "me", "version", "log", "commands", "recipes", "rooms", "people"} <= set(
        await names(tree, "/system")
    )
    assert "list" in await names(tree, "/system/commands/vfs")
    assert "sh" not in await names(tree, "/system/commands")
    assert await names(tree, "/proc/self") == ["command", "output", "status"]


async def test_items_say_kind_size_and_time(tree):
    found = (await tree.owner("vfs/list", path="/workspace")).result["items"]
    by_name = {one["name"]: one for one in found}
    assert by_name["big.txt"]["size"] == 5_000
    assert by_name["big.txt"]["modified"].endswith("Z")
    assert (by_name["src"]["kind"], "size" in by_name["src"]) == ("folder", False)
    record = (await tree.owner("vfs/list", path="/data/notes")).result["items"][0]
    text = (await tree.owner("vfs/read", path=record["path"])).result["content"]
    assert record["size"] == len(text)


async def test_what_is_not_there_is_said_with_what_is(tree):
    for path, says in MISSING:
        for command in ("vfs/list", "vfs/read", "vfs/stat"):
            outcome = await failed(tree, command, path=path)
            assert outcome.code == "not_found"
            assert says in outcome.message


async def test_virtual_files_are_read_as_text(tree):
    read = {
        path: (await tree.owner("vfs/read", path=path)).result["content"]
        for path in ("/data/notes/n1", "/data/notes/.schema", "/system/me", "/system/version", "/system/recipes/admin")
    }
    assert json.loads(read["/data/notes/n1"])["title"] == "n1"
    assert json.loads(read["/data/notes/.schema"])["fields"]["title"] == "text"
    assert json.loads(read["/system/me"]) | {"user": "owner", "access": "root"} == json.loads(read["/system/me"])
    assert json.loads(read["/system/recipes/admin"])["id"] == "admin"
    assert (await tree.owner("vfs/read", path="/proc/self/command")).result["content"] == "vfs/read\n"
    assert "file/list" in (await tree.owner("vfs/read", path="/system/commands/file/list")).result["content"]
    folder = await failed(tree, "vfs/read", path="/data/notes")
    assert "is a folder" in folder.message


async def test_reading_goes_by_lines_from_either_end(tree):
    middle = (await tree.owner("vfs/read", path="src/b.py", offset=2, limit=2)).result
    assert (middle["content"], middle["cut"], middle["nextOffset"]) == ("y\ny\n", True, 4)
    assert (await tree.owner("vfs/read", path="src/b.py", tail=1)).result["firstLine"] == 5
    whole = (await tree.owner("vfs/read", path="/system/me")).result
    last = (await tree.owner("vfs/read", path="/system/me", tail=1)).result
    assert last["content"] == whole["content"].splitlines(keepends=True)[-1]
    both = await failed(tree, "vfs/read", path="src/b.py", tail=1, offset=2)
    assert both.code == "bad_params"


async def test_a_large_collection_is_cut_and_says_so(tree):
    shown = (await tree.owner("vfs/list", path="/data/notes", limit=1)).result
    assert (len(shown["items"]), shown["cut"]) == (1, True)
    assert "only the first 1 records" in shown["note"]


async def test_files_are_found_by_name_kind_size_and_time(tree):
    async def found(**how):
        return [one["path"] for one in (await tree.owner("vfs/find", **how)).result["items"]]

    assert await found(name="*.py") == ["/workspace/a.py", "/workspace/src/b.py"]
    assert await found(name="src/*.py") == ["/workspace/src/b.py"]
    assert await found(name="*.PY", ignoreCase=True, path="src") == ["/workspace/src/b.py"]
    assert await found(kind="folder") == ["/workspace/src"]
    assert await found(larger="4k") == ["/workspace/big.txt"]
    assert await found(kind="file", smaller="3") == ["/workspace/a.py"]
    assert await found(kind="file", sort="size", descending=True, limit=1) == ["/workspace/big.txt"]
    assert await found(kind="file", newer="1h", name="a.py") == ["/workspace/a.py"]
    assert await found(kind="file", older="1h") == []
    assert await found(path="/data", name="n1") == ["/data/notes/n1"]
    told = (await tree.owner("vfs/find", kind="file", limit=1)).result
    assert (told["matched"], told["bytes"], told["cut"]) == (3, 5_012, True)
    assert (await failed(tree, "vfs/find", name="[")).code == "bad_params"
    assert (await failed(tree, "vfs/find", newer="soon")).code == "bad_params"


async def test_a_tree_is_drawn(tree):
    drawn = (await tree.owner("vfs/tree", path="/workspace")).result
    assert drawn["text"] == "/workspace\n├── a.py\n├── big.txt\n└── src/\n    └── b.py\n"
    assert (drawn["folders"], drawn["files"], drawn["cut"]) == (1, 3, False)
    short = (await tree.owner("vfs/tree", path="/workspace", limit=1)).result
    assert (short["text"], short["cut"]) == ("/workspace\n├── a.py\n…\n", True)


async def test_every_look_is_a_call_of_its_own_in_the_record(tree):
    before = len(await tree.ledger())
    await tree.owner("vfs/list", path="/data/notes")
    assert [row["command"] for row in (await tree.ledger())[before:]] == ["data/list", "vfs/list"]
