"""What the store keeps, as values."""

from dataclasses import dataclass

from gateway.agents.protocol import Mark
from gateway.model import Outcome, Question, Session, State


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message to one session. `words` is None once it is older than the settings keep words.

    `mark` is where the transcript ended when it was sent. `heard_at` is when its answer was
    written to the client whole.
    """

    id: int
    client: str
    session: Session
    message_id: str
    nonce: str
    words: str | None
    words_hash: str
    mark: Mark
    claimed_at: float
    outcome: Outcome
    heard_at: float | None


@dataclass(frozen=True, slots=True)
class Claim:
    """A message that is about to be sent. `join_s` is 0 where the same words are a new message."""

    client: str
    request_id: str | None
    session: Session
    message_id: str
    nonce: str
    words: str
    mark: Mark
    join_s: float


@dataclass(frozen=True, slots=True)
class LastReply:
    """What a client was told last: the whole of it, and what "more" would read."""

    session_id: str
    said: tuple[str, ...]
    rest: tuple[str, ...]
    state: State
    question: Question | None = None


@dataclass(frozen=True, slots=True)
class ClientState:
    """Where a client's conversation stands: its current session, and the session it heard last."""

    session_id: str = ""
    process: str = ""
    spoke_session_id: str = ""
    spoke_process: str = ""


@dataclass(frozen=True, slots=True)
class Heard:
    """What is stored once a reply was written whole."""

    client: str
    session: Session | None = None
    mark: Mark | None = None
    reply: LastReply | None = None
    delivery_ids: tuple[int, ...] = ()
    is_answer: bool = False
