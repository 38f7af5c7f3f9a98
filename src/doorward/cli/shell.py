"""`doorward shell`: a shell in which every command is a call through the gate."""

from __future__ import annotations

import asyncio
import importlib
import io
import sys
from collections.abc import AsyncIterator
from typing import Any

import click

from doorward.cli.chat_input import Piped

_LARGEST = 1_000_000
"""Bytes of a script."""


@click.command("shell")
@click.argument("file", required=False, type=click.Path(dir_okay=False, allow_dash=True))
@click.option("--room", default="", help="Act in this room, by its recipe; otherwise by your own access.")
@click.option(
    "--session",
    default="",
    help="Go on in this session, with its folder, variables and aliases; `last` is the one that you used last.",
)
@click.option("-c", "line", default=None, metavar="LINE", help="Run this line and leave, with its exit code.")
def command(file: str | None, room: str, session: str, line: str | None) -> None:
    """A shell over this house: built-ins over its files, data and calls, programs in the sandbox, and `@` for plain
    words. Every stage of a line is a command that passes the gate. Works with and without a running server.

    \b
    doorward shell
    doorward shell -c 'ls /workspace | wc -l'
    doorward shell script.dsh
    echo 'cat /system/status' | doorward shell

    Without a terminal it runs what it is given, line by line, and exits with the code of the last line.
    """
    if line is not None and file is not None:
        raise click.UsageError("Give a line with -c or a FILE, not both.")
    talking: Any = importlib.import_module("doorward.cli.shell_talk")  # only who uses the shell pays for its prompt
    if line is not None:
        work = talking.script(room, session, [line])
    elif file is not None and file != "-":
        work = talking.script(room, session, _lines(file))
    elif file is None and sys.stdin.isatty() and sys.stdout.isatty():
        work = talking.talk(room, session)
    else:
        work = talking.script(room, session, _piped())
    click.get_current_context().exit(asyncio.run(work))


def _lines(file: str) -> list[str]:
    """The lines of a script. One that is no text would run as something that nobody wrote, so it does not run."""
    with open(file, "rb") as script:
        whole = script.read(_LARGEST + 1)
    if len(whole) > _LARGEST:
        raise click.UsageError(f"A script has at most {_LARGEST:,} bytes; {file} has more.")
    try:
        text = whole.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = whole.count(b"\n", 0, error.start) + 1
        raise click.UsageError(f"A script is text in UTF-8; line {line} of {file} is not. Nothing was run.") from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise click.UsageError(f"A script is text; line {line} of {file} holds a NUL byte. Nothing was run.")
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n")


def _piped() -> AsyncIterator[str]:
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape")  # what is no text is told when it comes
    return Piped().lines()
