"""Other results in words: files, programs, the house itself, and calls that did not run."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from told_results import AT, got, listed, ran

from doorward.agents.house.telling import Asked, Got, told
from doorward.agents.house.telling.knowledge import tellers

_FILES = [
    (Asked(), got("file/list", {"items": [], "path": "."}, path="."), "The folder is empty: there are no files in it."),
    (Asked(), got("vfs/list", {"items": [], "path": "docs"}, path="docs"), "docs is empty: there are no files in it."),
    (
        Asked(condition_says="larger than 1 MB", span_says="this week"),
        got("vfs/find", {"items": [], "matched": 0}),
        "There are no files larger than 1 MB this week.",
    ),
    (
        Asked(),
        got(
            "vfs/find",
            {
                "items": [
                    {"path": "src/a.py", "kind": "file", "size": 1234},
                    {"path": "src/b.py", "kind": "file", "size": 2_500_000},
                ],
                "matched": 2,
                "bytes": 2_501_234,
                "cut": False,
            },
            path="src",
        ),
        "There are 2 files in src, 2.5 MB together: src/a.py (1.2 kB) and src/b.py (2.5 MB).",
    ),
    (
        Asked(),
        got(
            "file/list",
            {
                "items": [{"path": "docs", "type": "folder"}, {"path": "a b.txt", "type": "file", "size": 1}],
                "cut": False,
            },
        ),
        "There are 1 file and 1 folder: docs/ and “a b.txt” (1 byte).",
    ),
    (
        Asked(count=True),
        got("vfs/find", {"items": [{"path": "a", "size": 5}], "matched": 40, "bytes": 9_000, "cut": False}),
        "There are 40 files, 9 kB together.",
    ),
    (
        Asked(),
        got("vfs/find", {"items": [{"path": "a", "kind": "file"}], "cut": True}),
        "There is at least 1 file: a. There are more than I was shown.",
    ),
    (
        Asked(),
        got("file/stat", {"path": "a.txt", "type": "file", "size": 1500, "modified": AT}),
        "a.txt is a file, of 1.5 kB (1,500 bytes), last changed on 16 November 2026 at 08:00 UTC.",
    ),
    (
        Asked(),
        got("file/read", {"path": "a.txt", "encoding": "utf-8", "size": 7, "content": "hi\nyou\n", "lines": 2}),
        "a.txt holds 7 bytes in 2 lines:\n> hi\n> you",
    ),
    (Asked(), got("file/read", {"path": "a.txt", "encoding": "utf-8", "size": 0, "content": ""}), "a.txt is empty."),
    (
        Asked(),
        got(
            "file/read",
            {
                "path": "a",
                "encoding": "utf-8",
                "size": 9,
                "content": "x",
                "lines": 300,
                "firstLine": 281,
                "lastLine": 300,
            },
        ),
        "Lines 281 to 300 of the 300 lines of a:\n> x",
    ),
    (
        Asked(),
        got("file/read", {"path": "a.bin", "encoding": "base64", "size": 2048, "content": "AA=="}),
        "a.bin holds 2 kB that are no text.",
    ),
    (
        Asked(),
        got("file/search", {"items": [{"path": "a.py", "line": 3, "text": "  # x"}], "cut": False}, pattern="x"),
        "I found x in 1 line of 1 file:\n- a.py, line 3: “# x”",
    ),
    (Asked(), got("file/search", {"items": [], "cut": False}, pattern="a b"), "I found “a b” in no file."),
    (
        Asked(),
        got("file/write", {"path": "a", "bytesAfter": 1200}),
        "I wrote a: it has 1,200 bytes now. It can be taken back with file/undo.",
    ),
    (
        Asked(),
        got("vfs/remove", {"items": [{"path": "t/a", "did": "removed"}, {"path": "t/b", "did": "removed"}]}),
        "I removed 2 files: t/a and t/b. It can be taken back with undo.",
    ),
    (
        Asked(),
        got("vfs/move", {"items": [{"path": "a", "did": "moved", "target": "b"}]}),
        "I moved a to b. It can be taken back with undo.",
    ),
]
_HOUSE = [
    (
        Asked(),
        got("debug/logs", {"items": [], "matched": 0}, includeErrorsOnly=True),
        "There are no errors in the log.",
    ),
    (
        Asked(),
        got(
            "debug/logs",
            {"items": [{"at": AT, "level": "error", "message": "disk full"}], "matched": 1},
            includeErrorsOnly=True,
        ),
        "There is one error in the log:\n- 16 November 2026 at 08:00 UTC: “disk full”",
    ),
    (
        Asked(limit=1),
        got("debug/logs", {"items": [{"at": AT, "message": "a"}, {"at": AT, "message": "b"}], "matched": 40}),
        "There are 40 lines in the log; the last 1, the newest last:\n- 16 November 2026 at 08:00 UTC: “b”",
    ),
    (
        Asked(thing="failures", span_says="today", why=True),
        listed(
            [{"command": "file/read", "caller": "bob", "at": AT, "status": "refused", "code": "not_permitted"}],
            "executions",
        ),
        "One command failed or was refused today:\n"
        "- file/read by bob on 16 November 2026 at 08:00 UTC: refused, "
        "because the rules do not allow it (not_permitted)",
    ),
    (
        Asked(thing="failures", span_says="today"),
        listed([], "executions"),
        "I see no command that failed or was refused today.",
    ),
    (
        Asked(thing="rooms"),
        listed([{"name": "ag, owner and guide"}, {"name": "general"}], "rooms"),
        "We have 2 rooms that I can see: “ag, owner and guide” and general.",
    ),
    (Asked(), got("room/list", {"items": [{"room": "general"}]}), "We have 1 room that I can see: general."),
    (
        Asked(thing="members"),
        got("room/who", {"items": [{"member": "ada"}, {"member": "guide"}]}),
        "2 are in this room: ada and guide.",
    ),
    (
        Asked(thing="earlier messages", topic=["pump"], question="what about the pump?"),
        listed(
            [
                {"sender": "ada", "at": AT, "text": "what about the pump?"},
                {"sender": "bob", "at": AT, "text": "We take the blue pump."},
                {"sender": "eve", "at": AT, "text": "Lunch."},
            ],
            "messages",
        ),
        "I found this message about it:\n- bob on 16 November 2026 at 08:00 UTC: “We take the blue pump.”",
    ),
    (Asked(thing="waiting"), listed([], "approvals"), "Nothing waits for a person, as far as I can see."),
    (
        Asked(),
        got("ai/report", {"items": [{"calls": 3, "done": 2, "failed": 1, "refused": 0, "meanMs": 10.0}]}),
        "3 calls were made: 2 done, 1 failed, 0 refused; they took 10 ms on average.",
    ),
    (
        Asked(),
        got("help/search", {"items": [{"command": "file/read", "summary": "Read a file."}], "total": 1, "next": None}),
        "There is 1 command:\n- file/read: “Read a file.”",
    ),
    (
        Asked(),
        got("audit/timeline", {"items": [{"counts": {"done": 2, "failed": 1}}, {"counts": {"done": 1}}]}),
        "There were 4 calls: 3 done and 1 failed.",
    ),
]
_PROGRAMS = [
    (Asked(), Got(command="shell/git_status", text="On branch main"), "git says:\n> On branch main"),
    (Asked(), ran("shell/pwd", "/workspace\n"), "You are in: /workspace"),
    (Asked(), ran("shell/diff"), "There is no difference."),
    (Asked(), ran("shell/true"), "It ran and wrote nothing."),
    (
        Asked(),
        Got(command="shell/rm", text="\nchanges: deleted a.txt, b.txt"),
        "I deleted 2 paths: a.txt and b.txt.",
    ),
    (
        Asked(),
        ran("shell/ls", stderr="no such file", code=2),
        "It ended with exit code 2, and complained:\n> no such file",
    ),
    (Asked(), ran("shell/sleep", code=None), "It was stopped before it ended."),
    (
        Asked(),
        ran("bash", "made\n", changes={"total": 1, "created": ["x.txt"]}),
        "It ran and wrote:\n> made\nIt changed 1 path: created x.txt.",
    ),
]
_NOT_DONE = [
    (
        Asked(),
        Got(command="file/delete", params={"path": "a.txt"}, status="parked", ticket="t1"),
        "This waits for a person: file/delete with path a.txt. Its ticket is t1.",
    ),
    (
        Asked(),
        Got(command="file/write", status="refused", message="Not here; valid: file/read."),
        "I was not allowed to run file/write: Not here; valid: file/read.",
    ),
    (
        Asked(),
        Got(command="file/read", status="failed", message="There is no a.txt."),
        "file/read failed: There is no a.txt.",
    ),
    (Asked(), Got(command="x/y", status="failed"), "x/y failed: no reason was given"),
    (Asked(), Got(command="x/y", status="declined", message="It is off."), "I did not run x/y: It is off."),
    (
        Asked(),
        Got(command="file/write", value={"path": "a", "bytesAfter": 2}, approved=True),
        "A person agreed, and it is done. I wrote a: it has 2 bytes now. It can be taken back with file/undo.",
    ),
]


@pytest.mark.parametrize(
    "rows",
    [_FILES, _HOUSE, _PROGRAMS, _NOT_DONE],
    ids=["files", "house", "programs", "not done"],
)
def test_a_result_is_told_in_a_sentence(rows: list[tuple[Asked, Got, str]]) -> None:
    assert [told(asked, [result]) for asked, result, _ in rows] == [text for _, _, text in rows]


_WELL = got("system/status", {"version": "1", "state": "well", "problems": [], "rooms": 1, "commands": 90})
_NO_ERRORS = got("debug/logs", {"items": [], "matched": 0}, includeErrorsOnly=True)
_ERROR = got("debug/logs", {"items": [{"at": AT, "message": "x"}], "matched": 1}, includeErrorsOnly=True)
_BROKEN = got("system/status", {"state": "degraded", "problems": ["the disk is full"]})


@pytest.mark.parametrize(
    ("results", "verdict"),
    [
        ([_WELL, _NO_ERRORS], "Yes, everything is running okay."),
        ([_NO_ERRORS], "Yes, everything is running okay."),
        ([_WELL, _ERROR], "Not everything is well."),
        ([_BROKEN, _NO_ERRORS], "Not everything is well."),
    ],
)
def test_health_begins_with_the_verdict(results: list[Got], verdict: str) -> None:
    assert told(Asked(thing="health"), results).splitlines()[0] == verdict


def test_there_is_no_verdict_where_nothing_was_found_out() -> None:
    refused = Got(command="system/status", status="refused", message="Not here.")
    assert told(Asked(thing="health"), [refused]) == "I was not allowed to run system/status: Not here."


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=8), inside, max_size=3),
    max_leaves=8,
)
_SOME = st.dictionaries(
    st.sampled_from(["items", "count", "path", "fields", "content", "lines", "stdout", "exitCode", "counts", "size"]),
    _JSON | st.lists(st.dictionaries(st.sampled_from(["path", "line", "text", "size", "at", "n"]), _JSON, max_size=3)),
    max_size=4,
)


@given(
    st.sampled_from([*sorted(tellers().shapes), *sorted(tellers().sentences), "bash", "x/y"]),
    _JSON | _SOME,
    st.sampled_from(["", *sorted(tellers().things), "health"]),
    st.booleans(),
    st.dictionaries(
        st.sampled_from(["groupBy", "metrics", "collection", "path", "filter", "orderBy"]), _JSON, max_size=3
    ),
)
@settings(max_examples=100, deadline=None)
def test_anything_can_be_told(command: str, value: Any, thing: str, count: bool, params: dict[str, Any]) -> None:
    assert told(Asked(thing=thing, count=count), [Got(command=command, value=value, params=params)])
