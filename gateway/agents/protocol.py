"""The seam behind which agent runtimes live: one module or folder each, under `agents/`.

A runtime lists its sessions, takes a message into one of them, and lets a session's
transcript be followed. What it cannot do it says in its capabilities; the dialog
asks those, never the runtime's name.
"""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from gateway.agents.turns import Turn
from gateway.model import Outcome, Session


class Priority(StrEnum):
    """When a message may reach the model: after the running turn, or at once in its place."""

    LATER = "later"
    NOW = "now"


@dataclass(frozen=True, slots=True)
class Message:
    """What is sent: `content` is the driver's words with the relay note, `id` a lower-case UUID.

    `nonce` is the one in the note's fence, by which the message is found again.
    """

    id: str
    content: str
    nonce: str
    priority: Priority = Priority.LATER


class Sent(StrEnum):
    """What is known after a send: nothing left us, all of it did, or it broke in between."""

    NOT_WRITTEN = "not_written"
    WRITTEN = "written"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a session's transcript: bytes from its start, and a print of what stands before it.

    The print (hex) tells a transcript that was replaced from one that grew.
    """

    session_id: str
    offset: int
    print: str

    @classmethod
    def start_of(cls, session_id: str) -> "Position":
        """The beginning, which every transcript has; also of one that does not exist yet."""
        return cls(session_id, 0, "")


@dataclass(frozen=True, slots=True)
class Mark:
    """Where a client stopped listening: the position, and the id of the last record it heard.

    The record id finds the place again in a copy of the conversation (a resumed or forked session).
    """

    position: Position
    record_id: str


@dataclass(frozen=True, slots=True)
class View:
    """A session's transcript at one moment.

    `turns` are those that end after the earlier of the marks asked for, oldest first; without
    a mark that can be found, the last one only. `last` is the last turn, whether that is asked for
    or not. `end` is behind the last whole line. `quiet_s` is how long nothing was appended.
    `queued` holds the nonces of messages seen in the session's own queue. `heard_to` is where the
    mark `since` stands in this file, None where there is none or it cannot be found.
    """

    turns: tuple[Turn, ...]
    last: Turn | None
    end: Position
    quiet_s: float
    queued: frozenset[str] = frozenset()
    heard_to: int | None = None


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a runtime can do beyond taking a message."""

    interrupts: bool
    gives_receipts: bool


class Changes(Protocol):
    """Says when it is worth looking again."""

    async def wait(self, timeout_s: float) -> None:
        """Return once something changed since the last wait, or after `timeout_s` seconds at the latest."""


class Follower(Protocol):
    """Follows one session's transcript."""

    async def view(self, since: Mark | None, sent: Mark | None = None) -> View:
        """Read what is new and show the turns after the marks.

        `since` is where a client stopped listening, `sent` where the transcript ended when the
        message went out whose turn must be among them; where that place is lost, all turns are.
        """

    async def position(self, offset: int) -> Position:
        """The position at this offset of the transcript as it is now."""

    def changes(self) -> AbstractAsyncContextManager["Changes"]:
        """While inside, changes of the session's files can be waited for."""


class Agent(Protocol):
    """One agent runtime."""

    name: str
    capabilities: Capabilities

    async def list(self) -> Sequence[Session]:
        """All live sessions, those that cannot be reached with the reason."""

    async def look(self, session: Session) -> Session:
        """The same session now: its status, and its id if the conversation in its process changed.

        A session whose process is gone comes back with the status `gone`.
        """

    async def send(self, session: Session, message: Message) -> Sent:
        """Put one message into the session's inbox, once."""

    def receipt(self, message_id: str) -> Outcome | None:
        """What the session itself reported about a message, if anything."""

    def follow(self, session: Session) -> Follower:
        """Follow this session's transcript; also one whose process is gone."""

    async def close(self) -> None:
        """Let go of sockets and threads."""
