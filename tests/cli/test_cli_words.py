"""`doorward run shell/…`: the arguments of a program as people type them, and real programs at the terminal."""

from __future__ import annotations

from typing import Any

import pytest

from doorward_process import Doorward

ME = ("--as=me", "--room=")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Doorward:
    doorward = Doorward(tmp_path_factory.mktemp("words") / "home")
    doorward("init")
    (doorward.home / "workspace" / "notes.txt").write_text("one\ntwo\nthree\n")
    return doorward


def printed(ended: Any) -> str:
    assert ended.code == 0, ended.err
    return str(ended.json["result"]["stdout"])


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["shell/head", "-n", "1", "notes.txt"], "one\n"),
        (["shell/head", "-n1", "notes.txt"], "one\n"),
        (["head", "--lines=1", "notes.txt"], "one\n"),
        (["shell/head", "--lines=1", '--files=["notes.txt"]'], "one\n"),
        (["shell/grep", "-c", "o", "notes.txt", "--room=general", "--as=helper"], "2\n"),
        (["shell/wc", "-l", "notes.txt", "--json"], "3 notes.txt\n"),
        (["shell/echo", "test; rm -rf /", "`whoami`", "$(id)"], "test; rm -rf / `whoami` $(id)\n"),
        (["shell/ls"], "notes.txt\n"),
        (["shell/tr", "a-z", "A-Z", "--input=hello"], "HELLO"),
        (["shell/wc", "-l", "--folder=.", "notes.txt"], "3 notes.txt\n"),
    ],
)
def test_words_behind_a_program_are_its_arguments(shared: Doorward, words: list[str], expected: str) -> None:
    assert printed(shared("run", *words)) == expected


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["shell/ls", "../../etc"], "leads out of the workspace"),
        (["shell/ls", "--color=always"], "there is no option '--color'"),
        (["shell/sort", "--compress-prog=sh", "notes.txt"], "there is no option '--compress-prog'"),
        (["shell/find", ".", "-exec", "id", ";"], "there is no option '-exec'"),
        (["shell/sudo", "id"], "Unknown command 'shell/sudo'"),
        (["data/list", "rooms"], "Write parameters as --key=value"),
        (["shell/head", "--", "--json"], "cannot open"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(shared: Doorward, words: list[str], says: str) -> None:
    ended = shared("run", *words)
    assert ended.code in (1, 3)
    assert says in ended.err
    assert "Traceback" not in ended.err


def test_a_memory_bomb_is_stopped(shared: Doorward) -> None:
    bomb = shared("run", *ME, "bash", "--command=x=$(head -c 2000000000 /dev/zero | tr '\\0' a); echo survived")
    assert (bomb.code, bomb.json["code"], bomb.json["result"]["stdout"]) == (1, "command_failed", "")


def test_an_endless_loop_is_stopped(doorward: Doorward) -> None:
    doorward("init")
    (doorward.home / "doorward.toml").write_text("[sandbox]\nwall_seconds = 1.0\n")
    loop = doorward("run", *ME, "bash", "--command=while :; do :; done")
    assert (loop.code, loop.json["code"]) == (1, "timed_out")
    assert "stopped after 1 s" in loop.err
