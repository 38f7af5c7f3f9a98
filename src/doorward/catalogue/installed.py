"""Find the catalogue programs that are not installed."""

from __future__ import annotations

import shutil
from collections.abc import Iterable

from doorward.catalogue.entry import Entry
from doorward.sandbox.view import PATH


def missing(entries: Iterable[Entry]) -> list[Entry]:
    """The entries whose program is not installed; they are not offered, because they could only fail."""
    known: dict[str, bool] = {}
    for entry in entries:
        if entry.program not in known:
            known[entry.program] = shutil.which(entry.program, path=PATH) is not None
    return [entry for entry in entries if not known[entry.program]]
