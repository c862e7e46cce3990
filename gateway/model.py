"""The values that every layer speaks of: sessions, states, outcomes, questions, replies."""

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """What a reply says about the session."""

    WORKING = "working"
    NEEDS_ANSWER = "needs_answer"
    FINISHED = "finished"
    ERROR = "error"


class Status(StrEnum):
    """What a session's own record says it is doing; a hint, never proof that a turn is over."""

    UNKNOWN = "unknown"
    IDLE = "idle"
    BUSY = "busy"
    WAITING = "waiting"
    SHELL = "shell"
    GONE = "gone"

    @property
    def is_resting(self) -> bool:
        """The turn is over as far as the record knows (`shell`: a background command still runs)."""
        return self in (Status.IDLE, Status.SHELL, Status.GONE)


class Outcome(StrEnum):
    """What became of a delivery; each only on evidence."""

    UNKNOWN = "unknown"
    ACCEPTED = "accepted"
    HELD = "held"
    DENIED = "denied"
    EXPIRED = "expired"
    REFUSED = "refused"
    DROPPED = "dropped"
    PICKED_UP = "picked_up"
    JOINED_RUNNING_TURN = "joined_running_turn"
    ANSWERED = "answered"
    FAILED = "failed"

    @property
    def is_final(self) -> bool:
        """Nothing more will become of it."""
        return self in _FINAL


_FINAL = frozenset(
    {Outcome.DENIED, Outcome.EXPIRED, Outcome.REFUSED, Outcome.DROPPED, Outcome.ANSWERED, Outcome.FAILED}
)


class QuestionKind(StrEnum):
    """How a question can be answered: `text` by the next utterance, the others in the session itself."""

    TEXT = "text"
    FORM = "form"
    PERMISSION = "permission"


@dataclass(frozen=True, slots=True)
class Question:
    """What a session asks, and what it offers to choose from."""

    kind: QuestionKind
    text: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Process:
    """A process on this machine that cannot be mistaken for a later one with the same pid."""

    pid: int
    start: str

    @property
    def key(self) -> str:
        """`pid:start`, for use as a database key."""
        return f"{self.pid}:{self.start}"


@dataclass(frozen=True, slots=True)
class Session:
    """One agent session as its runtime lists it.

    `why_not` is empty for a session that takes messages, else the name of a reason
    (a phrase key): `no_socket`, `not_ours`. `status_age_s` is how long the record has shown
    this status, as far as it says.
    """

    runtime: str
    id: str
    name: str
    directory: str
    process: Process
    status: Status = Status.UNKNOWN
    waiting_for: str = ""
    status_age_s: float = float("inf")
    registry_name: str = ""
    why_not: str = ""

    @property
    def is_live(self) -> bool:
        """Its process runs."""
        return self.status is not Status.GONE

    @property
    def takes_messages(self) -> bool:
        """It runs and can be reached."""
        return self.is_live and not self.why_not


@dataclass(frozen=True, slots=True)
class Reply:
    """What a client gets for an utterance: one sentence fit to be spoken, and the facts behind it.

    `say` is never empty. `cursor` is empty where no session was resolved.
    """

    state: State
    say: str
    session: Session | None = None
    heard: str | None = None
    more: bool = False
    cursor: str = ""
    delivery: Outcome | None = None
    question: Question | None = None
    message_id: str | None = None
