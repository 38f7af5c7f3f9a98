"""Prints outcomes and errors on a terminal, and maps them to exit codes."""

from __future__ import annotations

import logging
import os
import sys
from typing import Any

import click
import msgspec

from doorward import logs
from doorward.cli.live import safe
from doorward.cli.wrapping import columns, indented
from doorward.command import Blocks
from doorward.errors import DoorwardError, Failed, Unusable
from doorward.gate import result_text
from doorward.model import Outcome
from doorward.settings import home_folder
from doorward.visible import visible

EXIT_CODES = {"done": 0, "failed": 1, "refused": 3, "parked": 4}
UNUSABLE = 5
"""Exit code when the installation or its files cannot be used. 2 means a wrong command line."""


def show(outcome: Outcome, as_json: bool, *, told: bool = False) -> int:
    """Print an outcome, as JSON when standard output is not a terminal, and return its exit code.

    `told` says that the command's output was already shown while it ran.
    """
    if as_json or not sys.stdout.isatty():
        click.echo(msgspec.json.format(msgspec.json.encode(outcome), indent=2).decode())
        if outcome.status != "done":
            complain(outcome.status, outcome.code, outcome.message, outcome.hint, outcome.rule)
        return EXIT_CODES[outcome.status]
    if result_text.is_program_result(outcome.result):
        return _show_program(outcome, told)
    blocks = result_text.to_blocks(outcome.result)
    if blocks is not None:
        return _show_blocks(outcome, blocks)
    if outcome.status == "done":
        result(outcome.result)
        if outcome.effect == "done" and "execution" not in (outcome.result or ()):
            note(f"execution {outcome.call}")
    else:
        complain(outcome.status, outcome.code, outcome.message, outcome.hint, outcome.rule)
    return EXIT_CODES[outcome.status]


def _show_program(outcome: Outcome, told: bool) -> int:
    """Print a program's output, and a last line with its exit code and duration."""
    ended = outcome.result
    for stream in ("stdout", "stderr"):
        text = safe(ended.get(stream, ""))
        if text and not told:
            click.echo(text, nl=not text.endswith("\n"), err=stream == "stderr")
    if outcome.status != "done":
        complain(outcome.status, outcome.code, outcome.message, outcome.hint, outcome.rule)
    code = "stopped" if ended["exitCode"] is None else f"exit code {ended['exitCode']}"
    parts = [code, f"{ended.get('seconds', 0.0):.1f} s", f"execution {outcome.call}"]
    if ended.get("sandbox", "full") != "full":
        word = ended["sandbox"].partition(":")[0]
        parts.insert(2, f"sandbox {word} (see `doorward status`)")
    note(", ".join([*parts, *result_text.describe_truncation(ended)]))
    return EXIT_CODES[outcome.status]


def _show_blocks(outcome: Outcome, blocks: Blocks) -> int:
    """Print the content of an MCP result: text as it is; for images and audio, the type and how to save them."""
    text = safe(result_text.render_blocks(blocks))
    click.echo(text, nl=not text.endswith("\n"), err=outcome.status != "done")
    if outcome.status != "done":
        complain(outcome.status, outcome.code, outcome.message, outcome.hint, outcome.rule)
    for place, block in enumerate(blocks.content):
        if isinstance(block.get("data"), str):
            kind = visible(str(block.get("type")), lines=False)
            note(
                f"To save the {kind}: doorward run --json … | jq -r '.result.content[{place}].data' | base64 -d > FILE"
            )
    note(f"execution {outcome.call}")
    return EXIT_CODES[outcome.status]


def result(value: Any) -> None:
    """Print a result for people: lists as a table, everything else as name and value."""
    from doorward.cli import tables  # noqa: PLC0415 - rich is slow to import, needed on terminals only

    tables.show(value)


def complain(status: str, code: str, message: str, hint: str = "", rule: str = "") -> None:
    word = "waiting" if status == "parked" else status
    head = f"{word}:" if code == status else f"{word} ({code})"
    said = _fitting(f"{head} {visible(message)}").removeprefix(head)
    click.echo(click.style(head, fg="yellow" if status == "parked" else "red", bold=True) + said, err=True)
    if rule:
        click.echo(_fitting(f"  rule: {visible(rule)}"), err=True)
    if hint:
        click.echo(_fitting(f"  {visible(hint)}"), err=True)


def _fitting(text: str) -> str:
    """Wrap sentences between words."""
    first, *rest = text.split("\n")
    return "\n".join([indented(first, columns(), 2), *(indented(line, columns(), 0) for line in rest)])


def note(text: str) -> None:
    click.echo(click.style(visible(text), dim=True), err=True)


def unexpected(error: Exception) -> int:
    """Report an error that stopped the command as one sentence, log the details, and return the exit code."""
    if isinstance(error, Unusable):
        complain("unusable", error.code, error.message, error.hint)
        return UNUSABLE
    if isinstance(error, DoorwardError):
        status = "failed" if isinstance(error, Failed) else "refused"
        complain(status, error.code, error.message, error.hint, error.rule)
        return EXIT_CODES[status]
    if isinstance(error, OSError):
        complain("failed", "system", f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}.")
        return EXIT_CODES["failed"]
    where = _log(error)
    complain("failed", "broken", f"Internal error in Doorward ({type(error).__name__}).", where)
    return EXIT_CODES["failed"]


def _log(error: Exception) -> str:
    """Write the traceback to the log and return a hint about it. Even that can fail, on a full disk."""
    if os.environ.get("DOORWARD_DEBUG"):
        raise error
    try:
        home = home_folder()
        handler = logs.write_to(home)
        logging.getLogger("doorward").error("the command line broke", exc_info=error)
        logs.stop(handler)
    except (OSError, DoorwardError):
        return "The details could not be written to the log. DOORWARD_DEBUG=1 shows them."
    return f"The details are in {home / logs.LOG_FILE}."
