"""The console's vendored files match their list: name, version, licence, source and hash."""

from __future__ import annotations

import hashlib
import json

from doorward.doors.console.static_files import STATIC

VENDOR = STATIC / "vendor"
LISTED = json.loads((VENDOR / "vendor.json").read_text())["files"]


def test_every_vendored_file_is_listed_and_nothing_else() -> None:
    """Type declarations are Doorward's own."""
    present = {path.name for path in VENDOR.iterdir() if path.name != "vendor.json" and not path.name.endswith(".d.ts")}
    assert sorted(one["file"] for one in LISTED) == sorted(present)


def test_every_vendored_file_has_the_listed_hash() -> None:
    hashes = {one["file"]: one["sha256"] for one in LISTED}
    assert hashes == {name: hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() for name in hashes}


def test_every_entry_is_complete() -> None:
    for one in LISTED:
        assert set(one) == {"file", "name", "version", "licence", "source", "sha256"}
        assert all(one.values())
        assert one["version"] in one["source"]
