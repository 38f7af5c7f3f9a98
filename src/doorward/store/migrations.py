"""The database migrations, in order. A released step is never edited."""

from __future__ import annotations

import sqlite3

from doorward.core.errors import Unusable
from doorward.store.foundation import FOUNDATION

APPROVAL_EFFECTS = """
ALTER TABLE approvals ADD COLUMN foreseen TEXT NOT NULL DEFAULT '';
ALTER TABLE approvals ADD COLUMN effect BLOB;
"""
"""The previewed effect of a call, stored with its approval until that is decided or used."""

ACCOUNTS = """
CREATE TABLE passwords (
    tenant TEXT NOT NULL, user TEXT NOT NULL, hash TEXT NOT NULL, changed_at REAL NOT NULL,
    PRIMARY KEY (tenant, user)
) STRICT;
CREATE TABLE sessions (
    id TEXT PRIMARY KEY, tenant TEXT NOT NULL, user TEXT NOT NULL, refresh TEXT NOT NULL,
    created_at REAL NOT NULL, expires_at REAL NOT NULL, revoked_at REAL
) STRICT;
CREATE TABLE invitations (
    hash TEXT PRIMARY KEY, tenant TEXT NOT NULL, created_by TEXT NOT NULL, created_at REAL NOT NULL,
    expires_at REAL NOT NULL, used_at REAL
) STRICT;
CREATE TABLE answers (
    caller TEXT NOT NULL, key TEXT NOT NULL, asked TEXT NOT NULL, at REAL NOT NULL,
    call TEXT NOT NULL DEFAULT '', status INTEGER, body BLOB,
    PRIMARY KEY (caller, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX answers_at ON answers (at);
"""
"""Accounts with passwords, and stored responses for idempotent requests."""

UPSTREAM = """
CREATE TABLE upstream_servers (
    id TEXT PRIMARY KEY, tenant TEXT NOT NULL, name TEXT NOT NULL, transport TEXT NOT NULL, origin TEXT NOT NULL,
    enabled INTEGER NOT NULL, state TEXT NOT NULL, problem TEXT NOT NULL, since REAL NOT NULL,
    added_at REAL NOT NULL, removed_at REAL
) STRICT;
CREATE TABLE upstream_tools (
    server TEXT NOT NULL, tool TEXT NOT NULL, position INTEGER NOT NULL, listed INTEGER NOT NULL,
    trusted INTEGER NOT NULL, seen TEXT NOT NULL, pinned TEXT NOT NULL, pinned_at REAL NOT NULL,
    definition TEXT NOT NULL, approved TEXT NOT NULL,
    PRIMARY KEY (server, tool)
) STRICT, WITHOUT ROWID;
CREATE INDEX ledger_upstream ON ledger (command, seq) WHERE command GLOB 'mcp/*/*';
"""
"""Upstream servers, and the last seen and the approved definitions of their tools."""

SERVER_SEEN = """
ALTER TABLE upstream_servers ADD COLUMN seen INTEGER NOT NULL DEFAULT 0;
UPDATE upstream_servers SET seen = 1 WHERE id IN (SELECT server FROM upstream_tools);
"""
"""Whether a server has ever listed its tools, even if the list was empty."""

BROWSERS = """
CREATE TABLE browsers (
    id TEXT PRIMARY KEY, tenant TEXT NOT NULL, user TEXT NOT NULL, hash TEXT NOT NULL UNIQUE, agent TEXT NOT NULL,
    created_at REAL NOT NULL, expires_at REAL NOT NULL
) STRICT;
"""
"""Browser sessions of the console."""

