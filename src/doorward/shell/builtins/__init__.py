"""The built-ins of the session shell, which do their work by calling other commands.

Text tools such as `grep`, `sort` and `head` are sandboxed programs and not here. Built-ins are the words that need the
virtual files, the session, the data or the server.
"""

from __future__ import annotations

from collections.abc import Mapping

from doorward.shell.builtins import (
    data,
    executions,
    file_changes,
    file_views,
    find,
    help,
    pipe_tools,
    rooms,
    server,
    session_state,
    text,
)
from doorward.shell.builtins.builtin import BUILTINS_BY_WORD, Builtin, family

BUILTINS: Mapping[str, str] = {word: one.command for word, one in BUILTINS_BY_WORD.items()}
"""The command of each built-in word."""

__all__ = [
    "BUILTINS",
    "BUILTINS_BY_WORD",
    "Builtin",
    "data",
    "executions",
    "family",
    "file_changes",
    "file_views",
    "find",
    "help",
    "pipe_tools",
    "rooms",
    "server",
    "session_state",
    "text",
]
