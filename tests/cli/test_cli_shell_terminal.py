"""`doorward shell` on a real terminal, and what happens when the house changes hands in the middle of a session."""

from __future__ import annotations

import contextlib
import stat
from pathlib import Path

import pytest

from doorward.cli.shell_console import ShellConsole
from doorward.cli.shell_names import NameCache
from doorward.cli.shell_transport import ShellTransport
from doorward.config.home import Home
from doorward_process import Doorward
from talking import Terminal

CTRL_C, CTRL_D, CTRL_Z = "\x03", "\x04", "\x1a"


def test_a_session_at_a_terminal_from_the_first_prompt_to_the_last(tmp_path: Path) -> None:
    doorward = Doorward(tmp_path / "home", TERM="dumb")
    terminal = Terminal(doorward, "shell")
    with contextlib.closing(terminal):

        def typed(keys: str, words: str) -> None:
            terminal.text = ""
            terminal.type(keys)
            terminal.until(words)

        terminal.until("No server is running")
        terminal.until("/workspace> ")
        typed("echo 'one\rtwo'\r", "one\r\ntwo\r\n")
        typed("printf '\\033[2Jx'\r", "\\u001b[2Jx")
        typed("echo begun && sleep 60\r", "begun\r\n")
        typed(CTRL_C, "Stopped.")
        terminal.until("[130]> ")
        typed("echo again && sleep 60\r", "again\r\n")
        typed(CTRL_Z, "[1] echo again && sleep 60")
        typed("export API_KEY=hunter22\r", "/workspace> ")
        typed(CTRL_D, "Leave? [y/N]")
        typed("n\r", "/workspace> ")
        typed("exit 5\r", "Leave? [y/N]")
        terminal.type("y\r")
        assert terminal.end() == 5
    history = doorward.home / "shell_history"
    assert history.read_text().splitlines()[:2] == ["echo 'one\\ntwo'", "printf '\\\\033[2Jx'"]
    assert "hunter22" not in history.read_text()
    assert stat.S_IMODE(history.stat().st_mode) == 0o600


async def test_a_session_goes_on_when_whoever_kept_the_house_has_gone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    host, guest = (ShellTransport(Home(tmp_path / "home"), lambda: None, "") for _ in range(2))
    try:
        await host.check_connection()
        console = ShellConsole(guest, NameCache(guest), None)
        await console.run_line("NAME=kept; echo one")
        assert (host.is_embedded, guest.is_embedded) == (True, False)
        await host.close()
        await console.run_line("echo $NAME")
        assert guest.is_embedded
    finally:
        await host.close()
        await guest.close()
    assert capsys.readouterr().out == "one\nkept\n"
