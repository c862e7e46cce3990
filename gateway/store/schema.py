"""The database's schema, as numbered steps: `PRAGMA user_version` says which of them were taken.

A step is never changed once released; a new one is added.
"""

import sqlite3

STEPS: tuple[str, ...] = (
    """
    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;

    CREATE TABLE clients (
        client TEXT PRIMARY KEY,
        session_id TEXT NOT NULL DEFAULT '',
        process TEXT NOT NULL DEFAULT '',
        spoke_session_id TEXT NOT NULL DEFAULT '',
        spoke_process TEXT NOT NULL DEFAULT '',
        preferences TEXT NOT NULL DEFAULT '{}',
        seen_at REAL NOT NULL
    ) STRICT;

    CREATE TABLE deliveries (
        id INTEGER PRIMARY KEY,
        client TEXT NOT NULL,
        runtime TEXT NOT NULL,
        session_id TEXT NOT NULL,
        session_name TEXT NOT NULL,
        directory TEXT NOT NULL,
        process TEXT NOT NULL,
        message_id TEXT NOT NULL UNIQUE,
        nonce TEXT NOT NULL,
        words TEXT,
        words_hash TEXT NOT NULL,
        mark_offset INTEGER NOT NULL,
        mark_print TEXT NOT NULL,
        claimed_at REAL NOT NULL,
        outcome TEXT NOT NULL,
        outcome_at REAL NOT NULL,
        heard_at REAL,
        settled_at REAL
    ) STRICT;
    CREATE TABLE requests (
        client TEXT NOT NULL,
        request_id TEXT NOT NULL,
        delivery_id INTEGER NOT NULL REFERENCES deliveries (id),
        claimed_at REAL NOT NULL,
        PRIMARY KEY (client, request_id)
    ) STRICT;
    CREATE INDEX deliveries_recent ON deliveries (client, session_id, id);

    CREATE TABLE cursors (
        client TEXT NOT NULL,
        session_id TEXT NOT NULL,
        process TEXT NOT NULL,
        session_name TEXT NOT NULL,
        mark_offset INTEGER NOT NULL,
        mark_print TEXT NOT NULL,
        record_id TEXT NOT NULL,
        moved_at REAL NOT NULL,
        PRIMARY KEY (client, session_id)
    ) STRICT;

    CREATE TABLE pages (
        client TEXT PRIMARY KEY,
        session_id TEXT NOT NULL,
        said TEXT,
        rest TEXT,
        state TEXT NOT NULL,
        question TEXT,
        written_at REAL NOT NULL
    ) STRICT;

    CREATE TABLE sessions (
        session_id TEXT PRIMARY KEY,
        runtime TEXT NOT NULL,
        name TEXT NOT NULL,
        directory TEXT NOT NULL,
        process TEXT NOT NULL,
        seen_at REAL NOT NULL
    ) STRICT;

    CREATE TABLE bindings (
        process TEXT NOT NULL,
        entry TEXT NOT NULL,
        is_match INTEGER NOT NULL,
        PRIMARY KEY (process, entry)
    ) STRICT;
    """,
)


def migrate(db: sqlite3.Connection) -> None:
    """Take the steps that this database has not seen, all or none; two processes may try at once.

    Raises `NewerSchemaError` for a database that a later version wrote.
    """
    db.execute("BEGIN IMMEDIATE")
    try:
        version = int(db.execute("PRAGMA user_version").fetchone()[0])
        if version > len(STEPS):
            raise NewerSchemaError
        for step in STEPS[version:]:
            for statement in filter(str.strip, step.split(";")):
                db.execute(statement)
        db.execute(f"PRAGMA user_version = {len(STEPS)}")
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


class NewerSchemaError(Exception):
    """The database was written by a later version of Codriver."""
