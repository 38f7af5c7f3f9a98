"""`doorward completion`: completion scripts for bash, zsh and fish."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from doorward.cli import main

_BASH_APPEND = "COMPREPLY+=($value)"
_BASH_APPEND_NO_SPACE = f"{_BASH_APPEND}; [[ $value == *= ]] && compopt -o nospace"
"""In bash, a completed `--key=` must not be followed by a space: its value comes next."""


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
        raise click.UsageError(f"No completion script for {shell}; valid: bash, zsh, fish.")
    script = kind(main.cli, {}, "doorward", "_DOORWARD_COMPLETE").source()
    click.echo(script.replace(_BASH_APPEND, _BASH_APPEND_NO_SPACE) if shell == "bash" else script)
