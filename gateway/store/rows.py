"""Database rows ↔ values."""

import json
import sqlite3

from gateway.agents.protocol import Mark, Position
from gateway.model import Outcome, Process, Question, QuestionKind, Session, State, Status
from gateway.store.records import Claim, ClientState, Delivery, LastReply


def client_state(row: sqlite3.Row) -> ClientState:
    return ClientState(row["session_id"], row["process"], row["spoke_session_id"], row["spoke_process"])


def mark(row: sqlite3.Row) -> Mark:
    position = Position(row["session_id"], row["mark_offset"], row["mark_print"])
    return Mark(position, row["record_id"])


def mark_values(client: str, session: Session, mark: Mark, now: float) -> tuple[object, ...]:
    where = mark.position
    known_as = (session.process.key, session.name)
    return (client, session.id, *known_as, where.offset, where.print, mark.record_id, now)


def delivery_values(claim: Claim, spoken: str, now: float) -> tuple[object, ...]:
    session, where = claim.session, claim.mark.position
    to = (session.runtime, session.id, session.name, session.directory, session.process.key)
    what = (claim.message_id, claim.nonce, claim.words, spoken, where.offset, where.print)
    return (claim.client, *to, *what, now, Outcome.UNKNOWN.value, now)


def delivery(row: sqlite3.Row) -> Delivery:
    return Delivery(
        id=row["id"],
        client=row["client"],
        session=_session(row, row["session_name"]),
        message_id=row["message_id"],
        nonce=row["nonce"],
        words=row["words"],
        words_hash=row["words_hash"],
        mark=Mark(Position(row["session_id"], row["mark_offset"], row["mark_print"]), ""),
        claimed_at=row["claimed_at"],
        outcome=Outcome(row["outcome"]),
        heard_at=row["heard_at"],
    )


def gone_session(row: sqlite3.Row) -> Session:
    return _session(row, row["name"])


def _session(row: sqlite3.Row, name: str) -> Session:
    pid, _, start = str(row["process"]).partition(":")
    return Session(
        runtime=row["runtime"],
        id=row["session_id"],
        name=name,
        directory=row["directory"],
        process=Process(int(pid or 0), start),
        status=Status.GONE,
        registry_name=name,
    )


def page_values(client: str, reply: LastReply, now: float) -> tuple[object, ...]:
    question = None
    if reply.question is not None:
        asked = reply.question
        question = json.dumps({"kind": asked.kind.value, "text": asked.text, "options": asked.options})
    said, rest = json.dumps(reply.said), json.dumps(reply.rest)
    return (client, reply.session_id, said, rest, reply.state.value, question, now)


def last_reply(row: sqlite3.Row) -> LastReply:
    question = None
    if row["question"] is not None:
        data = json.loads(row["question"])
        question = Question(QuestionKind(data["kind"]), data["text"], tuple(data["options"]))
    return LastReply(
        session_id=row["session_id"],
        said=tuple(json.loads(row["said"])),
        rest=tuple(json.loads(row["rest"] or "[]")),
        state=State(row["state"]),
        question=question,
    )
