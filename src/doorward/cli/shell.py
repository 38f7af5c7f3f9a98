"""`doorward shell`: a shell in which every command passes the gate."""

from __future__ import annotations

import asyncio
import io
import sys
from collections.abc import AsyncIterator

import click

from doorward.cli.chat_input import PipeInput
from doorward.cli.local_client import ROOM_HELP

_MAX_SCRIPT_BYTES = 1_000_000
"""Maximum bytes of a script."""


@click.command("shell")
@click.argument("file", required=False, type=click.Path(dir_okay=False, allow_dash=True))
@click.option("--room", default=None, help=ROOM_HELP)
@click.option(
    "--session",
    default="",
    help="Continue this session, with its folder, variables and aliases; `last` is the most recent one.",
)
@click.option("-c", "line", default=None, metavar="LINE", help="Run this line and exit with its exit code.")
def command(file: str | None, room: str | None, session: str, line: str | None) -> None:
    """Open a shell with built-ins for files, data and calls, programs in the sandbox, and `@` for plain words.

    Every stage of a line is a command that passes the gate. Works with and without a running server.

    \b
    doorward shell
    doorward shell -c 'ls /workspace | wc -l'
    doorward shell script.dsh
    echo 'cat /system/status' | doorward shell

    Without a terminal, it runs its input line by line and exits with the exit code of the last line.
    """
    if line is not None and file is not None:
        raise click.UsageError("Give either a line with -c or a FILE, not both.")
    from doorward.cli import shell_loop  # noqa: PLC0415 - slow to import

    if line is not None:
        work = shell_loop.run_script(room, session, [line])
    elif file is not None and file != "-":
        work = shell_loop.run_script(room, session, _read_script(file))
    elif file is None and sys.stdin.isatty() and sys.stdout.isatty():
        work = shell_loop.run_interactive(room, session)
    else:
        work = shell_loop.run_script(room, session, _read_stdin())
    click.get_current_context().exit(asyncio.run(work))


def _read_script(file: str) -> list[str]:
    """Read the lines of a script. A script that is not text is refused, because it would run as something else."""
    with open(file, "rb") as script:
        whole = script.read(_MAX_SCRIPT_BYTES + 1)
    if len(whole) > _MAX_SCRIPT_BYTES:
        raise click.UsageError(f"The script is too large: at most {_MAX_SCRIPT_BYTES:,} bytes; {file} has more.")
    try:
        text = whole.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = whole.count(b"\n", 0, error.start) + 1
        raise click.UsageError(f"Line {line} of {file} is not UTF-8 text. Nothing was run.") from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise click.UsageError(f"Line {line} of {file} contains a NUL byte. Nothing was run.")
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n")


def _read_stdin() -> AsyncIterator[str]:
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape")  # each line is checked when it is read
    return PipeInput().lines()