CONVERSATIONS = """
ALTER TABLE rooms ADD COLUMN topic TEXT NOT NULL DEFAULT '';
ALTER TABLE rooms ADD COLUMN direct INTEGER NOT NULL DEFAULT 0;

ALTER TABLE messages RENAME TO messages_before;
DROP INDEX messages_room;
CREATE TABLE messages (
    n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, tenant TEXT NOT NULL, room TEXT NOT NULL, sender TEXT NOT NULL,
    kind TEXT NOT NULL, text TEXT NOT NULL, at REAL NOT NULL, position INTEGER NOT NULL, revision INTEGER NOT NULL,
    edited_at REAL, deleted_at REAL, deleted_by TEXT NOT NULL DEFAULT '', reply_to TEXT NOT NULL DEFAULT '',
    attachments TEXT NOT NULL DEFAULT '[]'
) STRICT;
CREATE UNIQUE INDEX messages_position ON messages (tenant, room, position);
CREATE UNIQUE INDEX messages_revision ON messages (tenant, room, revision);
CREATE VIRTUAL TABLE messages_fts USING fts5 (
    text, content = 'messages', content_rowid = 'n', tokenize = 'unicode61 remove_diacritics 2'
);
CREATE TRIGGER messages_are_found AFTER INSERT ON messages BEGIN
    INSERT INTO messages_fts (rowid, text) VALUES (new.n, new.text);
END;
CREATE TRIGGER messages_are_found_as_they_are AFTER UPDATE OF text ON messages BEGIN
    INSERT INTO messages_fts (messages_fts, rowid, text) VALUES ('delete', old.n, old.text);
    INSERT INTO messages_fts (rowid, text) VALUES (new.n, new.text);
END;
INSERT INTO messages (id, tenant, room, sender, kind, text, at, position, revision)
    SELECT id, tenant, room, sender, kind, text, at, place, place FROM (
        SELECT *, row_number() OVER (PARTITION BY tenant, room ORDER BY id) AS place FROM messages_before
    ) ORDER BY id;
DROP TABLE messages_before;

CREATE TABLE message_edits (
    message TEXT NOT NULL REFERENCES messages (id), revision INTEGER NOT NULL, text TEXT NOT NULL,
    attachments TEXT NOT NULL, change TEXT NOT NULL, by TEXT NOT NULL, at REAL NOT NULL,
    PRIMARY KEY (message, revision)
) STRICT, WITHOUT ROWID;
CREATE TABLE attachments (
    id TEXT PRIMARY KEY, tenant TEXT NOT NULL, room TEXT NOT NULL, uploader TEXT NOT NULL, name TEXT NOT NULL,
    media_type TEXT NOT NULL, size INTEGER NOT NULL, at REAL NOT NULL, message TEXT NOT NULL DEFAULT '',
    bytes BLOB NOT NULL
) STRICT;
CREATE INDEX attachments_loose ON attachments (at) WHERE message = '';
CREATE TABLE marks (
    tenant TEXT NOT NULL, room TEXT NOT NULL, member TEXT NOT NULL, position INTEGER NOT NULL, at REAL NOT NULL,
    PRIMARY KEY (tenant, room, member)
) STRICT, WITHOUT ROWID;
"""
"""Messages with edits, deletion, full-text search and attachments, and the read marks of members."""

PERSONAS = """
CREATE TABLE personas (id TEXT PRIMARY KEY, body TEXT NOT NULL, digest TEXT NOT NULL, loaded_at REAL NOT NULL) STRICT;
CREATE TABLE persona_calls (
    card TEXT PRIMARY KEY, tenant TEXT NOT NULL, room TEXT NOT NULL, persona TEXT NOT NULL, turn TEXT NOT NULL,
    rounds INTEGER NOT NULL, approval TEXT NOT NULL DEFAULT '', at REAL NOT NULL
) STRICT, WITHOUT ROWID;
"""
"""The last good version of each persona, and the open calls of personas."""

LEDGER_COUNTS = """
CREATE TABLE ledger_counts (
    tenant TEXT NOT NULL, field TEXT NOT NULL, value TEXT NOT NULL, period INTEGER NOT NULL, status TEXT NOT NULL,
    n INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
    PRIMARY KEY (tenant, field, value, period, status)
) STRICT, WITHOUT ROWID;
"""
"""Counts of ledger records per ten minutes, each with its first and last seq."""

BROWSER_PROOF = """
DELETE FROM browsers;
ALTER TABLE browsers ADD COLUMN proof TEXT NOT NULL DEFAULT '';
"""
"""The proof that a page sends with its cookie. Older sessions have none, so they are deleted."""

PERSONA_CALL_ASKER = """
ALTER TABLE persona_calls ADD COLUMN asker TEXT NOT NULL DEFAULT '';
"""
"""The person for whom a persona makes a call."""

MESSAGE_KEYS = """
ALTER TABLE messages ADD COLUMN key TEXT NOT NULL DEFAULT '';
CREATE UNIQUE INDEX messages_key ON messages (tenant, room, sender, key) WHERE key <> '';
"""
"""The idempotency key of a message, so that sending it again creates no duplicate."""

SHELL_SESSIONS = """
CREATE TABLE shell_sessions (
    tenant TEXT NOT NULL, user TEXT NOT NULL, agent TEXT NOT NULL, id TEXT NOT NULL, body TEXT NOT NULL,
    used_at REAL NOT NULL,
    PRIMARY KEY (tenant, user, agent, id)
) STRICT;
CREATE INDEX shell_sessions_used ON shell_sessions (used_at);
"""
"""Shell sessions, each with its state as one body."""

