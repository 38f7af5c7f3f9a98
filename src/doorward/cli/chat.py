"""`doorward chat`: chat with the people and AIs of a room in the terminal."""

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
"""Default seconds to wait for answers when the input is a pipe."""


@click.command("chat")
@click.argument("room", default="general")
@click.option(
    "--last", type=click.IntRange(0, 200), default=20, show_default=True, help="Number of earlier messages to show."
)
@click.option(
    "--for",
    "seconds",
    type=click.FloatRange(min=0),
    default=None,
    help="Leave after this many seconds. With piped input: the longest wait for answers (default 60).",
)
def command(room: str, last: int, seconds: float | None) -> None:
    """Chat in a room with its people and AIs. Type /help for the commands.

    Works with and without a running server. With piped input, each line is sent as a message, and the chat ends when
    the AIs have answered: echo 'how many rooms are there?' | doorward chat
    """
    click.get_current_context().exit(asyncio.run(_chat(room, last, seconds)))


async def _chat(room: str, last: int, seconds: float | None) -> int:
    """Run the chat and return the exit code. It is 0 at a terminal, where the person saw every failure."""
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
            alone = "No server is running; Doorward runs in this process while you chat. `doorward up` starts a server."
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
