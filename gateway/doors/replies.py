"""Replies and errors as text, JSON or speech."""

import json
from dataclasses import dataclass
from urllib.parse import quote

from gateway.errors import GatewayError
from gateway.model import Outcome, Reply, State
from gateway.phrases import Phrases

_HEADER_LIMIT_BYTES = 2048
_RETRY_AFTER_S = {"too_many_failures": "60", "busy": "5"}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a door writes: a status, headers, the sentence, and the whole of it as JSON."""

    status: int
    headers: dict[str, str]
    say: str
    data: dict[str, object]


def of_reply(reply: Reply) -> Answer:
    """A reply; all JSON keys are always there."""
    headers = {"X-Voice-State": reply.state.value}
    if reply.session is not None:
        headers["X-Voice-Session"] = _quoted(reply.session.name)
        headers["X-Voice-Cursor"] = _quoted(reply.cursor)
        headers["X-Voice-Heard"] = _quoted(reply.heard or "")
    return Answer(200, headers, reply.say, _data(reply))


def of_error(error: GatewayError, phrases: Phrases) -> Answer:
    """An error's sentence; the exception's own text is never in it."""
    values: dict[str, object] = dict(error.fields)
    if error.candidates:
        values["candidates"] = phrases.either(error.candidates)
    say = phrases.say(error.code, turn=0, **values)
    data = _data(Reply(State.ERROR, say)) | {"code": error.code}
    if error.status in (404, 409):
        data["candidates"] = list(error.candidates)
    headers = {"X-Voice-State": State.ERROR.value}
    if error.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if error.code in _RETRY_AFTER_S:
        headers["Retry-After"] = _RETRY_AFTER_S[error.code]
    return Answer(error.status, headers, say, data)


def body(answer: Answer, form: str) -> tuple[bytes, str]:
    """The bytes and the content type of an answer as `text` or `json`."""
    if form == "json":
        text = json.dumps(answer.data, ensure_ascii=False)
        return text.encode("utf-8", "replace"), "application/json; charset=utf-8"
    return answer.say.encode("utf-8", "replace"), "text/plain; charset=utf-8"


def _quoted(text: str) -> str:
    """Percent-encoded UTF-8, cut between characters where clients stop taking a header."""
    kept, length = [], 0
    for char in text[:_HEADER_LIMIT_BYTES]:
        piece = quote(char, errors="replace")
        length += len(piece)
        if length > _HEADER_LIMIT_BYTES:
            break
        kept.append(piece)
    return "".join(kept)


def _data(reply: Reply) -> dict[str, object]:
    session, question = reply.session, reply.question
    return {
        "state": reply.state.value,
        "session": None if session is None else {"id": session.id, "name": session.name},
        "say": reply.say,
        "heard": reply.heard,
        "more": reply.more,
        "cursor": reply.cursor,
        "delivery": _outcome(reply.delivery),
        "question": None
        if question is None
        else {"kind": question.kind.value, "text": question.text, "options": list(question.options)},
        "message_id": reply.message_id,
    }


def _outcome(outcome: Outcome | None) -> str | None:
    return None if outcome is None else outcome.value
