"""The main loops of `doorward shell`: the interactive prompt, and scripts."""

from __future__ import annotations

import asyncio
import signal
import sys
import termios
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator
from contextlib import aclosing, contextmanager, suppress

from prompt_toolkit.patch_stdout import patch_stdout

from doorward.cli.shell_console import Console
from doorward.cli.shell_history import FILE
from doorward.cli.shell_known import Known
from doorward.cli.shell_prompt import GivenUp, Left, Prompt
from doorward.cli.shell_screen import STOPPED, WRONG, told
from doorward.cli.shell_way import ShellWay
from doorward.cli.shell_words import LONGEST, Gathered
from doorward.cli.wrapping import columns, indented
from doorward.home import Home
from doorward.settings import home_folder

_GREETING = "Doorward shell: every command passes the gate. `help` lists them, `@` takes plain words, Ctrl-D leaves."
_SERVED = "A server is running now."
_ALONE = "No server is running; Doorward runs in this process while the shell is open. `doorward up` starts a server."


_NEVER_WHOLE = (
    "shell: The command that starts in line {first} has more than {most:,} characters: a quote or bracket is not"
    " closed. It and the lines after it were not run."
)


_NO_TEXT = "shell: Line {number} is not UTF-8 text. It and the lines after it were not run."


async def talk(room: str, session: str) -> int:
    """Run the interactive shell until the person leaves, and return the exit code."""
    home = Home(home_folder())
    stopping = asyncio.Event()
    way = ShellWay(home, stopping.set, room)
    known = Known(way)
    prompt = Prompt(room, known, home.path / FILE)
    console = Console(way, known, prompt)
    _heed(stopping, console)
    with _without_echo():
        await _held(way, known, console, prompt, stopping, session)
    return console.status


async def _held(
    way: ShellWay, known: Known, console: Console, prompt: Prompt, stopping: asyncio.Event, session: str
) -> None:
    try:
        await console.begin(session)
        told(indented(_GREETING, columns(), 0))
        await known.refresh()
        await _prompted(way, known, console, prompt, stopping)
        await console.end()
    finally:
        await way.end()


async def script(room: str, session: str, lines: Iterable[str] | AsyncIterator[str]) -> int:
    """Run lines without a terminal, in one session, and return the exit code of the last."""
    stopping = asyncio.Event()
    way = ShellWay(Home(home_folder()), stopping.set, room)
    console = Console(way, Known(way), None)
    _heed(stopping, console)
    try:
        await console.begin(session)
        async with aclosing(_until(stopping, _each(lines))) as coming:
            await _entered(console, coming, stopping)
    finally:
        await way.end()
    return STOPPED if stopping.is_set() else console.status


async def _entered(console: Console, coming: AsyncIterator[str], stopping: asyncio.Event) -> None:
    """Run the lines of a script, each once it is complete."""
    begun, first, number = Gathered(), 1, 0
    async for line in coming:
        number += 1
        if not _is_text(line):
            told(_NO_TEXT.format(number=number))
            console.status = WRONG
            return
        if begun.goes_on(line.removeprefix("\ufeff") if number == 1 else line):
            if begun.too_long:
                told(_NEVER_WHOLE.format(first=first, most=LONGEST))
                console.status = WRONG
                return
            continue
        await console.enter(begun.text, first)
        begun, first = Gathered(), number + 1
        if console.leaving:
            return
    if begun.text and not stopping.is_set():
        await console.enter(begun.text, first)


def _is_text(line: str) -> bool:
    """Whether a line was valid UTF-8 without NUL bytes. Invalid bytes are surrogates here."""
    try:
        line.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in line


async def _prompted(way: ShellWay, known: Known, console: Console, prompt: Prompt, stopping: asyncio.Event) -> None:
    stopped = asyncio.ensure_future(stopping.wait())
    alone = False
    try:
        while not (console.leaving or stopping.is_set()):
            if way.keeps_the_house != alone:
                alone = way.keeps_the_house
                told(indented(_ALONE if alone else _SERVED, columns(), 0))
            console.tell_of_ends()
            prompt.status = console.status
            begun, console.begun = console.begun, ""
            entering = asyncio.ensure_future(prompt.line(begun))
            with patch_stdout(raw=True):
                await asyncio.wait([entering, stopped], return_when=asyncio.FIRST_COMPLETED)
            if not entering.done():
                entering.cancel()
                with suppress(asyncio.CancelledError, Left, GivenUp):
                    await entering
                return
            try:
                line = entering.result()
            except GivenUp:
                continue
            except Left:
                if await console.may_leave():
                    return
                continue
            await console.enter(line)
            await known.refresh()
            if prompt.kept.problem:
                told(prompt.kept.problem)
                prompt.kept.problem = ""
    finally:
        stopped.cancel()


async def _until(stopping: asyncio.Event, lines: AsyncIterator[str]) -> AsyncGenerator[str, None]:
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


async def _each(lines: Iterable[str] | AsyncIterator[str]) -> AsyncIterator[str]:
    if isinstance(lines, AsyncIterator):
        async for line in lines:
            yield line
    else:
        for line in lines:
            yield line


@contextmanager
def _without_echo() -> Iterator[None]:
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


def _heed(stopping: asyncio.Event, console: Console) -> None:
    """Handle signals: SIGTERM and SIGHUP stop the current job and end the shell cleanly.

    Ctrl-C ends a script; at a prompt it is an ordinary key.
    """

    def stop() -> None:
        stopping.set()
        console.control.interrupt()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop)
    console.control.heed(None if console.people else stop)
