"""The `doorward` command. Subcommands are imported when used, so that `--help` answers at once."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import click

from doorward import __version__

SUBCOMMANDS = {
    "up": "Start Doorward on this machine and say where to look.",
    "login": "Print a link that lets a browser into the console.",
    "ai": "Say in plain words what you want, and have it done.",
    "shell": "A shell whose every command passes the gate, and `@` for plain words.",
    "chat": "Talk in a room with its people and AIs.",
    "init": "Make the home folder and say what was made.",
    "mcp": "Speak MCP on the standard streams, for a client that starts it.",
    "connect": "Add Doorward to the MCP clients on this machine, or take it out.",
    "servers": "See, add and change the MCP servers behind Doorward.",
    "run": "Run a command in a room, as an agent of yours.",
    "explain": "Say whether a command is allowed in a room, and by which rule.",
    "executions": "See what runs and what it wrote, and stop it.",
    "approvals": "See what waits for a person, and decide.",
    "audit": "Read, export and verify the record of everything.",
    "rooms": "Make rooms, and say who is in them.",
    "recipe": "See, check and change the rules of rooms.",
    "personas": "See, add and change the AIs that live in rooms.",
    "data": "Look at collections of data.",
    "token": "Make and revoke tokens for agents and programs, and let people log in.",
    "status": "Say how Doorward is doing.",
    "bench": "Measure this machine against Doorward's targets.",
    "completion": "Print the completion script for your shell.",
}

_EXAMPLES = """
\b
First steps:
  doorward ai "how many rooms do we have"
  doorward run data/list --collection=rooms
  doorward explain --room general file/write
  doorward audit verify
"""


class Lazy(click.Group):
    """A group that knows its subcommands' names and summaries without importing them."""

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
            ctx.fail(f"{args[0]!r} is a governed command; run it with: doorward run {' '.join(args)}")
        return super().resolve_command(ctx, args)


@click.group(
    cls=Lazy,
    epilog=_EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="doorward")
def cli() -> None:
    """The one door between AIs and this machine.

    Every request passes one gate: who asks, is it well formed, does the room's recipe allow it, is it within
    limits, must a human approve it. Then it runs, and leaves a record.
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; whatever goes wrong ends in a sentence, never in a traceback."""
    sys.exit(_run(arguments))


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
    except BrokenPipeError:
        sys.stderr.close()
        return 141
    except Exception as error:  # noqa: BLE001 - a person at a terminal never sees a traceback
        return importlib.import_module("doorward.cli.report").unexpected(error)
