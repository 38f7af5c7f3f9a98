"""The prompt of `doorward shell`, with real keys: history, ghost text, lines that go on, colours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.formatted_text import to_plain_text
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from doorward.cli.shell_names import NameCache
from doorward.cli.shell_prompt import EndOfInput, LineAbandoned, ShellPrompt, format_folder, style_line
from doorward.cli.shell_transport import ShellTransport
from doorward.config.home import Home
from doorward.doors.terminal.messages import ShellWord

CTRL_C, CTRL_D, CTRL_R, CTRL_Z, RIGHT, UP = "\x03", "\x04", "\x12", "\x1a", "\x1b[C", "\x1b[A"


@pytest.fixture
def known(tmp_path: Path) -> NameCache:
    """What a house that nobody opened would have told."""
    known = NameCache(ShellTransport(Home(tmp_path), lambda: None, ""))
    known.words = {name: ShellWord(name, f"shell/{name}", f"what {name} does") for name in ("ls", "cat", "echo")}
    known.cwd = "/workspace"
    return known


@pytest.fixture
def typing(known: NameCache, tmp_path: Path) -> Iterator[Callable[[str], ShellPrompt]]:
    """A prompt into which these keys were hit."""
    with create_pipe_input() as keys:

        def prompt(text: str) -> ShellPrompt:
            keys.send_text(text)
            return ShellPrompt("hall", known, tmp_path / "history", given=keys, drawn=DummyOutput())

        yield prompt


async def test_an_open_quote_goes_on_in_the_next_line(typing: Callable[[str], ShellPrompt]) -> None:
    prompt = typing("echo 'a\rb'\rls |\rcat\r@it's me\r")
    assert [await prompt.read_line() for _ in range(3)] == ["echo 'a\nb'", "ls |\ncat", "@it's me"]


async def test_earlier_lines_come_back_by_keys(typing: Callable[[str], ShellPrompt]) -> None:
    prompt = typing("echo first\recho second\r")
    assert [await prompt.read_line(), await prompt.read_line()] == ["echo first", "echo second"]
    assert prompt.earlier() == ["echo first", "echo second"]
    again = typing(f"{UP}{UP}\r")
    assert await again.read_line() == "echo first"
    searched = typing(f"{CTRL_R}sec\r\r")
    assert await searched.read_line() == "echo second"


async def test_the_rest_of_an_earlier_line_shows_as_ghost_text_and_is_taken_with_a_key(
    known: NameCache, tmp_path: Path
) -> None:
    (tmp_path / "history").write_text("echo first\n")
    with create_pipe_input() as keys:
        prompt = ShellPrompt("", known, tmp_path / "history", given=keys, drawn=DummyOutput())
        ghosts: list[str] = []

        def shown(buffer: Buffer) -> None:
            if not ghosts and buffer.suggestion is not None:
                ghosts.append(buffer.suggestion.text)
                keys.send_text(f"{RIGHT}\r")

        prompt.buffer.on_suggestion_set += shown
        keys.send_text("echo f")
        assert await prompt.read_line() == "echo first"
        assert ghosts == ["irst"]


async def test_the_end_and_a_line_given_up_are_told_apart(typing: Callable[[str], ShellPrompt]) -> None:
    with pytest.raises(LineAbandoned):
        await typing(f"echo half{CTRL_C}").read_line()
    with pytest.raises(EndOfInput):
        await typing(CTRL_D).read_line()
    assert await typing(f"ec{CTRL_Z}ho\r").read_line() == "echo"


async def test_a_line_can_be_put_into_the_prompt_to_be_changed(typing: Callable[[str], ShellPrompt]) -> None:
    assert await typing(" -l\r").read_line("ls") == "ls -l"


@pytest.mark.parametrize(("keys", "answer"), [("y\r", "y"), (CTRL_C, ""), (CTRL_D, "")])
async def test_whoever_does_not_answer_says_nothing(
    keys: str, answer: str, typing: Callable[[str], ShellPrompt]
) -> None:
    prompt = typing(keys)
    assert await prompt.answer("Do it? ") == answer
    assert prompt.earlier() == []


def test_the_prompt_says_where_one_is_and_how_the_last_line_ended(
    typing: Callable[[str], ShellPrompt], known: NameCache
) -> None:
    prompt = typing("")
    assert to_plain_text(prompt.message()) == "hall /workspace> "
    prompt.status, known.cwd = 127, "/home/owner/notes"
    assert to_plain_text(prompt.message()) == "hall /home/owner/notes [127]> "
    assert format_folder(f"/workspace/{'x' * 60}\x1b[2J") == f"…{'x' * 30}\\u001b[2J"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ls -l 'a' $B # c", ["command ls", "option -l", "string 'a'", "variable $B", "comment # c"]),
        ("lss | cat", ["command.unknown lss", "operator |", "command cat"]),
        ("./x; jobs", ["command.unknown ./x", "operator ;", "command jobs"]),
        ("A=1 echo a", ["assignment A=1", "command echo", "argument a"]),
        ("@how many", ["question @how many"]),
    ],
)
def test_a_line_has_the_colours_of_what_it_means(line: str, expected: list[str], known: NameCache) -> None:
    shown = style_line(line, known)
    assert [f"{style.removeprefix('class:')} {text}" for style, text in shown if text.strip()] == expected
    assert "".join(text for _, text in shown) == line


def test_a_word_that_may_still_become_a_command_is_not_red(known: NameCache) -> None:
    assert style_line("ec", known, cursor=2) == [("class:command.begun", "ec")]
    assert style_line("ec", known, cursor=0) == [("class:command.unknown", "ec")]
