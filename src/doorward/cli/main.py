"""The `doorward` command. Subcommands are imported when they are used, so that `--help` is fast."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

import click

from doorward import __version__

SUBCOMMANDS = {
    "up": "Start the Doorward server on this machine.",
    "login": "Print a link that logs a browser in to the console.",
    "ai": "Ask the keeper in plain words.",
    "shell": "Open a shell in which every command passes the gate.",
    "chat": "Chat in a room with its people and AIs.",
    "init": "Create the home folder.",
    "mcp": "Run an MCP server on standard input and output.",
    "connect": "Add Doorward to an MCP client on this machine, or remove it.",
    "protect": "Make a coding client's own tools ask the gate, or stop that.",
    "hook": "Ask the gate about a tool call of a coding client; the client runs this.",
    "servers": "Manage the MCP servers behind Doorward.",
    "models": "Find, test, choose and add models.",
    "run": "Run a command in a room, as an agent of yours.",
    "explain": "Show whether a command is allowed in a room, and by which rule.",
    "executions": "List executions, read their output and cancel them.",
    "approvals": "List and decide approvals.",
    "audit": "Read, export and verify the ledger.",
    "rooms": "Manage rooms and their members.",
    "recipe": "Manage recipes, the rules of rooms.",
    "personas": "Manage personas, the AIs in rooms.",
    "effort": "See and steer agents that regulate their effort.",
    "data": "Read collections of data.",
    "token": "Manage tokens, passwords and invitations.",
    "status": "Show the status of Doorward.",
    "bench": "Check Doorward's speed and sandbox on this machine.",
    "completion": "Print a shell completion script.",
}

_EXAMPLES = """
\b
Examples:
  doorward ai "how many rooms do we have"
  doorward run data/list --collection=rooms
  doorward explain --room general file/write
  doorward audit verify
"""


_EXIT_PIPE = 141
"""What a shell reports for a program that a broken pipe ended."""


class LazyGroup(click.Group):
    """A click group that lists its subcommands without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in SUBCOMMANDS:
            return None
        command = importlib.import_module(f"doorward.cli.{cmd_name}").command
        if not isinstance(command, click.Command):
            raise TypeError(f"doorward.cli.{cmd_name} has no click command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(SUBCOMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in SUBCOMMANDS and "/" in args[0]:
            ctx.fail(f"{args[0]!r} is not a subcommand; run it with: doorward run {' '.join(args)}")
        return super().resolve_command(ctx, args)


@click.group(
    cls=LazyGroup,
    epilog=_EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="doorward")
def cli() -> None:
    """The one door between AIs and this machine.

    Every request passes one gate, which checks the caller, the parameters, the room's recipe, the limits and the
    approvals. Then it runs and is recorded in the ledger.
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the command line. Every error ends in a sentence, never in a traceback."""
    _open_closed_streams()
    try:
        code = _run(arguments)
    except BrokenPipeError:  # nobody reads the errors either, and the rest of them would break the exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
        code = _EXIT_PIPE
    sys.exit(code)


def _open_closed_streams() -> None:
    """Replace closed standard streams, so that a file opened later does not take the place of one."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w", encoding="utf-8"))  # noqa: SIM115


def _run(arguments: list[str] | None) -> Any:
    try:
        return cli.main(arguments, prog_name="doorward", standalone_mode=False)
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:
        click.echo("Stopped.", err=True)
        return 130
    except SystemExit:  # only click raises it here, when nobody reads the output any more
        return _EXIT_PIPE
    except Exception as error:  # noqa: BLE001 - people never see a traceback
        from doorward.cli import report  # noqa: PLC0415 - slow to import, needed for errors only

        return report.report_exception(error)
