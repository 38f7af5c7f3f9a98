"""All command families: the built-in ones, those of plugins, and the aliases of commands."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import entry_points

from doorward.commands import (
    account,
    agent,
    ai,
    approval,
    approval_rules,
    audit,
    conversation,
    debug,
    draft,
    draft_merge,
    effort,
    event,
    execution,
    file,
    model,
    native,
    network,
    persona,
    process,
    programs,
    recipe,
    recipe_diff,
    recipe_infer,
    recipe_preview,
    room,
    room_files,
    room_history,
    room_members,
    room_messages,
    room_updates,
    room_workspace,
    servers,
    system,
    undo,
    user,
    workspace_changes,
)
from doorward.commands import data as data_
from doorward.commands import help as help_
from doorward.core.command import Family
from doorward.core.errors import Unusable
from doorward.core.registry import Registry
from doorward.shell import builtins, vfs
from doorward.shell import script as script_
from doorward.shell import session_commands as session_

FAMILIES: tuple[Family, ...] = (
    data_.family,
    data_.collection_family,
    file.family,
    vfs.family,
    builtins.family,
    session_.family,
    script_.family,
    programs.family,
    draft.family,
    draft_merge.family,
    workspace_changes.family,
    programs.bash_family,
    process.family,
    network.family,
    undo.family,
    room.family,
    room_members.family,
    room_workspace.family,
    room_messages.family,
    room_history.family,
    room_updates.family,
    room_files.family,
    persona.family,
    effort.family,
    conversation.family,
    recipe.family,
    recipe_diff.family,
    recipe_infer.family,
    recipe_preview.family,
    approval.family,
    approval_rules.family,
    execution.family,
    audit.family,
    audit.timeline_family,
    event.family,
    ai.family,
    agent.family,
    debug.family,
    system.family,
    help_.family,
    servers.family,
    user.family,
    account.family,
    user.token_family,
    model.family,
    native.family,
)
PLUGIN_GROUP = "doorward.families"
"""The entry-point group that an installed package uses to add a command family."""
ALIASES = {
    "read_file": "file/read",
    "list_directory": "file/list",
    "remove_file": "file/delete",
    "cd": "shell/cd",
    "change_directory": "shell/cd",
    "execute_script": "shell/script",
    "get_shell_info": "shell/info",
    "get_shell_context": "shell/context",
    "get_history": "shell/history",
    "list_files_detailed": "shell/files",
    "search_commands": "help/search",
    "suggest_command": "help/suggest",
    "get_execution_status": "execution/status",
    "cancel_execution": "execution/cancel",
}
"""Command names that models know from other systems."""


def load_plugin_families() -> list[Family]:
    """Load the families of installed plugins.

    A plugin that cannot be loaded stops the start: its commands and their safety facts would be missing.
    """
    families = []
    for point in entry_points(group=PLUGIN_GROUP):
        try:
            family = point.load()
        except Exception as error:
            raise Unusable(f"The plugin {point.name} ({point.value}) cannot be loaded: {error}.") from error
        if not isinstance(family, Family):
            raise Unusable(f"The plugin {point.name} ({point.value}) is not a command family.")
        families.append(family)
    return families


def build_registry(families: Iterable[Family]) -> Registry:
    try:
        return Registry([*FAMILIES, *load_plugin_families(), *families], ALIASES)
    except TypeError as error:
        raise Unusable(f"The commands of Doorward and its plugins conflict: {error}.") from error
