"""The paths of the ledger's files in a home folder."""

from __future__ import annotations

from pathlib import Path

import msgspec


class LedgerPaths(msgspec.Struct, frozen=True):
    database: Path
    checkpoints: Path
    segments: Path

    @classmethod
    def of(cls, home: Path) -> LedgerPaths:
        return cls(home / "doorward.db", home / "ledger" / "checkpoints.jsonl", home / "ledger")
