"""`doorward chat`: chat with the people and AIs of a room in the terminal."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys

import click

from doorward.cli import report
from doorward.cli.chat_input import LineInput, PipeInput, PromptInput
from doorward.cli.chat_room import RoomChat
from doorward.cli.chat_transport import ChatTransport
from doorward.cli.project import current_folder
from doorward.cli.text_wrap import terminal_width, wrap_indented
from doorward.config.home import Home
from doorward.config.settings import find_home_folder

_DEFAULT_ROOM = "general"
_PIPE_SECONDS = 60.0
"""Default seconds to wait for answers when the input is a pipe."""


@click.command("chat")
@click.argument("room", required=False)
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
def command(room: str | None, last: int, seconds: float | None) -> None:
    """Chat in ROOM with its people and AIs: by default the room of this folder, or general. Type /help there.

    Works with and without a running server. With piped input, each line is sent as a message, and the chat ends when
    the AIs have answered: echo 'how many rooms are there?' | doorward chat
    """
    click.get_current_context().exit(asyncio.run(_run_chat(room, last, seconds)))


async def _run_chat(room: str | None, last: int, seconds: float | None) -> int:
    """Run the chat and return the exit code. It is 0 at a terminal, where the person saw every failure."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    way = ChatTransport(Home(find_home_folder()), stopping.set)
    people = sys.stdin.isatty() and sys.stdout.isatty()
    try:
        room = room or await way.find_room(current_folder()) or _DEFAULT_ROOM
        chat = RoomChat(way, room, people=people)
        await chat.begin(last)
        if way.is_embedded:
            alone = "No server is running; Doorward runs in this process while you chat. `doorward up` starts a server."
            report.print_note(wrap_indented(alone, terminal_width(), 0))
        typed: LineInput = PromptInput(room, chat.status, chat.completions, chat.send_typing) if people else PipeInput()
        with typed.screen():
            limit = seconds if typed.people or seconds is not None else _PIPE_SECONDS
            await _run_until_end(chat, typed, stopping, limit)
        await chat.leave()
    finally:
        await way.close()
    return 0 if people else chat.code


async def _run_until_end(chat: RoomChat, typed: LineInput, stopping: asyncio.Event, seconds: float | None) -> None:
    working = [
        asyncio.ensure_future(chat.follow(typed.refresh)),
        asyncio.ensure_future(chat.handle_input(typed)),
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
