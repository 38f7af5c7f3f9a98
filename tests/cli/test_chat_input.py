"""What is typed into `doorward chat`, at a prompt with real keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from doorward.cli.chat_input import PromptInput, make_completer

CTRL_C, CTRL_D = "\x03", "\x04"


@pytest.fixture
def notices() -> list[str]:
    return []


@pytest.fixture
def typing(notices: list[str]) -> Iterator[Callable[[str], PromptInput]]:
    """A prompt into which these keys were hit."""
    with create_pipe_input() as keys:

        def prompt(text: str) -> PromptInput:
            keys.send_text(text)
            return PromptInput(
                "general",
                lambda: "here: anna",
                lambda: ["/who", "/search", "@guide"],
                lambda: notices.append("typing"),
                given=keys,
                drawn=DummyOutput(),
            )

        yield prompt


@pytest.mark.parametrize("end", [CTRL_C, CTRL_D])
async def test_lines_come_one_by_one_until_the_person_leaves(end: str, typing: Callable[[str], PromptInput]) -> None:
    assert [line async for line in typing(f"hello\rhow are you\r{end}").lines()] == ["hello", "how are you"]


def test_a_name_is_completed_behind_an_at_sign() -> None:
    found = make_completer(lambda: ["/who", "@guide", "@guest"]).get_completions(Document("hi @gui"), CompleteEvent())
    assert [(one.text, one.start_position) for one in found] == [("@guide ", -4)]


async def test_typing_is_told_once_in_a_while_and_not_for_commands(
    typing: Callable[[str], PromptInput], notices: list[str]
) -> None:
    lines = [line async for line in typing(f"/who\r{CTRL_D}").lines()]
    assert (lines, notices) == (["/who"], [])
    lines = [line async for line in typing(f"hello\r{CTRL_D}").lines()]
    assert (lines, notices) == (["hello"], ["typing"])
