"""`doorward completion`: completion for your shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from doorward.cli import main

_ADDED = "COMPREPLY+=($value)"
_NO_SPACE = f"{_ADDED}; [[ $value == *= ]] && compopt -o nospace"
"""In bash a completed `--key=` waits for its value, so no space may follow it."""


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script for SHELL.

    \b
    bash:  eval "$(doorward completion bash)"
    zsh:   eval "$(doorward completion zsh)"
    fish:  doorward completion fish | source
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"There is no completion for {shell}.")
    script = kind(main.cli, {}, "doorward", "_DOORWARD_COMPLETE").source()
    click.echo(script.replace(_ADDED, _NO_SPACE) if shell == "bash" else script)
