"""Reads and writes of what survives a restart. Every method is one transaction."""

import hashlib
import re
import secrets
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from gateway.agents.protocol import Mark
from gateway.clock import Clock, SystemClock
from gateway.errors import Conflict
from gateway.model import Outcome, Session
from gateway.store import rows
from gateway.store.database import Database
from gateway.store.records import Claim, ClientState, Delivery, Heard, LastReply

_SENTENCE_MARKS = re.compile(r"[.,;:!?…]+(?=\s|$)")
_REQUEST_DAYS = 7.0
UNSETTLED_S = 15 * 60.0
"""A message older than this holds back no other."""

_NOT_SENT = (Outcome.FAILED, Outcome.DENIED, Outcome.EXPIRED, Outcome.REFUSED, Outcome.DROPPED)


def words_hash(words: str) -> str:
    """The same for words that are said alike: case, blanks and sentence marks do not count.

    Marks inside a word do: "v1.2" is not "v12", nor "C++" "C".
    """
    spoken = " ".join(_SENTENCE_MARKS.sub("", words.casefold()).split())
    return hashlib.sha256((spoken or words).encode("utf-8", "surrogatepass")).hexdigest()


class Store:
    """The service's memory. Raises StateUnusableError when it cannot be opened."""

    def __init__(self, state_dir: Path, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._database = Database(state_dir)

    def close(self) -> None:
        """Write what is pending and close the file."""
        self._database.close()

    async def cursor_key(self) -> bytes:
        """The key that tells our own cursors from made-up ones; made once, kept for good."""

        def work(db: sqlite3.Connection) -> bytes:
            db.execute("INSERT OR IGNORE INTO meta VALUES ('cursor_key', ?)", (secrets.token_hex(16),))
            value: str = db.execute("SELECT value FROM meta WHERE key = 'cursor_key'").fetchone()[0]
            return bytes.fromhex(value)

        return await self._database.run(work)

    async def client(self, client: str) -> ClientState:
        """Where this client's conversation stands."""

        def work(db: sqlite3.Connection) -> ClientState:
            row = db.execute("SELECT * FROM clients WHERE client = ?", (client,)).fetchone()
            return ClientState() if row is None else rows.client_state(row)

        return await self._database.run(work)

    async def choose(self, client: str, session: Session) -> None:
        """Make this the client's current session."""
        values = (client, session.id, session.process.key, self._clock.wall())
        await self._database.run(lambda db: db.execute(_CHOOSE, values))

    async def claim(self, claim: Claim) -> tuple[Delivery, bool]:
        """The delivery for this message, and whether it is new; only a new one may be sent.

        An id that was used before, and (for `join_s` seconds) the same words whose answer was
        not yet heard, join the first. Raises Conflict where the id was used for other words.
        """
        return await self._database.run(lambda db: self._claim(db, claim))

    def _claim(self, db: sqlite3.Connection, claim: Claim) -> tuple[Delivery, bool]:
        now, spoken = self._clock.wall(), words_hash(claim.words)
        if claim.request_id is not None:
            row = db.execute(_BY_REQUEST, (claim.client, claim.request_id)).fetchone()
            if row is not None:
                if row["words_hash"] != spoken or not _is_same(row, claim.session):
                    raise Conflict("id_clash")
                return rows.delivery(row), False
        row = self._same_words(db, claim, spoken, now)
        is_new = row is None
        if row is None:
            row = db.execute(_INSERT_DELIVERY, rows.delivery_values(claim, spoken, now)).fetchone()
        if claim.request_id is not None:
            db.execute(
                "INSERT INTO requests VALUES (?, ?, ?, ?)", (claim.client, claim.request_id, row["id"], now)
            )
        return rows.delivery(row), is_new

    def _same_words(
        self, db: sqlite3.Connection, claim: Claim, spoken: str, now: float
    ) -> sqlite3.Row | None:
        recent = db.execute(_RECENT_WORDS, (claim.client, spoken, now - claim.join_s, now)).fetchall()
        for row in recent if claim.join_s > 0 else ():
            if _is_same(row, claim.session) and Outcome(row["outcome"]) not in _NOT_SENT:
                found: sqlite3.Row = row
                return found
        return None

    async def record(self, delivery_id: int, outcome: Outcome) -> None:
        """Write down what became of a delivery; what is final stays."""
        values = (outcome.value, self._clock.wall(), delivery_id, *(o.value for o in Outcome if o.is_final))
        await self._database.run(lambda db: db.execute(_RECORD, values))

    async def delivery(self, client: str, request_id: str) -> Delivery | None:
        """The delivery that this client asked for under this id, or that has this message id."""

        def work(db: sqlite3.Connection) -> Delivery | None:
            row = db.execute(_BY_REQUEST, (client, request_id)).fetchone()
            row = row or db.execute(_BY_MESSAGE, (client, request_id)).fetchone()
            return None if row is None else rows.delivery(row)

        return await self._database.run(work)

    async def waiting(self, client: str, session: Session) -> Sequence[Delivery]:
        """This client's deliveries to this session whose answer it has not heard, oldest first."""

        def work(db: sqlite3.Connection) -> list[Delivery]:
            found = db.execute(_WAITING, (client, session.id, session.process.key)).fetchall()
            return [rows.delivery(row) for row in found]

        return await self._database.run(work)

    async def unsettled(self, delivery: Delivery) -> Sequence[Delivery]:
        """Earlier deliveries to the same process that something may still come of, oldest first."""
        since = self._clock.wall() - UNSETTLED_S
        final = [outcome.value for outcome in Outcome if outcome.is_final]
        values = (delivery.session.process.key, delivery.id, since, *final)

        def work(db: sqlite3.Connection) -> list[Delivery]:
            return [rows.delivery(row) for row in db.execute(_UNSETTLED, values).fetchall()]

        return await self._database.run(work)

    async def settle(self, delivery_id: int) -> None:
        """Nothing more will come of this delivery; the next one need not wait for it."""
        now = self._clock.wall()
        await self._database.run(
            lambda db: db.execute(
                "UPDATE deliveries SET settled_at = ? WHERE id = ? AND settled_at IS NULL", (now, delivery_id)
            )
        )

    async def mark(self, client: str, session: Session) -> Mark | None:
        """Where this client stopped listening: in this session, else in what its process or name held before.

        A conversation that was resumed or forked has a new id and a copy of the old lines.
        """
        values = (client, session.id, session.process.key, session.name, session.id, session.process.key)

        def work(db: sqlite3.Connection) -> Mark | None:
            row = db.execute(_MARK, values).fetchone()
            return None if row is None else rows.mark(row)

        return await self._database.run(work)

    async def set_mark(self, client: str, session: Session, mark: Mark) -> None:
        """Begin listening here, unless a place is known already."""
        values = rows.mark_values(client, session, mark, self._clock.wall())
        await self._database.run(lambda db: db.execute(_BEGIN_MARK, values))

    async def heard(self, heard: Heard) -> None:
        """A reply was written whole: move the cursor, keep the page, close the deliveries."""
        now = self._clock.wall()

        def work(db: sqlite3.Connection) -> None:
            if heard.session is not None and heard.mark is not None:
                db.execute(_MOVE_MARK, rows.mark_values(heard.client, heard.session, heard.mark, now))
            if heard.session is not None and heard.is_answer:
                spoke = (heard.client, heard.session.id, heard.session.process.key, now)
                db.execute(_SPOKE, spoke)
            if heard.reply is not None:
                db.execute(_PAGE, rows.page_values(heard.client, heard.reply, now))
            for delivery_id in heard.delivery_ids:
                db.execute(
                    "UPDATE deliveries SET heard_at = ?, settled_at = coalesce(settled_at, ?) WHERE id = ?",
                    (now, now, delivery_id),
                )

        await self._database.run(work)

    async def last_reply(self, client: str) -> LastReply | None:
        """What this client was told last, for "repeat" and "more"."""

        def work(db: sqlite3.Connection) -> LastReply | None:
            row = db.execute("SELECT * FROM pages WHERE client = ?", (client,)).fetchone()
            return None if row is None or row["said"] is None else rows.last_reply(row)

        return await self._database.run(work)

    async def remember(self, sessions: Sequence[Session]) -> None:
        """Keep names of sessions, so that a dead one's last answer can still be asked for."""
        now = self._clock.wall()
        values = [(s.id, s.runtime, s.name, s.directory, s.process.key, now) for s in sessions]
        await self._database.run(lambda db: db.executemany(_REMEMBER, values))

    async def remembered(self) -> Sequence[Session]:
        """Sessions seen before, the latest first; as gone, whatever they are now."""

        def work(db: sqlite3.Connection) -> list[Session]:
            found = db.execute("SELECT * FROM sessions ORDER BY seen_at DESC LIMIT 200").fetchall()
            return [rows.gone_session(row) for row in found]

        return await self._database.run(work)

    async def bind(self, decided: Sequence[tuple[str, str, bool]]) -> dict[tuple[str, str], bool]:
        """Keep what a rule entry decided about a process, unless that was decided before; all decisions."""

        def work(db: sqlite3.Connection) -> dict[tuple[str, str], bool]:
            db.executemany("INSERT OR IGNORE INTO bindings VALUES (?, ?, ?)", decided)
            found = db.execute("SELECT * FROM bindings").fetchall()
            return {(row["process"], row["entry"]): bool(row["is_match"]) for row in found}

        return await self._database.run(work)

    async def forget(self, keep_days: float) -> None:
        """Drop words and answers that are older than `keep_days`; hashes and outcomes stay.

        The ids of requests are kept for seven days whatever the settings say.
        """
        now = self._clock.wall()
        before, requests_before = now - keep_days * 86400, now - max(keep_days, _REQUEST_DAYS) * 86400

        def work(db: sqlite3.Connection) -> None:
            db.execute("UPDATE deliveries SET words = NULL WHERE claimed_at < ?", (before,))
            db.execute(
                "UPDATE pages SET said = NULL, rest = NULL, question = NULL WHERE written_at < ?", (before,)
            )
            db.execute("DELETE FROM requests WHERE claimed_at < ?", (requests_before,))
            db.execute("DELETE FROM sessions WHERE seen_at < ?", (before,))

        await self._database.run(work)


def _is_same(row: sqlite3.Row, session: Session) -> bool:
    return bool(row["session_id"] == session.id or row["process"] == session.process.key)


_CHOOSE = """
INSERT INTO clients (client, session_id, process, seen_at) VALUES (?, ?, ?, ?)
ON CONFLICT (client) DO UPDATE
SET session_id = excluded.session_id, process = excluded.process, seen_at = excluded.seen_at
"""
_SPOKE = """
INSERT INTO clients (client, spoke_session_id, spoke_process, seen_at) VALUES (?, ?, ?, ?)
ON CONFLICT (client) DO UPDATE
SET spoke_session_id = excluded.spoke_session_id, spoke_process = excluded.spoke_process,
    seen_at = excluded.seen_at
"""
_BY_REQUEST = """
SELECT deliveries.* FROM requests JOIN deliveries ON deliveries.id = requests.delivery_id
WHERE requests.client = ? AND requests.request_id = ?
"""
_BY_MESSAGE = "SELECT * FROM deliveries WHERE client = ? AND message_id = ?"
_RECENT_WORDS = """
SELECT * FROM deliveries
WHERE client = ? AND words_hash = ? AND claimed_at > ? AND claimed_at <= ? AND heard_at IS NULL
ORDER BY id DESC
"""
_INSERT_DELIVERY = """
INSERT INTO deliveries (client, runtime, session_id, session_name, directory, process, message_id, nonce,
    words, words_hash, mark_offset, mark_print, claimed_at, outcome, outcome_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING *
"""
_RECORD = f"""
UPDATE deliveries SET outcome = ?, outcome_at = ? WHERE id = ?
AND outcome NOT IN ({", ".join("?" for outcome in Outcome if outcome.is_final)})
"""  # noqa: S608 - only question marks are put in
_WAITING = """
SELECT * FROM deliveries WHERE client = ? AND (session_id = ? OR process = ?) AND heard_at IS NULL
ORDER BY id
"""
_UNSETTLED = f"""
SELECT * FROM deliveries WHERE process = ? AND id < ? AND claimed_at > ? AND settled_at IS NULL
AND outcome NOT IN ({", ".join("?" for outcome in Outcome if outcome.is_final)})
ORDER BY id
"""  # noqa: S608 - only question marks are put in
_MARK = """
SELECT * FROM cursors WHERE client = ? AND (session_id = ? OR process = ? OR session_name = ?)
ORDER BY session_id = ? DESC, process = ? DESC, moved_at DESC LIMIT 1
"""
_BEGIN_MARK = "INSERT OR IGNORE INTO cursors VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_MOVE_MARK = "INSERT OR REPLACE INTO cursors VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_PAGE = "INSERT OR REPLACE INTO pages VALUES (?, ?, ?, ?, ?, ?, ?)"
_REMEMBER = """
INSERT OR REPLACE INTO sessions (session_id, runtime, name, directory, process, seen_at)
VALUES (?, ?, ?, ?, ?, ?)
"""
