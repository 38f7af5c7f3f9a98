"""The main loops of `doorward shell`: the interactive prompt, and scripts."""

from __future__ import annotations

import asyncio
import signal
import sys
import termios
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator
from contextlib import aclosing, contextmanager, suppress

from prompt_toolkit.patch_stdout import patch_stdout

from doorward.cli.shell_console import ShellConsole
from doorward.cli.shell_history import HISTORY_FILE
from doorward.cli.shell_lexer import MAX_LINE_CHARS, PendingCommand
from doorward.cli.shell_names import NameCache
from doorward.cli.shell_prompt import EndOfInput, LineAbandoned, ShellPrompt
from doorward.cli.shell_transport import ShellTransport
from doorward.cli.shell_view import EXIT_STOPPED, EXIT_USAGE, print_shell_note
from doorward.cli.text_wrap import terminal_width, wrap_indented
from doorward.config.home import Home
from doorward.config.settings import find_home_folder

_GREETING = "Doorward shell: every command passes the gate. `help` lists them, `@` takes plain words, Ctrl-D leaves."
_SERVER_RUNNING = "A server is running now."
_NO_SERVER = (
    "No server is running; Doorward runs in this process while the shell is open. `doorward up` starts a server."
)


_COMMAND_TOO_LONG = (
    "shell: The command that starts in line {first} has more than {most:,} characters: a quote or bracket is not"
    " closed. It and the lines after it were not run."
)


_NOT_TEXT = "shell: Line {number} is not UTF-8 text. It and the lines after it were not run."


async def run_interactive(room: str | None, session: str) -> int:
    """Run the interactive shell until the person leaves, and return the exit code."""
    home = Home(find_home_folder())
    stopping = asyncio.Event()
    way = ShellTransport(home, stopping.set, room)
    known = NameCache(way)
    prompt = ShellPrompt(way.room, known, home.path / HISTORY_FILE)
    console = ShellConsole(way, known, prompt)
    _handle_signals(stopping, console)
    with _echo_off():
        await _run_session(way, known, console, prompt, stopping, session)
    return console.status


async def _run_session(
    way: ShellTransport,
    known: NameCache,
    console: ShellConsole,
    prompt: ShellPrompt,
    stopping: asyncio.Event,
    session: str,
) -> None:
    try:
        await console.begin(session)
        prompt.room = way.room
        print_shell_note(wrap_indented(_GREETING, terminal_width(), 0))
        await known.refresh()
        await _prompt_loop(way, known, console, prompt, stopping)
        await console.end()
    finally:
        await way.close()


async def run_script(room: str | None, session: str, lines: Iterable[str] | AsyncIterator[str]) -> int:
    """Run lines without a terminal, in one session, and return the exit code of the last."""
    stopping = asyncio.Event()
    way = ShellTransport(Home(find_home_folder()), stopping.set, room)
    console = ShellConsole(way, NameCache(way), None)
    _handle_signals(stopping, console)
    try:
        await console.begin(session)
        async with aclosing(_lines_until(stopping, _iterate_lines(lines))) as coming:
            await _run_lines(console, coming, stopping)
    finally:
        await way.close()
    return EXIT_STOPPED if stopping.is_set() else console.status


async def _run_lines(console: ShellConsole, coming: AsyncIterator[str], stopping: asyncio.Event) -> None:
    """Run the lines of a script, each once it is complete."""
    begun, first, number = PendingCommand(), 1, 0
    async for line in coming:
        number += 1
        if not _is_text(line):
            print_shell_note(_NOT_TEXT.format(number=number))
            console.status = EXIT_USAGE
            return
        if begun.append_line(line.removeprefix("\ufeff") if number == 1 else line):
            if begun.too_long:
                print_shell_note(_COMMAND_TOO_LONG.format(first=first, most=MAX_LINE_CHARS))
                console.status = EXIT_USAGE
                return
            continue
        await console.run_line(begun.text, first)
        begun, first = PendingCommand(), number + 1
        if console.leaving:
            return
    if begun.text and not stopping.is_set():
        await console.run_line(begun.text, first)


def _is_text(line: str) -> bool:
    """Whether a line was valid UTF-8 without NUL bytes. Invalid bytes are surrogates here."""
    try:
        line.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in line


async def _prompt_loop(
    way: ShellTransport, known: NameCache, console: ShellConsole, prompt: ShellPrompt, stopping: asyncio.Event
) -> None:
    stopped = asyncio.ensure_future(stopping.wait())
    alone = False
    try:
        while not (console.leaving or stopping.is_set()):
            if way.is_embedded != alone:
                alone = way.is_embedded
                print_shell_note(wrap_indented(_NO_SERVER if alone else _SERVER_RUNNING, terminal_width(), 0))
            console.report_ended_jobs()
            prompt.status = console.status
            begun, console.next_input = console.next_input, ""
            entering = asyncio.ensure_future(prompt.read_line(begun))
            with patch_stdout(raw=True):
                await asyncio.wait([entering, stopped], return_when=asyncio.FIRST_COMPLETED)
            if not entering.done():
                entering.cancel()
                with suppress(asyncio.CancelledError, EndOfInput, LineAbandoned):
                    await entering
                return
            try:
                line = entering.result()
            except LineAbandoned:
                continue
            except EndOfInput:
                if await console.confirm_leave():
                    return
                continue
            await console.run_line(line)
            await known.refresh()
            if prompt.history.problem:
                print_shell_note(prompt.history.problem)
                prompt.history.problem = ""
    finally:
        stopped.cancel()


async def _lines_until(stopping: asyncio.Event, lines: AsyncIterator[str]) -> AsyncGenerator[str, None]:
    """Yield lines until they end or `stopping` is set, even while waiting for one."""
    stopped = asyncio.ensure_future(stopping.wait())
    try:
        while not stopping.is_set():
            coming = asyncio.ensure_future(anext(lines, None))
            await asyncio.wait([coming, stopped], return_when=asyncio.FIRST_COMPLETED)
            if not coming.done():
                coming.cancel()
                return
            line = coming.result()
            if line is None:
                return
            yield line
    finally:
        stopped.cancel()


async def _iterate_lines(lines: Iterable[str] | AsyncIterator[str]) -> AsyncIterator[str]:
    if isinstance(lines, AsyncIterator):
        async for line in lines:
            yield line
    else:
        for line in lines:
            yield line


@contextmanager
def _echo_off() -> Iterator[None]:
    """Turn echo off, so that what is typed while a line runs appears at the next prompt, not in its output."""
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    changed = termios.tcgetattr(terminal)
    changed[3] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(terminal, termios.TCSADRAIN, changed)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def _handle_signals(stopping: asyncio.Event, console: ShellConsole) -> None:
    """Handle signals: SIGTERM and SIGHUP stop the current job and end the shell cleanly.

    Ctrl-C ends a script; at a prompt it is an ordinary key.
    """

    def stop() -> None:
        stopping.set()
        console.control.interrupt()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop)
    console.control.install_handlers(None if console.is_interactive else stop)
