"""The built-ins of the session shell: words that are commands of the house, which do their work by other commands.

What a sandboxed program does as well (`grep`, `sort`, `head`) is left to the program; here are the words that know the
virtual files, the session, the data and the house.
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
"""Which command of the registry each word of the shell is."""

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
