"""`doorward chat`: a room in the terminal, with the people and AIs who are in it."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys

import click

from doorward.cli import report
from doorward.cli.chat_input import Piped, Prompted, Typed
from doorward.cli.chat_room import Chat
from doorward.cli.chat_way import Way
from doorward.cli.wrapping import columns, indented
from doorward.home import Home
from doorward.settings import home_folder

_IN_A_PIPE = 60.0


@click.command("chat")
@click.argument("room", default="general")
@click.option("--last", type=click.IntRange(0, 200), default=20, show_default=True, help="So many earlier messages.")
@click.option(
    "--for",
    "seconds",
    type=click.FloatRange(min=0),
    default=None,
    help="Leave after so many seconds. With input from a pipe: wait for answers at most so long, 60 by default.",
)
def command(room: str, last: int, seconds: float | None) -> None:
    """Talk in a room, and see what its people and AIs say and do. /help lists what can be typed.

    Works with and without a running server. With input from a pipe each line is said, and once the AIs have answered
    it ends: echo 'how many rooms are there?' | doorward chat
    """
    click.get_current_context().exit(asyncio.run(_chat(room, last, seconds)))


async def _chat(room: str, last: int, seconds: float | None) -> int:
    """The exit code: at a terminal a person saw for themselves what could not be said."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    way = Way(Home(home_folder()), stopping.set)
    people = sys.stdin.isatty() and sys.stdout.isatty()
    chat = Chat(way, room, people=people)
    try:
        await chat.begin(last)
        if way.keeps_the_house:
            alone = "No server runs, so the house is open while you chat. `doorward up` also opens the console."
            report.note(indented(alone, columns(), 0))
        typed: Typed = Prompted(room, chat.status, chat.words, chat.typing) if people else Piped()
        with typed.screen():
            limit = seconds if typed.people or seconds is not None else _IN_A_PIPE
            await _until_over(chat, typed, stopping, limit)
        await chat.leave()
    finally:
        await way.end()
    return 0 if people else chat.code


async def _until_over(chat: Chat, typed: Typed, stopping: asyncio.Event, seconds: float | None) -> None:
    working = [
        asyncio.ensure_future(chat.follow(typed.refresh)),
        asyncio.ensure_future(chat.talk(typed)),
        asyncio.ensure_future(stopping.wait()),
    ]
    try:
        done, _ = await asyncio.wait(working, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in working:
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*working, return_exceptions=True)
