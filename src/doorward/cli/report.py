"""Prints outcomes and errors on a terminal, and maps them to exit codes."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping
from typing import Any

import click
import msgspec

from doorward.cli.live_view import escape_output
from doorward.cli.text_wrap import terminal_width, wrap_indented
from doorward.config.settings import find_home_folder
from doorward.core import logs
from doorward.core.command import Blocks
from doorward.core.errors import DoorwardError, Failed, Unusable
from doorward.core.escape_invisible import escape_invisible
from doorward.core.model import Outcome
from doorward.gate import result_text

EXIT_CODES = {"done": 0, "failed": 1, "refused": 3, "parked": 4}
EXIT_UNUSABLE = 5
"""Exit code when the installation or its files cannot be used. 2 means a wrong command line."""


def show_outcome(outcome: Outcome, as_json: bool, *, told: bool = False, as_text: bool = False) -> int:
    """Print an outcome, as JSON when standard output is not a terminal, and return its exit code.

    `told` says that the command's output was already shown while it ran, and `as_text` that text is wanted in a pipe.
    """
    if as_json or not (as_text or sys.stdout.isatty()):
        click.echo(msgspec.json.format(msgspec.json.encode(outcome), indent=2).decode())
        if outcome.status != "done":
            print_error(outcome.status, outcome.code, outcome.message, outcome.hint, outcome.rule)
        return EXIT_CODES[outcome.status]
    if result_text.is_program_result(outcome.result):
        return _show_program(outcome, told)
    blocks = result_text.to_blocks(outcome.result)
    if blocks is not None:
        return _show_blocks(outcome, blocks)
    if as_text and result_text.is_file_content(outcome.result) and outcome.result["encoding"] == "utf-8":
        click.echo(outcome.result["content"], nl=False)
    elif outcome.status == "done":
        show_result(outcome.result)
        if outcome.effect == "done" and "execution" not in (outcome.result or ()):
            print_note(f"execution {outcome.call}")
    else:
        print_error(outcome.status, outcome.code, outcome.message, outcome.hint, outcome.rule)
    return EXIT_CODES[outcome.status]


def _show_program(outcome: Outcome, told: bool) -> int:
    """Print a program's output, and a last line with its exit code and duration."""
    ended = outcome.result
    for stream in ("stdout", "stderr"):
        text = escape_output(ended.get(stream, ""))
        if text and not told:
            click.echo(text, nl=not text.endswith("\n"), err=stream == "stderr")
    if outcome.status != "done":
        print_error(outcome.status, outcome.code, outcome.message, outcome.hint, outcome.rule)
    for host in ended.get("refusedHosts", ()):
        print_note(f"refused host: {escape_output(host)}")
    code = "stopped" if ended["exitCode"] is None else f"exit code {ended['exitCode']}"
    parts = [code, f"{ended.get('seconds', 0.0):.1f} s", f"execution {outcome.call}"]
    if ended.get("sandbox", "full") != "full":
        word = ended["sandbox"].partition(":")[0]
        parts.insert(2, f"sandbox {word} (see `doorward status`)")
    print_note(", ".join([*parts, *result_text.describe_truncation(ended)]))
    return EXIT_CODES[outcome.status]


def _show_blocks(outcome: Outcome, blocks: Blocks) -> int:
    """Print the content of an MCP result: text as it is; for images and audio, the type and how to save them."""
    text = escape_output(result_text.render_blocks(blocks))
    click.echo(text, nl=not text.endswith("\n"), err=outcome.status != "done")
    if outcome.status != "done":
        print_error(outcome.status, outcome.code, outcome.message, outcome.hint, outcome.rule)
    for place, block in enumerate(blocks.content):
        if isinstance(block.get("data"), str):
            kind = escape_invisible(str(block.get("type")), lines=False)
            print_note(
                f"To save the {kind}: doorward run --json … | jq -r '.result.content[{place}].data' | base64 -d > FILE"
            )
    print_note(f"execution {outcome.call}")
    return EXIT_CODES[outcome.status]


def show_result(value: Any) -> None:
    """Print a result for people: lists as a table, everything else as name and value."""
    from doorward.cli import tables  # noqa: PLC0415 - rich is slow to import, needed on terminals only

    tables.show_table(value)


def print_error(status: str, code: str, message: str, hint: str = "", rule: str = "") -> None:
    word = "waiting" if status == "parked" else status
    head = f"{word}:" if code == status else f"{word} ({code})"
    said = _wrap_sentences(f"{head} {escape_invisible(message)}").removeprefix(head)
    click.echo(click.style(head, fg="yellow" if status == "parked" else "red", bold=True) + said, err=True)
    if rule:
        click.echo(_wrap_sentences(f"  rule: {escape_invisible(rule)}"), err=True)
    if hint:
        click.echo(_wrap_sentences(f"  {escape_invisible(hint)}"), err=True)


def _wrap_sentences(text: str) -> str:
    """Wrap sentences between words."""
    first, *rest = text.split("\n")
    return "\n".join(
        [wrap_indented(first, terminal_width(), 2), *(wrap_indented(line, terminal_width(), 0) for line in rest)]
    )


def describe_rest(approval: Mapping[str, Any]) -> str:
    """Say how to see the rest of the changes that an approval shows; empty when it shows them all."""
    end = approval.get("differenceNext")
    if end is None:
        return ""
    left = int(approval["differenceLength"]) - int(end)
    return f"… {left} more characters. To see all changes: doorward approvals show {approval['id']} --full"


def print_note(text: str) -> None:
    click.echo(click.style(escape_invisible(text), dim=True), err=True)


def report_exception(error: Exception) -> int:
    """Report an error that stopped the command as one sentence, log the details, and return the exit code."""
    if isinstance(error, Unusable):
        print_error("unusable", error.code, error.message, error.hint)
        return EXIT_UNUSABLE
    if isinstance(error, DoorwardError):
        status = "failed" if isinstance(error, Failed) else "refused"
        print_error(status, error.code, error.message, error.hint, error.rule)
        return EXIT_CODES[status]
    if isinstance(error, OSError):
        print_error("failed", "system", f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}.")
        return EXIT_CODES["failed"]
    where = _log_traceback(error)
    print_error("failed", "broken", f"Internal error in Doorward ({type(error).__name__}).", where)
    return EXIT_CODES["failed"]


def _log_traceback(error: Exception) -> str:
    """Write the traceback to the log and return a hint about it. Even that can fail, on a full disk."""
    if os.environ.get("DOORWARD_DEBUG"):
        raise error
    try:
        home = find_home_folder()
        handler = logs.write_to(home)
        logging.getLogger("doorward").error("the command line broke", exc_info=error)
        logs.stop(handler)
    except (OSError, DoorwardError):
        return "The details could not be written to the log. DOORWARD_DEBUG=1 shows them."
    return f"The details are in {home / logs.LOG_FILE}."
