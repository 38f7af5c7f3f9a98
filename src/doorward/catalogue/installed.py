"""Which programs of the catalogue this machine has."""

from __future__ import annotations

import shutil
from collections.abc import Iterable

from doorward.catalogue.entry import Entry
from doorward.sandbox.view import PATH


def missing(entries: Iterable[Entry]) -> list[Entry]:
    """The entries whose program is not there; they are not offered, since they could only fail."""
    known: dict[str, bool] = {}
    for entry in entries:
        if entry.program not in known:
            known[entry.program] = shutil.which(entry.program, path=PATH) is not None
    return [entry for entry in entries if not known[entry.program]]