KEEPER_WAITS = """
CREATE TABLE keeper_waits (
    ticket TEXT PRIMARY KEY, tenant TEXT NOT NULL, session TEXT NOT NULL, body TEXT NOT NULL, at REAL NOT NULL
) STRICT, WITHOUT ROWID;
"""
"""The saved state of the keeper, by the approval it waits for."""

ACCEPTED = """
CREATE TABLE accepted_commands (
    tenant TEXT NOT NULL, asked TEXT NOT NULL, command TEXT NOT NULL, n INTEGER NOT NULL, at REAL NOT NULL,
    PRIMARY KEY (tenant, asked, command)
) STRICT, WITHOUT ROWID;
"""
"""Which command people chose for which words, stored if learning is on."""

UNDO_INDEX = """
CREATE INDEX before_images_open ON before_images (tenant, caller, behalf, at) WHERE undone_by = '';
CREATE INDEX keeper_waits_session ON keeper_waits (tenant, session);
ALTER TABLE shell_sessions ADD COLUMN uses INTEGER NOT NULL DEFAULT 1;
"""
"""An index of changes that can still be undone, and the number of uses of a shell session."""

MESSAGE_BEHALF = """
ALTER TABLE messages ADD COLUMN behalf TEXT NOT NULL DEFAULT '';
DROP INDEX messages_key;
CREATE UNIQUE INDEX messages_key ON messages (tenant, room, sender, behalf, key) WHERE key <> '';
"""
"""The person an AI speaks for: all keepers have the same name, but each acts for one person."""

APPROVAL_CALLS = """
ALTER TABLE approvals ADD COLUMN call TEXT NOT NULL DEFAULT '';
ALTER TABLE approvals ADD COLUMN door TEXT NOT NULL DEFAULT '';
ALTER TABLE approvals ADD COLUMN tier TEXT NOT NULL DEFAULT '';
CREATE INDEX approvals_open ON approvals (state) WHERE state IN ('pending', 'approved');
"""
"""The call that an approval was requested for, so that its denial or expiry is recorded as an outcome of that call."""

DELETED_SEGMENTS = """
ALTER TABLE segments ADD COLUMN deleted TEXT NOT NULL DEFAULT '';
"""
"""The signature of the deletion of a segment; empty while its file is kept."""

APPROVAL_LINES = """
ALTER TABLE approvals ADD COLUMN lines_added INTEGER NOT NULL DEFAULT 0;
ALTER TABLE approvals ADD COLUMN lines_removed INTEGER NOT NULL DEFAULT 0;
"""
"""How many lines the previewed effect of a call adds and removes."""

ROOM_WORKSPACES = """
ALTER TABLE rooms ADD COLUMN workspace TEXT NOT NULL DEFAULT '';
"""
"""The folder that a room works in; empty for the tenant's workspace."""

DRAFTS = """
CREATE TABLE drafts (
    tenant TEXT NOT NULL, id TEXT NOT NULL PRIMARY KEY, room TEXT NOT NULL, caller TEXT NOT NULL,
    behalf TEXT NOT NULL, name TEXT NOT NULL, workspace TEXT NOT NULL, merging TEXT NOT NULL DEFAULT '',
    last_run TEXT NOT NULL DEFAULT '', created_at REAL NOT NULL
) STRICT, WITHOUT ROWID;
"""
"""Drafts of workspaces. Their files are in the home folder."""

APPROVAL_ANSWERS = """
ALTER TABLE approvals ADD COLUMN hold_seconds REAL NOT NULL DEFAULT 0;
ALTER TABLE approvals ADD COLUMN held_by TEXT NOT NULL DEFAULT '';
ALTER TABLE approvals ADD COLUMN reason TEXT NOT NULL DEFAULT '';
ALTER TABLE decisions ADD COLUMN scope TEXT NOT NULL DEFAULT 'once';
ALTER TABLE decisions ADD COLUMN rule TEXT NOT NULL DEFAULT '';
"""
"""Who holds an approval by looking at it, why it was denied, and how long a decision lasts and for which calls."""

IMAGE_WORKSPACES = """
ALTER TABLE before_images ADD COLUMN workspace TEXT NOT NULL DEFAULT '';
"""
"""The workspace of the call that made a change; empty for changes from before rooms had workspaces."""

