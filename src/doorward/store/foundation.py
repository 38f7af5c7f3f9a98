"""The first migration: the schema of the first release. It is never edited."""

from __future__ import annotations

FOUNDATION = """
CREATE TABLE ledger (
    seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, phase TEXT NOT NULL, call TEXT NOT NULL,
    tenant TEXT NOT NULL, caller TEXT NOT NULL, kind TEXT NOT NULL, behalf TEXT NOT NULL,
    door TEXT NOT NULL, room TEXT NOT NULL, command TEXT NOT NULL, tier TEXT NOT NULL,
    params TEXT NOT NULL, digest TEXT NOT NULL, rule TEXT NOT NULL, approval TEXT NOT NULL,
    reserved REAL NOT NULL, spent REAL NOT NULL, status TEXT NOT NULL, code TEXT NOT NULL,
    note TEXT NOT NULL, duration INTEGER NOT NULL, prev TEXT NOT NULL, hash TEXT NOT NULL
) STRICT;
CREATE INDEX ledger_call ON ledger (call);
CREATE INDEX ledger_at ON ledger (at / 1000000.0);
CREATE TRIGGER ledger_is_never_changed BEFORE UPDATE ON ledger
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER ledger_is_never_cut BEFORE DELETE ON ledger
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TABLE ledger_head (
    id INTEGER PRIMARY KEY CHECK (id = 1), seq INTEGER NOT NULL, hash TEXT NOT NULL, signature TEXT NOT NULL
) STRICT;
CREATE TABLE segments (
    first INTEGER PRIMARY KEY, last INTEGER NOT NULL, file TEXT NOT NULL,
    prev TEXT NOT NULL, hash TEXT NOT NULL, signature TEXT NOT NULL
) STRICT;
CREATE TABLE open_calls (call TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;

CREATE TABLE users (
    tenant TEXT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL,
    access INTEGER NOT NULL, active INTEGER NOT NULL DEFAULT 1, created_at REAL NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT;
CREATE TABLE tokens (
    id TEXT PRIMARY KEY, tenant TEXT NOT NULL, user TEXT NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL,
    access INTEGER NOT NULL, rooms TEXT, created_at REAL NOT NULL, expires_at REAL NOT NULL, revoked_at REAL
) STRICT;
CREATE TABLE rooms (
    tenant TEXT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, recipe TEXT NOT NULL,
    archived INTEGER NOT NULL DEFAULT 0, version INTEGER NOT NULL DEFAULT 1, created_at REAL NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT;
CREATE TABLE members (
    tenant TEXT NOT NULL, room TEXT NOT NULL, id TEXT NOT NULL, kind TEXT NOT NULL, role TEXT NOT NULL,
    PRIMARY KEY (tenant, room, id),
    FOREIGN KEY (tenant, room) REFERENCES rooms (tenant, id) ON DELETE CASCADE
) STRICT;
CREATE TABLE messages (
    id TEXT PRIMARY KEY, tenant TEXT NOT NULL, room TEXT NOT NULL, sender TEXT NOT NULL, kind TEXT NOT NULL,
    text TEXT NOT NULL, at REAL NOT NULL
) STRICT;
CREATE INDEX messages_room ON messages (tenant, room, id);
CREATE TABLE recipes (
    id TEXT PRIMARY KEY, body TEXT NOT NULL, digest TEXT NOT NULL, loaded_at REAL NOT NULL
) STRICT;

CREATE TABLE approvals (
    id TEXT PRIMARY KEY, tenant TEXT NOT NULL, room TEXT NOT NULL, caller TEXT NOT NULL, kind TEXT NOT NULL,
    behalf TEXT NOT NULL, command TEXT NOT NULL, params TEXT NOT NULL, redacted TEXT NOT NULL,
    digest TEXT NOT NULL, access INTEGER NOT NULL, approvers TEXT NOT NULL, quorum INTEGER NOT NULL,
    state TEXT NOT NULL, created_at REAL NOT NULL, expires_at REAL NOT NULL, decided_at REAL, used_by TEXT
) STRICT;
CREATE INDEX approvals_state ON approvals (tenant, state);
CREATE TABLE decisions (
    approval TEXT NOT NULL REFERENCES approvals (id), decider TEXT NOT NULL, verdict TEXT NOT NULL,
    at REAL NOT NULL, PRIMARY KEY (approval, decider)
) STRICT;

CREATE TABLE energy (
    tenant TEXT NOT NULL, caller TEXT NOT NULL, level REAL NOT NULL, at REAL NOT NULL,
    PRIMARY KEY (tenant, caller)
) STRICT;
CREATE TABLE keepsakes (name TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT;
CREATE TABLE results (
    call TEXT PRIMARY KEY, tenant TEXT NOT NULL, caller TEXT NOT NULL, behalf TEXT NOT NULL,
    at REAL NOT NULL, body TEXT NOT NULL
) STRICT;

CREATE TABLE before_images (
    call TEXT NOT NULL, n INTEGER NOT NULL, tenant TEXT NOT NULL, caller TEXT NOT NULL, behalf TEXT NOT NULL,
    command TEXT NOT NULL, kind TEXT NOT NULL, target TEXT NOT NULL, before BLOB, after TEXT NOT NULL,
    undone_by TEXT NOT NULL DEFAULT '', at REAL NOT NULL,
    PRIMARY KEY (call, n)
) STRICT;
CREATE INDEX before_images_target ON before_images (tenant, kind, target, at);

CREATE TABLE collections (
    tenant TEXT NOT NULL, name TEXT NOT NULL, schema TEXT NOT NULL, version INTEGER NOT NULL DEFAULT 1,
    created_at REAL NOT NULL, PRIMARY KEY (tenant, name)
) STRICT;
CREATE TABLE records (
    tenant TEXT NOT NULL, collection TEXT NOT NULL, id TEXT NOT NULL, body TEXT NOT NULL,
    version INTEGER NOT NULL DEFAULT 1, created_at REAL NOT NULL, updated_at REAL NOT NULL,
    created_by TEXT NOT NULL,
    PRIMARY KEY (tenant, collection, id),
    FOREIGN KEY (tenant, collection) REFERENCES collections (tenant, name)
) STRICT;
"""
