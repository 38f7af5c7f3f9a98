"""`doorward shell` without a terminal, and each line of it with somebody there, beside a real server."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Iterator

import click
import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from doorward.cli.shell_console import ShellConsole
from doorward.cli.shell_loop import run_script
from doorward.cli.shell_names import NameCache
from doorward.cli.shell_prompt import ShellCompleter
from doorward.cli.shell_transport import ShellTransport
from doorward.cli.shell_view import ScriptView
from doorward.config.home import Home
from doorward.core.errors import NotFound
from doorward_process import Doorward, Server


@pytest.fixture(scope="module")
def server(shared: Doorward) -> Iterator[Server]:
    with shared.serving() as server:
        workspace = shared.home / "workspace"
        (workspace / "notes").mkdir()
        (workspace / "notes" / "a b.txt").write_text("one\ntwo\n")
        (workspace / "plan.txt").write_text("plan\n")
        yield server


class Somebody:
    """A person who has typed these lines before, and answers what they are asked with these words."""

    def __init__(self, *answers: str, earlier: list[str] | None = None) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []
        self._earlier = earlier or []

    async def answer(self, question: str) -> str:
        self.asked.append(question)
        return self.answers.pop(0)

    def earlier(self) -> list[str]:
        return self._earlier

    def remember(self, line: str) -> None:
        self._earlier.append(line)


@pytest.fixture
def console(server: Server, shared: Doorward) -> Callable[..., ShellConsole]:
    def made(person: Somebody | None, room: str = "") -> ShellConsole:
        way = ShellTransport(Home(shared.home), lambda: None, room)
        return ShellConsole(way, NameCache(way), person)

    return made


@pytest.mark.parametrize(
    ("line", "code", "out", "err"),
    [
        ("echo hello", 0, "hello\n", ""),
        ("cat plan.txt | wc -l", 0, "1\n", ""),
        ("false", 1, "", ""),
        ("echo a; false || echo b", 0, "a\nb\n", ""),
        ("nothing_like_it", 127, "", "nothing_like_it: unknown command"),
        ("echo 'a", 2, "", "shell: "),
        ("cat missing.txt", 1, "", "missing.txt"),
        ("printf '\\033[2J'", 0, "\x1b[2J", ""),
        ("sleep 1 &", 2, "", "shell: "),
        ("exit 7", 7, "", ""),
        ("", 0, "", ""),
        ("!!", 127, "", "unknown command"),
        ("! true", 2, "", "! is not supported"),
        ("data/list --collection=rooms --fields=id | jq -c .items", 0, '[{"id":"general"}]\n', ""),
    ],
)
def test_a_line_runs_without_a_terminal_and_gives_its_exit_code(
    line: str, code: int, out: str, err: str, server: Server, shared: Doorward
) -> None:
    ended = shared("shell", "-c", line)
    assert (ended.code, ended.out) == (code, out), ended
    assert err in ended.err if err else not ended.err


def test_a_script_is_one_session_and_goes_on_behind_a_failure(server: Server, shared: Doorward) -> None:
    (shared.folder / "script.dsh").write_text("cd notes\nNAME='a\nb.txt'\nfalse\necho $? $NAME\npwd\n")
    ended = shared("shell", "script.dsh")
    assert (ended.code, ended.out, ended.err) == (0, "1 a b.txt\n/workspace/notes\n", "")
    (shared.folder / "wrong.dsh").write_bytes(b"\xef\xbb\xbfecho one\r\n\necho $((1))\necho $?")
    ended = shared("shell", "wrong.dsh")
    assert (ended.code, ended.out) == (0, "one\n2\n")
    assert "shell: Line 3, column 6: $(( )) is not supported" in ended.err
    piped = shared("shell", stdin="cd notes\npwd\nexit 3\necho never\n")
    assert (piped.code, piped.out) == (3, "/workspace/notes\n")


def test_a_session_goes_on_where_it_was_left(server: Server, shared: Doorward) -> None:
    first = shared("run", "--as=me", "--room=", "shell/script", "--script=cd notes", "--session=new")
    session = first.json["result"]["session"]
    assert shared("shell", f"--session={session}", "-c", "pwd").out == "/workspace/notes\n"
    unknown = shared("shell", "--session=nobody_has_this", "-c", "pwd")
    assert (unknown.code, unknown.out) == (3, "")
    assert "You have no session 'nobody_has_this'" in unknown.err


def test_a_room_binds_the_shell_to_its_recipe(server: Server, shared: Doorward) -> None:
    assert shared("rooms", "create", "quiet", "--recipe=casual-chat").code == 0
    ended = shared("shell", "--room=quiet", "-c", "echo hello")
    assert (ended.code, ended.out) == (126, "")
    assert "rule: recipe casual-chat: commands are disabled" in ended.err


def test_a_wrong_command_line_says_what_would_be_right(server: Server, shared: Doorward) -> None:
    both = shared("shell", "-c", "ls", "script.dsh")
    assert (both.code, "not both" in both.err) == (2, True)
    gone = shared("shell", "missing.dsh")
    assert (gone.code, "missing.dsh" in gone.err) == (1, True)


def test_a_script_that_is_no_text_does_not_begin(server: Server, shared: Doorward) -> None:
    for name, content, line in [
        ("latin.dsh", b"echo a > b\necho caf\xe9 > caf\xe9", 2),
        ("nul.dsh", b"echo a > b\0", 1),
    ]:
        (shared.folder / name).write_bytes(content)
        ended = shared("shell", name)
        assert (ended.code, ended.out, f"Line {line} of {name}" in ended.err) == (2, "", True), ended
    assert not (shared.home / "workspace" / "b").exists()


async def test_lines_that_never_end_or_are_no_text_end_a_script(
    server: Server, shared: Doorward, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DOORWARD_HOME", str(shared.home))
    assert await run_script("", "", ["echo one", 'echo "', *["a" * 1_000] * 100, "echo two"]) == 2
    out, err = capsys.readouterr()
    assert (out, "The command that starts in line 2 has more than 65,536 characters" in err) == ("one\n", True)
    assert await run_script("", "", ["\ufeffecho one", "echo \udce9", "echo two"]) == 2
    out, err = capsys.readouterr()
    assert (out, "Line 2 is not UTF-8 text" in err) == ("one\n", True)


async def test_output_that_nobody_reads_any_more_is_no_defect(
    console: Callable[..., ShellConsole], monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(*_: object, **__: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(ScriptView, "_put", closed)
    with pytest.raises(BrokenPipeError):
        await console(None).run_line("echo one")


async def test_the_last_exit_code_is_that_of_the_prompt(
    console: Callable[..., ShellConsole], capsys: pytest.CaptureFixture[str]
) -> None:
    shell = console(Somebody("n"))
    for line, code in [("false", 1), ("echo 'a", 2), ("fg", 2), ("resume nothing", 126), (f"echo {'a' * 70_000}", 2)]:
        await shell.run_line(line)
        assert shell.status == code, line
        capsys.readouterr()
        await shell.run_line("echo $?")
        assert capsys.readouterr().out == f"{code}\n", line


async def test_what_is_typed_behind_a_blank_is_not_in_the_history_of_its_session(
    console: Callable[..., ShellConsole], capsys: pytest.CaptureFixture[str]
) -> None:
    shell = console(Somebody())
    for line in (" echo hidden", " echo 'hidden", "echo seen", "history"):
        await shell.run_line(line)
    assert capsys.readouterr().out.splitlines()[-2:] == ["    1  echo seen", "    2  history"]


async def test_ctrl_c_ends_a_script_that_waits_for_its_next_line(
    server: Server, shared: Doorward, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DOORWARD_HOME", str(shared.home))
    waits = asyncio.Event()

    async def lines() -> AsyncIterator[str]:
        yield "echo one"
        waits.set()
        await asyncio.Event().wait()

    running = asyncio.ensure_future(run_script("", "", lines()))
    await waits.wait()
    signal.raise_signal(signal.SIGINT)
    assert (await running, capsys.readouterr().out) == (130, "one\n")


async def test_a_line_that_is_called_back_is_shown_before_it_runs(
    console: Callable[..., ShellConsole], capsys: pytest.CaptureFixture[str]
) -> None:
    earlier = ["echo one", "!echo two"]
    shell = console(Somebody(earlier=earlier))
    await shell.run_line("!echo two")
    assert earlier[-1] == "echo one two"
    assert capsys.readouterr().out == "echo one two\none two\n"
    await shell.run_line("!1 three")
    assert capsys.readouterr().out == "echo one two three\none two three\n"
    await shell.run_line("!9")
    assert (shell.status, "There is no line 9" in capsys.readouterr().err) == (2, True)


async def test_jobs_go_on_behind_the_prompt_until_somebody_looks(
    console: Callable[..., ShellConsole], capsys: pytest.CaptureFixture[str]
) -> None:
    shell = console(Somebody("n", "y"))
    await shell.run_line("jobs")
    await shell.run_line("echo first &")
    await shell.run_line("sleep 60 &")
    out, err = capsys.readouterr()
    assert (out, click.unstyle(err)) == ("", "[1] echo first\n[2] sleep 60\n")
    await shell.run_line("fg %1")
    assert capsys.readouterr().out == "echo first\nfirst\n"
    await shell.run_line("exit")
    assert not shell.leaving
    assert "[2] running  sleep 60" in capsys.readouterr().out
    await shell.run_line("kill %2")
    shell.control.report_ended_jobs()
    assert "[2] stopped  sleep 60" in capsys.readouterr().err
    await shell.run_line("fg %2")
    out, err = capsys.readouterr()
    assert (shell.status, out, click.unstyle(err)) == (130, "sleep 60\n", "Stopped.\n")
    await shell.run_line("fg %7")
    assert (shell.status, "no background jobs" in capsys.readouterr().err) == (2, True)
    await shell.run_line("exit 4")
    assert (shell.leaving, shell.status) == (True, 4)


async def test_what_runs_can_be_put_behind_and_stopped_with_keys(
    console: Callable[..., ShellConsole], capsys: pytest.CaptureFixture[str]
) -> None:
    shell = console(Somebody())
    running = asyncio.ensure_future(shell.run_line("sleep 60"))
    await shell.control.has_foreground.wait()
    shell.control.suspend()
    await running
    assert (shell.status, click.unstyle(capsys.readouterr().err)) == (0, "[1] sleep 60\n")
    again = asyncio.ensure_future(shell.run_line("fg"))
    await shell.control.has_foreground.wait()
    shell.control.interrupt()
    await again
    assert shell.status == 130
    once = asyncio.ensure_future(shell.run_line("seq 2; sleep 0.2; seq 3 4"))
    await shell.control.has_foreground.wait()
    shell.control.suspend()
    await once
    await shell.run_line("true &")
    await asyncio.gather(*(job.task for job in shell.control.jobs if job.line == "true" and job.task))
    await shell.run_line("fg")
    assert capsys.readouterr().out.splitlines()[-5:] == ["seq 2; sleep 0.2; seq 3 4", *"1234"]
    await shell.run_line("sleep 60 &")
    (job,) = shell.control.jobs.running
    await shell.end()
    assert job.ended


@pytest.mark.parametrize("answer", ["n", "", "maybe", "yes please"])
async def test_a_suggestion_that_is_not_taken_runs_nothing(
    answer: str, console: Callable[..., ShellConsole], capsys: pytest.CaptureFixture[str]
) -> None:
    person = Somebody(answer)
    shell = console(person)
    await shell.run_line("@how many rooms do we have")
    out, err = capsys.readouterr()
    assert (shell.status, shell.next_input, person.asked, err) == (0, "", ["Do it? [y/n/e] "], "")
    assert "rooms" in out.splitlines()[0]
    assert "confidence " in out
    assert "safety: safe" in out


async def test_a_suggestion_can_be_edited_or_handed_to_the_keeper(
    console: Callable[..., ShellConsole], capsys: pytest.CaptureFixture[str]
) -> None:
    shell = console(Somebody("e", "y"))
    await shell.run_line("@how many rooms do we have")
    assert "rooms" in shell.next_input
    capsys.readouterr()
    await shell.run_line("NAME=here")
    await shell.run_line("@how many rooms do we have")
    out, err = capsys.readouterr()
    assert "Thinking with house." in err
    assert "  data/" in err
    assert " room" in out.splitlines()[-1]
    await shell.run_line("echo $NAME")
    assert capsys.readouterr().out == "here\n"


async def test_what_the_keeper_may_not_do_by_itself_is_asked_at_the_prompt(
    console: Callable[..., ShellConsole], shared: Doorward, capsys: pytest.CaptureFixture[str]
) -> None:
    file = shared.home / "workspace" / "old.txt"
    file.write_text("old\n")
    no, yes = Somebody("y", "n"), Somebody("y", "y")
    await console(no).run_line("@delete old.txt")
    assert file.exists()
    assert no.asked[1] == "Approve, as yourself? [y/N] "
    assert "It would run exactly:\n  file/delete" in capsys.readouterr().out
    shell = console(yes)
    await shell.run_line("@delete old.txt")
    assert (shell.status, file.exists()) == (0, False)


async def test_what_waits_in_a_room_is_shown_but_not_decided_by_whoever_asked(
    console: Callable[..., ShellConsole], shared: Doorward, capsys: pytest.CaptureFixture[str]
) -> None:
    person = Somebody()
    shell = console(person, room="general")
    await shell.run_line("echo new > made.txt")
    out, err = capsys.readouterr()
    assert (shell.status, person.asked, (shared.home / "workspace" / "made.txt").exists()) == (75, [], False)
    assert "is waiting for another person's approval. It would run exactly:\n  file/write" in out
    assert "Someone who may decide runs: doorward approvals approve" in out
    ticket = click.unstyle(err).split()[-1]
    await shell.run_line(f"resume {ticket}")
    assert (shell.status, "still waiting for a decision" in capsys.readouterr().err) == (75, True)
    assert shared("run", "--as=me", "--room=", "user/create", "--id=anna", "--access=root").code == 0
    token = shared("token", "create", "of_anna", "--user=anna", "--kind=human", "--access=root").json["result"]["token"]
    assert shared("rooms", "join", "general", "anna", "--role=admin").code == 0
    approved = shared("run", f"--token={token}", "--room=", "approval/approve", f"--id={ticket}")
    assert approved.code == 0, approved
    await shell.run_line(f"resume {ticket}")
    assert (shell.status, (shared.home / "workspace" / "made.txt").read_text()) == (0, "new\n")
    await shell.run_line("resume")
    assert shell.status == 2


async def test_an_at_sign_alone_explains_itself_and_nobody_there_means_no(
    console: Callable[..., ShellConsole], capsys: pytest.CaptureFixture[str]
) -> None:
    shell = console(Somebody())
    await shell.run_line("@")
    assert "@ takes a request in plain words" in capsys.readouterr().out
    alone = console(None)
    await alone.run_line("@how many rooms do we have")
    assert (alone.status, "Nothing was run" in capsys.readouterr().err) == (1, True)
    await alone.run_line("@colourless green ideas sleep furiously")
    assert alone.status == 1


async def test_a_session_that_is_not_there_ends_it_before_it_begins(console: Callable[..., ShellConsole]) -> None:
    with pytest.raises(NotFound, match="no session"):
        await console(None).begin("nobody_has_this_one")


async def completed(way: ShellTransport, line: str, cwd: str = "/workspace") -> list[str]:
    known = NameCache(way)
    known.cwd = cwd
    await known.refresh()
    found = ShellCompleter(known).get_completions_async(Document(line), CompleteEvent())
    return [line[: len(line) + one.start_position] + one.text async for one in found]


@pytest.mark.parametrize(
    ("line", "cwd", "expected"),
    [
        ("wc pl", "/workspace", ["wc plan.txt "]),
        ("cat notes/", "/workspace", ["cat 'notes/a b.txt' "]),
        ("cat a", "/workspace/notes", ["cat 'a b.txt' "]),
        ("cat < not", "/workspace", ["cat < notes/"]),
        ("ls | gre", "/workspace", ["ls | grep "]),
        ("git_st", "/workspace", ["git_status "]),
        ("git stat", "/workspace", ["git status "]),
        ("grep --ignore-", "/workspace", ["grep --ignore-case "]),
        ("data/li", "/workspace", ["data/list "]),
        ("data/list --coll", "/workspace", ["data/list --collection="]),
        ("data/list --collection=roo", "/workspace", ["data/list --collection=rooms "]),
        ("data/list --collection=rooms --fields=rec", "/workspace", ["data/list --collection=rooms --fields=recipe "]),
        ("select roo", "/workspace", ["select rooms "]),
        ("select -n 3 rooms rec", "/workspace", ["select -n 3 rooms recipe "]),
        ("cat /data/roo", "/workspace", ["cat /data/rooms/"]),
        ("cat /data/rooms/gen", "/workspace", ["cat /data/rooms/general "]),
        ("cat nothing_like_it", "/workspace", []),
        ("cat /nowhere/x", "/workspace", []),
        ("echo hi # pl", "/workspace", []),
        ("@how ma", "/workspace", []),
    ],
)
async def test_words_are_completed_from_what_the_house_has(
    line: str, cwd: str, expected: list[str], server: Server, shared: Doorward
) -> None:
    assert await completed(ShellTransport(Home(shared.home), lambda: None, ""), line, cwd) == expected


async def test_only_what_a_room_offers_is_completed(server: Server, shared: Doorward) -> None:
    assert shared("rooms", "create", "hall", "--recipe=read-only-research").code == 0
    everywhere = await completed(ShellTransport(Home(shared.home), lambda: None, ""), "system/sh")
    there = await completed(ShellTransport(Home(shared.home), lambda: None, "hall"), "system/sh")
    assert (everywhere, there) == (["system/shutdown "], [])
