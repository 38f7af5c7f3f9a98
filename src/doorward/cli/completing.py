"""Shell completion for `doorward run` and `doorward explain`: commands and their parameters."""

from __future__ import annotations

import contextlib

import click
from click.shell_completion import CompletionItem

from doorward.command import Command
from doorward.errors import Unusable
from doorward.home import Home
from doorward.settings import home_folder, load


def commands(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the name of a governed command."""
    return [CompletionItem(one.name, help=one.summary) for one in _all() if one.name.startswith(incomplete)]


def parameters(name: str, incomplete: str) -> list[CompletionItem]:
    """Complete a parameter of a governed command."""
    found = next((one for one in _all() if one.name == name), None)
    properties = found.schema["properties"] if found is not None else {}
    return [
        CompletionItem(f"--{key}=", help=spec["description"])
        for key, spec in properties.items()
        if f"--{key}=".startswith(incomplete)
    ]


def _all() -> list[Command]:
    from doorward.commands import FAMILIES, plugin_families  # noqa: PLC0415 - slow to import, needed for completion only

    families = list(FAMILIES)
    # A plugin that cannot be loaded is reported when a command runs, not during completion.
    with contextlib.suppress(Unusable):
        families += plugin_families()
    return [*(command for family in families for command in family.commands), *_of_the_catalogue()]


def _of_the_catalogue() -> list[Command]:
    """Return the commands of this home's catalogue. An invalid catalogue is reported elsewhere."""
    from doorward.backends import shell  # noqa: PLC0415
    from doorward.catalogue.book import catalogue_of  # noqa: PLC0415

    with contextlib.suppress(Unusable, TypeError):
        home = Home(home_folder())
        configured = load(home.settings)
        made, _ = shell.commands(catalogue_of(home.path, configured.shell.catalogue), configured)
        return made
    return []
