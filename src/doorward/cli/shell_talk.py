"""A whole session of the shell: from the first prompt, or the first line of a script, to the last."""

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

_GREETING = "Doorward's shell: every command passes the gate. `help` lists them, `@` takes plain words, Ctrl-D leaves."
_SERVED = "A server keeps the house now."
_ALONE = "No server runs, so the house is open while this shell is. `doorward up` also opens the console."


_NEVER_WHOLE = (
    "shell: What begins in line {first} goes on for more than {most:,} characters: a quote or bracket in it is never"
    " closed. Neither it nor anything behind it was run."
)


_NO_TEXT = "shell: Line {number} is not text in UTF-8. Neither it nor anything behind it was run."


async def talk(room: str, session: str) -> int:
    """At a terminal, until the person leaves."""
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
    """Without a terminal: each line as it comes, in one session; the exit code is that of the last."""
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
    """Enter lines that come by themselves, each once it is whole."""
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
    """Whether all of it was UTF-8; what was not stands in it as half a character."""
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
    """Lines as they come, until there are no more or somebody has had enough, also while none comes."""
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
    """What is typed while a line runs stands at the next prompt, and not in the middle of what the line prints."""
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
    """Whoever ends this process or its terminal ends it in good order, with what runs at this moment.

    At a prompt Ctrl-C is a key like others; in a script there is nobody to type on, and it is the end.
    """

    def stop() -> None:
        stopping.set()
        console.control.interrupt()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop)
    console.control.heed(None if console.people else stop)
