"""`doorward chat` with its input from a pipe: beside a server, and in a house that it opens itself."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from doorward_process import Doorward, Server


@pytest.fixture(scope="module")
def server(shared: Doorward) -> Iterator[Server]:
    with shared.serving() as server:
        assert shared("rooms", "create", "hall", "--recipe=casual-chat").code == 0
        yield server


def test_what_is_typed_is_said_and_what_was_said_is_shown(server: Server, shared: Doorward) -> None:
    assert shared("run", "--as=me", "--room=", "room/say", "--name=hall", "--text=earlier").code == 0
    ended = shared("chat", "hall", stdin="hello\n//slash \x1b[2J\n")
    assert (ended.code, ended.err) == (0, "")
    said = ended.out.splitlines()
    assert said[0].endswith("owner: earlier")
    assert said[1] == "You are in hall (recipe casual-chat). Type /help for the commands."
    assert said[2].endswith("owner: hello")
    assert said[3].endswith("owner: /slash \\u001b[2J")
    assert len(said) == 4


def test_the_words_of_the_chat_itself(server: Server, shared: Doorward) -> None:
    ended = shared(
        "chat", "hall", "--last=0", stdin="/who\n/search earl\n/search\n/older\n/dance\n/help\n/quit\nno more\n"
    )
    assert ended.code == 0
    assert "  owner: owner (online)" in ended.out
    assert "owner: earlier" in ended.out
    assert "approve, deny" in ended.out
    assert "no more" not in ended.out
    assert "Usage: /search WORDS" in ended.err
    assert "Unknown command '/dance'; valid: /who, /search" in ended.err


def test_what_waits_is_shown_in_a_pipe_too_where_yes_is_a_word_like_any_other(server: Server, shared: Doorward) -> None:
    parked = shared("run", "file/write", "--path=a.txt", "--content=new")
    ended = shared("chat", "--last=0", stdin="my list:\nyes\n")
    assert "file/write from terminal is waiting for your approval." in ended.out
    assert '  file/write {"content": "new", "path": "a.txt"}' in ended.out
    assert "  +new" in ended.out
    assert "Type approve or deny." in ended.out
    assert " owner: yes\n" in ended.out
    shown = shared("approvals", "show", parked.json["ticket"])
    assert shown.json["result"]["state"] == "pending"


def test_with_nothing_said_the_exit_code_says_so(server: Server, shared: Doorward) -> None:
    ended = shared("chat", "hall", "--last=0", stdin="x" * 100_001 + "\n")
    assert (ended.code, "100000" in ended.err, "100001 characters" in ended.err) == (3, True, True)


def test_a_room_that_is_not_there_is_named_with_those_that_are(server: Server, shared: Doorward) -> None:
    ended = shared("chat", "nowhere", stdin="hello\n")
    assert ended.code == 3
    assert "There is no room 'nowhere' that you are a member of. Your rooms: general, hall." in ended.err


def test_without_a_server_the_house_is_opened_and_an_ai_answers(doorward: Doorward) -> None:
    ended = doorward("chat", stdin="How many rooms do we have?\n")
    assert ended.code == 0
    assert "No server is running" in ended.err
    assert "      > data/list " in ended.out
    assert ended.out.splitlines()[-1].endswith("guide: We have 1 room that I can see: general.")
    assert doorward("status").code == 0


def test_what_is_slow_to_import_is_left_alone_where_nobody_sits_at_a_terminal() -> None:
    script = "import sys, doorward.cli.chat; print('prompt_toolkit' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout == b"False\n"
