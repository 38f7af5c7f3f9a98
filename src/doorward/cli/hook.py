"""`doorward hook`: ask the gate about a tool call of a coding client."""

from __future__ import annotations

import click

from doorward.cli import hook_client


@click.command("hook", context_settings={"ignore_unknown_options": True})
@click.argument("words", metavar="CLIENT [--room=ROOM] [--mode=judge|sandbox]", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def command(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Ask the gate about a tool call of CLIENT, which is on standard input as the client's hooks write it.

    `doorward protect` sets this up. It prints the answer that the client understands. Without a decision it ends with
    exit code 2, which blocks the call.
    """
    ctx.exit(hook_client.main(list(words)))
