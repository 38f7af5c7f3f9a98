"""file/read, list, stat and search as their callers see them, and what no file command does."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from file_house import FileHouse

from doorward.core.classification import Access, Effects, Tier
from doorward.core.errors import BadParams, DoorwardError, NotFound


@pytest.fixture
def house(tmp_path: Path) -> Iterator[FileHouse]:
    made = FileHouse(tmp_path, largest_file=100_000)
    yield made
    made.close()


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


async def test_a_written_file_is_read_back_with_its_digest(house: FileHouse) -> None:
    written = await house.run("file/write", path="notes/heute – 日本.md", content="eins\nzwei\n")
    assert written["created"]
    assert written["bytesAfter"] == 10
    read = await house.run("file/read", path="notes/./heute – 日本.md")
    assert read["content"] == "eins\nzwei\n"
    assert read["lines"] == 2
    assert read["size"] == 10
    assert read["digest"] == written["digest"] == sha(b"eins\nzwei\n")
    assert "cut" not in read


async def test_lines_are_read_from_an_offset_up_to_a_limit(house: FileHouse) -> None:
    await house.run("file/write", path="f", content="1\r\n2\u2028still 2\n3\n4")
    read = await house.run("file/read", path="f", offset=2, limit=2)
    assert read["content"] == "2\u2028still 2\n3\n"
    assert (read["firstLine"], read["lastLine"], read["lines"]) == (2, 3, 4)
    assert read["cut"]
    assert read["nextOffset"] == 4
    assert (await house.run("file/read", path="f", offset=4))["content"] == "4"
    with pytest.raises(BadParams, match="has only 4 lines"):
        await house.run("file/read", path="f", offset=5)


async def test_an_empty_file_has_no_lines(house: FileHouse) -> None:
    await house.run("file/write", path="empty", content="")
    read = await house.run("file/read", path="empty")
    assert (read["content"], read["lines"], read["size"]) == ("", 0, 0)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"a\x00b", b"\xed\xa0\x80"])
async def test_a_binary_file_is_given_as_base64_only(house: FileHouse, content: bytes) -> None:
    encoded = base64.b64encode(content).decode()
    await house.run("file/write", path="b", content=encoded, encoding="base64")
    with pytest.raises(BadParams, match='encoding="base64"'):
        await house.run("file/read", path="b")
    assert (await house.run("file/read", path="b", encoding="base64"))["content"] == encoded
    with pytest.raises(BadParams, match="Omit them"):
        await house.run("file/read", path="b", encoding="base64", offset=2)
    with pytest.raises(BadParams, match="binary"):
        await house.run("file/edit", path="b", oldString="a", newString="b")


ESCAPES = ["../x", "/etc/passwd", "a/../../x", "../workspace-evil/x", "out/secret", "link", "x\x00y", "d/\x01"]


@pytest.mark.parametrize("path", ESCAPES)
@pytest.mark.parametrize(
    ("command", "more"),
    [
        ("file/read", {}),
        ("file/write", {"content": "gone"}),
        ("file/edit", {"oldString": "outside", "newString": "gone"}),
        ("file/delete", {}),
        ("file/list", {}),
        ("file/search", {"pattern": "outside"}),
    ],
)
async def test_no_command_reaches_outside(house: FileHouse, command: str, more: dict[str, Any], path: str) -> None:
    for name in ("outside", "workspace-evil"):
        (house.workspace.parent / name).mkdir()
    secret = house.workspace.parent / "outside" / "secret"
    secret.write_text("outside")
    (house.workspace / "out").symlink_to("../outside")
    (house.workspace / "link").symlink_to(secret)
    params = {"pattern": more["pattern"], "path": path} if command == "file/search" else {"path": path, **more}
    with pytest.raises(DoorwardError):
        await house.run(command, **params)
    if house.services.registry[command].effect is not None:
        with pytest.raises(DoorwardError):
            await house.effect(command, **params)
    assert secret.read_text() == "outside"
    assert list((house.workspace.parent / "workspace-evil").iterdir()) == []
    assert house.names() == ["link", "out"]


async def test_a_pipe_does_not_hang_any_command(house: FileHouse) -> None:
    os.mkfifo(house.workspace / "pipe")
    for command, more in (
        ("file/read", {}),
        ("file/write", {"content": ""}),
        ("file/delete", {}),
        ("file/search", {"pattern": "x"}),
    ):
        with pytest.raises(BadParams):
            await house.run(command, path="pipe", **more)
    assert (await house.run("file/stat", path="pipe"))["type"] == "other"
    assert (await house.run("file/search", pattern="x"))["items"] == []


async def test_a_folder_is_listed_with_types_sizes_and_times(house: FileHouse) -> None:
    for path in ("b/2", "a.txt", ".hidden"):
        await house.run("file/write", path=path, content="xyz")
    os.utime(house.workspace / "a.txt", (0, 86_400))
    (house.workspace / "link").symlink_to("a.txt")
    listed = await house.run("file/list")
    assert [(item["path"], item["type"]) for item in listed["items"]] == [
        ("a.txt", "file"),
        ("b", "folder"),
        ("link", "symlink"),
    ]
    assert listed["items"][0]["size"] == 3
    assert listed["items"][0]["modified"] == "1970-01-02T00:00:00.000Z"
    assert listed["hiddenLeftOut"] == 1
    assert not listed["cut"]
    deep = await house.run("file/list", path="./b/..", recursive=True, hidden=True, limit=3)
    assert [item["path"] for item in deep["items"]] == [".hidden", "a.txt", "b"]
    assert deep["cut"]
    with pytest.raises(NotFound):
        await house.run("file/list", path="missing")
    with pytest.raises(BadParams, match="not a folder"):
        await house.run("file/list", path="a.txt")


async def test_a_name_that_is_no_text_is_shown_but_breaks_nothing(house: FileHouse) -> None:
    (house.workspace / "odd\udcff").write_text("find me")
    (item,) = (await house.run("file/list"))["items"]
    assert item["path"] == "odd\\xff"
    assert "note" in item
    (hit,) = (await house.run("file/search", pattern="find"))["items"]
    assert hit["path"] == "odd\\xff"


async def test_stat_tells_what_a_path_is(house: FileHouse) -> None:
    await house.run("file/write", path="d/f", content="x")
    (house.workspace / "d" / "f").chmod(0o640)
    (house.workspace / "in").symlink_to("d")
    (house.workspace / "out").symlink_to("/etc")
    told = await house.run("file/stat", path="d/f")
    assert (told["type"], told["size"], told["mode"], told["digest"]) == ("file", 1, "0640", sha(b"x"))
    assert (await house.run("file/stat", path="d/"))["type"] == "folder"
    assert (await house.run("file/stat", path="."))["type"] == "folder"
    assert (await house.run("file/stat", path="in"))["leadsTo"] == "folder"
    assert (await house.run("file/stat", path="out"))["leadsTo"] == "nothing inside the workspace"
    with pytest.raises(NotFound):
        await house.run("file/stat", path="missing")


async def test_a_search_finds_lines_with_their_surroundings(house: FileHouse) -> None:
    await house.run("file/write", path="src/a.py", content="one\r\ndef Two():\r\n    pass\r\n")
    await house.run("file/write", path="src/deep/b.md", content="def two\n")
    found = await house.run("file/search", pattern="def two", ignoreCase=True, context=1)
    assert [(item["path"], item["line"]) for item in found["items"]] == [("src/a.py", 2), ("src/deep/b.md", 1)]
    first = found["items"][0]
    assert (first["before"], first["text"], first["after"]) == (["one"], "def Two():", ["    pass"])
    assert found["filesSearched"] == 2


@pytest.mark.parametrize(
    ("params", "paths"),
    [
        ({"pattern": "x.y"}, ["a.py"]),
        ({"pattern": "x.y", "regex": True}, ["a.py", "d/b.py", "d/e/c.md"]),
        ({"pattern": "^X", "regex": True, "ignoreCase": True}, ["a.py", "d/b.py", "d/e/c.md"]),
        ({"pattern": "x", "glob": "*.py"}, ["a.py", "d/b.py"]),
        ({"pattern": "x", "glob": "d/**/*.md"}, ["d/e/c.md"]),
        ({"pattern": "x", "path": "d"}, ["d/b.py", "d/e/c.md"]),
        ({"pattern": "x", "path": "a.py"}, ["a.py"]),
        ({"pattern": "x", "hidden": True, "glob": ".h"}, [".h"]),
    ],
)
async def test_a_search_can_be_narrowed(house: FileHouse, params: dict[str, Any], paths: list[str]) -> None:
    for path, content in (("a.py", "x.y"), ("d/b.py", "x-y"), ("d/e/c.md", "xxy"), (".h", "x")):
        await house.run("file/write", path=path, content=content)
    found = await house.run("file/search", **params)
    assert [item["path"] for item in found["items"]] == paths


@pytest.mark.parametrize(
    "params",
    [
        {"pattern": "(", "regex": True},
        {"pattern": "(?=x)", "regex": True},
        {"pattern": "a{2000}", "regex": True},
        {"pattern": "a\nb"},
        {"pattern": "x", "glob": "[a"},
        {"pattern": "x", "glob": "../*"},
    ],
)
async def test_a_pattern_that_cannot_be_searched_is_refused(house: FileHouse, params: dict[str, Any]) -> None:
    with pytest.raises(BadParams):
        await house.run("file/search", **params)


async def test_a_search_skips_and_counts_what_it_cannot_read(house: FileHouse) -> None:
    (house.workspace / "binary").write_bytes(b"\x00needle")
    (house.workspace / "large").write_bytes(b"needle" * 20_000)
    (house.workspace / "out").symlink_to("/etc/passwd")
    await house.run("file/write", path="f", content="needle " + "n" * 1_000)
    found = await house.run("file/search", pattern="needle")
    assert [item["path"] for item in found["items"]] == ["f"]
    assert len(found["items"][0]["text"]) < 400
    assert found["skipped"] == {"binary": 1, "large": 1, "unreadable": 0}


async def test_a_search_ends_at_its_limit_and_says_so(house: FileHouse) -> None:
    await house.run("file/write", path="f", content="x\n" * 20)
    found = await house.run("file/search", pattern="x", limit=5)
    assert len(found["items"]) == 5
    assert found["cut"]
    assert "more than 5 matches" in found["endedBecause"]
    whole = await house.run("file/search", pattern="x", limit=20)
    assert not whole["cut"]


async def test_a_pattern_built_to_be_slow_is_not(house: FileHouse) -> None:
    await house.run("file/write", path="f", content="a" * 50_000)
    assert (await house.run("file/search", pattern="(a+)+$b", regex=True))["items"] == []


def test_reading_commands_are_information_and_changing_ones_are_code(house: FileHouse) -> None:
    registry = house.services.registry
    for verb in ("read", "list", "stat", "search", "history"):
        facts = registry[f"file/{verb}"].facts
        assert (facts.tier, facts.effects, facts.access) == (Tier.INFORMATION, Effects.READ, Access.READ)
    for verb in ("write", "edit", "undo", "delete"):
        facts = registry[f"file/{verb}"].facts
        assert facts.tier is Tier.CODE
        assert facts.access is (Access.FULL if verb == "delete" else Access.EDIT)
