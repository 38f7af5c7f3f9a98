"""A line of the shell while it is typed: its words, whether it wants to go on, and lines called back by `!`."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doorward.cli import shell_lexer
from doorward.cli.shell_history import FileHistory, expand_history, is_storable
from doorward.cli.shell_lexer import LinePart, PendingCommand, is_incomplete, parts, quote, words
from doorward.core.errors import BadParams


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ls -la 'a b'", [("command", "ls"), ("option", "-la"), ("argument", "a b")]),
        ("cat a|grep x", [("command", "cat"), ("argument", "a"), ("command", "grep"), ("argument", "x")]),
        ("A=1 echo $A", [("assignment", "A=1"), ("command", "echo"), ("argument", "$A")]),
        ("ls > out 2>&1; pwd", [("command", "ls"), ("target", "out"), ("command", "pwd")]),
        ("wc <<< 'one two'", [("command", "wc"), ("target", "one two")]),
        ("echo $(ls x) y", [("command", "echo"), ("command", "ls"), ("argument", "x"), ("argument", "y")]),
        ("a && b || c", [("command", "a"), ("command", "b"), ("command", "c")]),
        ("ls # cat x", [("command", "ls")]),
        ('echo "a\\"b"c\\ d', [("command", "echo"), ("argument", 'a"bc d')]),
        ("echo a#b", [("command", "echo"), ("argument", "a#b")]),
        ("", []),
    ],
)
def test_each_word_has_its_place_in_the_line(line: str, expected: list[tuple[str, str]]) -> None:
    assert [(word.role, word.value) for word in words(line)] == expected


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="ab 12'\"\\$(){}|&;<>#=\n-~/é", max_size=60))
def test_no_character_of_a_line_gets_lost_and_nothing_breaks(line: str) -> None:
    assert "".join(part.text for part in parts(line)) == line
    words(line)
    is_incomplete(line)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=30))
def test_a_quoted_word_stands_for_what_was_quoted(value: str) -> None:
    found = words(f"echo {quote(value)}")
    assert [word.value for word in found[1:]] == [value]


@pytest.mark.parametrize(
    ("line", "goes_on"),
    [
        ("echo 'a", True),
        ('echo "a', True),
        ('echo "a\\"', True),
        ("echo a \\", True),
        ("echo a \\\\", False),
        ("ls |", True),
        ("ls &&", True),
        ("echo $(ls", True),
        ("echo $(ls)", False),
        ("ls", False),
        ("ls &", False),
        ("echo it\\'s", False),
        ("ls # it's", False),
        ("", False),
        ("x" * 100_000 + "'", False),
    ],
)
def test_a_line_goes_on_while_something_is_open(line: str, goes_on: bool) -> None:
    assert is_incomplete(line) is goes_on


@settings(max_examples=150, deadline=None)
@given(st.lists(st.text(alphabet="a '\"\\$()|&#", max_size=8), min_size=1, max_size=6))
def test_a_line_that_comes_by_lines_goes_on_just_as_the_whole_of_it_does(lines: list[str]) -> None:
    gathered = PendingCommand()
    for number, line in enumerate(lines, 1):
        assert gathered.append_line(line) is is_incomplete("\n".join(lines[:number]).lstrip("\n"))


@pytest.mark.parametrize("line", ['echo "', "echo $(", "echo |", "echo \\", 'x"\\"', "'"])
def test_each_line_of_a_long_one_is_looked_at_once(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looked = 0

    def counted(text: str, at: int = 0) -> Iterator[LinePart]:
        nonlocal looked
        looked += len(text)
        return parts(text, at)

    monkeypatch.setattr(shell_lexer, "parts", counted)
    gathered = PendingCommand()
    for _ in range(100):
        gathered.append_line(line)
    assert looked <= 3 * len(gathered.text)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("!", "cat b"),
        ("!!", "cat b"),
        ("!! | wc -l", "cat b | wc -l"),
        ("!1", "first"),
        ("!12 x", "twelfth x"),
        ("!-2", "cat a"),
        ("!ls", "ls -l"),
        ("!c", "cat b"),
    ],
)
def test_an_earlier_line_is_called_back(typed: str, meant: str) -> None:
    assert expand_history(typed, ["ls -l", "cat a", "cat b", "!!"], {1: "first", 12: "twelfth"}) == meant


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ("!9", "There is no line 9 in this session"),
        ("!2", "Line 2 contained a secret"),
        ("!-3", "valid: !-1 to !-2. Given: !-3"),
        ("!-0", "There is no such line"),
        ("!zz", "No earlier line starts with 'zz'"),
    ],
)
def test_a_line_that_is_not_there_is_said_to_be(typed: str, sentence: str) -> None:
    with pytest.raises(BadParams, match=sentence):
        expand_history(typed, ["ls", "pwd"], {2: "login [redacted]"})
    with pytest.raises(BadParams, match="no earlier line yet"):
        expand_history("!!", ["!!"])


@pytest.mark.parametrize(
    "line",
    [
        "curl -H 'Authorization: Bearer abcdefghij'",
        "export API_KEY=abc",
        "login --password hunter22",
        "set API_TOKEN hunter22",
        'export "DB_PWD=hunter22"',
        "x --token=t0ps3cret",
        "echo sk-abcdefghijklmnopqrstuv",
        "cat https://me:pw@example.org/",
        " ls",
        "!!",
        "",
        "x" * 20_000,
    ],
)
def test_a_line_with_a_secret_is_not_written_down(line: str, tmp_path: Path) -> None:
    assert not is_storable(line)
    kept = FileHistory(tmp_path / "history")
    kept.append_string(line)
    assert not (tmp_path / "history").exists()
    assert kept.get_strings() == [line]


async def test_what_was_typed_is_there_the_next_time_for_the_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "history"
    lines = ["ls -l", "echo 'a\nb'", "echo a\\nb", "echo ü"]
    kept = FileHistory(file)
    for line in lines:
        kept.append_string(line)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    again = FileHistory(file)
    assert [line async for line in again.load()] == lines[::-1]


def test_a_history_that_cannot_be_kept_says_so_once(tmp_path: Path) -> None:
    kept = FileHistory(tmp_path)
    kept.append_string("ls")
    assert "The history cannot be written" in kept.problem
    (tmp_path / "real").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    FileHistory(tmp_path / "link").append_string("ls")
    assert (tmp_path / "real").read_text() == ""


def test_a_long_history_is_cut_to_its_newest_lines(tmp_path: Path) -> None:
    file = tmp_path / "history"
    file.write_text("".join(f"echo {number}\n" for number in range(10_001)))
    file.chmod(0o600)
    assert next(iter(FileHistory(file).load_history_strings())) == "echo 10000"
    assert len(file.read_text().splitlines()) == 5_000
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
