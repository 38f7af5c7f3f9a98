"""The built-ins of the session shell, which do their work by calling other commands.

Text tools such as `grep`, `sort` and `head` are sandboxed programs and not here. Built-ins are the words that need the
virtual files, the session, the data or the server.
"""

from __future__ import annotations

from collections.abc import Mapping

from doorward.backends.session.builtins import (
    changing,
    finding,
    helping,
    here,
    house,
    looking,
    people,
    picking,
    records,
    running,
    testing,
    words,
)
from doorward.backends.session.builtins.builtin import KNOWN, Builtin, family

BUILTINS: Mapping[str, str] = {word: one.command for word, one in KNOWN.items()}
"""The command of each built-in word."""

__all__ = [
    "BUILTINS",
    "KNOWN",
    "Builtin",
    "changing",
    "family",
    "finding",
    "helping",
    "here",
    "house",
    "looking",
    "people",
    "picking",
    "records",
    "running",
    "testing",
    "words",
]
