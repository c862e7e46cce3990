"""What a client says, and what the dialog tells it while it works on that."""

from dataclasses import dataclass

from gateway.model import Reply
from gateway.store import Heard


@dataclass(frozen=True, slots=True)
class Switches:
    """Per-request switches of the relay note."""

    relay_discipline: bool = True
    plain_questions: bool = True


@dataclass(frozen=True, slots=True)
class Utterance:
    """One request of a client, whatever door it came through.

    With words or a recording it is a prompt; without both it asks what is new. `session` is a
    name as spoken ("" for the client's own choice); `goes_back` sends to the session that spoke
    last instead of the current one. `wait_s` counts from `began_at` on the monotonic clock.
    `since` is a cursor the client keeps itself.
    """

    client: str
    wait_s: float
    began_at: float
    words: str = ""
    recording: bytes | None = None
    session: str = ""
    goes_back: bool = False
    request_id: str | None = None
    is_joining: bool = True
    since: str | None = None
    expect_id: str | None = None
    is_literal: bool = False
    switches: Switches = Switches()


@dataclass(frozen=True, slots=True)
class WordsHeard:
    """What a recording was understood as; `dropped` are decoder artefacts that were left out."""

    words: str
    dropped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Progress:
    """The session is at work; a sentence fit to be spoken, without the marker."""

    say: str


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of the reply, in order."""

    say: str


@dataclass(frozen=True, slots=True)
class Settled:
    """The reply. A door writes it inside `Dialog.handing_over(heard)`."""

    reply: Reply
    heard: Heard


Event = WordsHeard | Progress | Sentence | Settled