DRAFT_MERGES = """
ALTER TABLE drafts ADD COLUMN last_merge TEXT NOT NULL DEFAULT '';
"""
"""What a person merged of a draft last, for its agent."""

EFFORT = """
CREATE TABLE energy_charges (
    key TEXT PRIMARY KEY, tenant TEXT NOT NULL, caller TEXT NOT NULL, kind TEXT NOT NULL, amount REAL NOT NULL,
    at REAL NOT NULL, room TEXT NOT NULL DEFAULT '', subject TEXT NOT NULL DEFAULT '',
    tokens INTEGER NOT NULL DEFAULT 0, dollars REAL NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX energy_charges_caller ON energy_charges (tenant, caller, at);
CREATE INDEX energy_charges_subject ON energy_charges (tenant, caller, kind, subject, at);
CREATE TABLE energy_budgets (
    tenant TEXT NOT NULL, scope TEXT NOT NULL, id TEXT NOT NULL, unit TEXT NOT NULL, amount REAL NOT NULL,
    last_chance_used INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (tenant, scope, id, unit)
) STRICT;
CREATE TABLE conversations (
    tenant TEXT NOT NULL, agent TEXT NOT NULL, room TEXT NOT NULL, state TEXT NOT NULL, priority TEXT NOT NULL,
    asker TEXT NOT NULL, unanswered_since REAL, until REAL, wanted_level REAL, note TEXT NOT NULL DEFAULT '',
    created_at REAL NOT NULL, updated_at REAL NOT NULL, PRIMARY KEY (tenant, agent, room)
) STRICT;
CREATE TABLE subagent_requests (
    id TEXT PRIMARY KEY, tenant TEXT NOT NULL, agent TEXT NOT NULL, room TEXT NOT NULL, asker TEXT NOT NULL,
    kind TEXT NOT NULL, params TEXT NOT NULL, priority TEXT NOT NULL, state TEXT NOT NULL, progress REAL NOT NULL,
    message TEXT NOT NULL DEFAULT '', result TEXT NOT NULL DEFAULT 'null', error TEXT NOT NULL DEFAULT '',
    energy REAL NOT NULL DEFAULT 0, collected REAL NOT NULL DEFAULT 0, ticket TEXT NOT NULL DEFAULT '',
    created_at REAL NOT NULL, started_at REAL, ended_at REAL
) STRICT;
CREATE INDEX subagent_requests_agent ON subagent_requests (tenant, agent, state, created_at);
"""
"""Charges of energy, each with a unique key; budgets; the conversations and sub-agents of agents with effort."""

CHARGE_LEVELS = """
ALTER TABLE energy_charges ADD COLUMN level REAL NOT NULL DEFAULT 0;
CREATE INDEX energy_charges_room ON energy_charges (tenant, room, caller);
"""
"""The level of the pool after each charge, for its history."""

STEPS = (
    FOUNDATION,
    APPROVAL_EFFECTS,
    ACCOUNTS,
    UPSTREAM,
    SERVER_SEEN,
    BROWSERS,
    CONVERSATIONS,
    PERSONAS,
    LEDGER_COUNTS,
    BROWSER_PROOF,
    PERSONA_CALL_ASKER,
    MESSAGE_KEYS,
    SHELL_SESSIONS,
    KEEPER_WAITS,
    ACCEPTED,
    UNDO_INDEX,
    MESSAGE_BEHALF,
    APPROVAL_CALLS,
    DELETED_SEGMENTS,
    APPROVAL_LINES,
    ROOM_WORKSPACES,
    DRAFTS,
    APPROVAL_ANSWERS,
    IMAGE_WORKSPACES,
    DRAFT_MERGES,
    EFFORT,
    CHARGE_LEVELS,
)


def version(db: sqlite3.Connection) -> int:
    """The schema version of an open database. Raises Unusable if it is newer than this program supports."""
    (reached,) = db.execute("PRAGMA user_version").fetchone()
    if reached > len(STEPS):
        raise Unusable(
            f"This home folder was written by a newer Doorward (data version {reached}); "
            f"this version supports data versions up to {len(STEPS)}.",
            hint="Upgrade Doorward, or use another home folder with DOORWARD_HOME.",
        )
    return int(reached)


def migrate(db: sqlite3.Connection) -> None:
    """Migrate an open database to the newest version."""
    for number in range(version(db), len(STEPS)):
        db.executescript(f"BEGIN;\n{STEPS[number]}\nPRAGMA user_version = {number + 1};\nCOMMIT;")
