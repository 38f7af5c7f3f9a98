"""A home folder of an earlier version is brought to this one with everything in it."""

from __future__ import annotations

import sqlite3

from doorward.store import migrations


def test_messages_of_before_have_their_places_and_are_found(tmp_path):
    db = sqlite3.connect(tmp_path / "old.db", isolation_level=None)
    before = migrations.STEPS.index(migrations.CONVERSATIONS)
    for number, step in enumerate(migrations.STEPS[:before]):
        db.executescript(f"{step}\nPRAGMA user_version = {number + 1};")
    rows = [(f"m{n}", room, f"number {n}") for n, room in enumerate(["lab", "den", "lab", "lab"])]
    for id, room, text in rows:
        db.execute("INSERT INTO messages VALUES (?, 'local', ?, 'anna', 'human', ?, 1.0)", (id, room, text))
    db.execute("INSERT INTO rooms VALUES ('local', 'lab', 'lab', 'support', 0, 1, 1.0)")
    migrations.migrate(db)
    placed = db.execute("SELECT id, room, position, revision FROM messages ORDER BY n").fetchall()
    found = db.execute("SELECT rowid FROM messages_fts WHERE messages_fts MATCH 'number'").fetchall()
    assert placed == [("m0", "lab", 1, 1), ("m1", "den", 1, 1), ("m2", "lab", 2, 2), ("m3", "lab", 3, 3)]
    assert len(found) == len(rows)
    assert db.execute("SELECT topic, direct FROM rooms").fetchall() == [("", 0)]
    assert migrations.version(db) == len(migrations.STEPS)
    db.close()
