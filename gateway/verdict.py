"""Is a turn over, and how did it end? Decided from the transcript; a session's status only helps.

The status turns idle up to 130 ms before the last text is on disk (CLI 2.1.332), so it
never proves an end by itself. A `turn_duration` line without pending agents, an API
error and an interruption do. Without such a line a turn has ended when its last record
is a text, no tool call is open, the status rests, and nothing came for half a second.
"""

from dataclasses import dataclass
from enum import StrEnum

from gateway.agents.turns import Ending, LastRecord, Turn
from gateway.model import Session, Status

QUIET_S = 0.5
"""How long nothing may have been appended where only quiet shows the end."""

UNSURE_QUIET_S = 3.0
"""The same where the record says less than it should."""

SILENT_QUIET_S = 5.0
"""How long a resting session may leave its work without an answer before that is said."""

_ENDED = (Ending.DONE, Ending.API_ERROR, Ending.INTERRUPTED, Ending.SUPERSEDED)


class Waiting(StrEnum):
    """What a session that shows the status `waiting` waits for."""

    FORM = "form"
    PERMISSION = "permission"
    HELD = "held"
    DIALOG = "dialog"


class End(StrEnum):
    """How a turn that is over ended."""

    ANSWERED = "answered"
    EMPTY = "empty"
    REFUSED = "refused"
    CUT = "cut"
    API_ERROR = "api_error"
    INTERRUPTED = "interrupted"
    DISMISSED = "dismissed"
    DIED = "died"


@dataclass(frozen=True, slots=True)
class Situation:
    """What was seen of a session at one moment."""

    session: Session
    turn: Turn | None
    quiet_s: float


def has_ended(situation: Situation) -> bool:
    """The turn is over, judged from the transcript."""
    turn, status = situation.turn, situation.session.status
    if turn is None:
        return False
    if turn.ending in _ENDED:
        return True
    if status is Status.GONE:
        return situation.quiet_s >= QUIET_S
    if status in (Status.BUSY, Status.WAITING) or turn.open_tools:
        return False
    return situation.quiet_s >= _needed_quiet_s(turn, status)


def _needed_quiet_s(turn: Turn, status: Status) -> float:
    if turn.last is not LastRecord.TEXT or turn.texts[-1].stop_reason in ("tool_use", "max_tokens"):
        return SILENT_QUIET_S
    return QUIET_S if status.is_resting else UNSURE_QUIET_S


def end_of(turn: Turn, session: Session) -> End:
    """How a turn that has ended did end."""
    answer = turn.answer()
    if turn.ending is Ending.API_ERROR:
        return End.CUT if turn.is_cut and answer else End.API_ERROR
    if turn.ending is Ending.INTERRUPTED or (answer and answer[-1].is_aborted):
        is_form = bool(turn.tools) and turn.tools[-1].name == FORM_TOOL and not answer
        return End.DISMISSED if is_form else End.INTERRUPTED
    if turn.ending is None and session.status is Status.GONE and not _is_whole(turn):
        return End.DIED
    if not answer:
        return End.EMPTY
    if answer[-1].stop_reason == "refusal":
        return End.REFUSED
    return End.CUT if answer[-1].stop_reason == "max_tokens" else End.ANSWERED


def _is_whole(turn: Turn) -> bool:
    if turn.last is not LastRecord.TEXT or turn.open_tools:
        return False
    return turn.texts[-1].stop_reason not in ("tool_use", "max_tokens")


def waiting_for(situation: Situation) -> Waiting | None:
    """What the session waits for that nobody can give from here; None where it does not wait."""
    session, turn = situation.session, situation.turn
    open_tools = turn.open_tools if turn else ()
    has_form = any(tool.name == FORM_TOOL for tool in open_tools)
    if session.status is not Status.WAITING:
        # A status that lags behind: the form stands in the transcript and nothing moves.
        is_stuck = session.is_live and not session.status.is_resting and situation.quiet_s >= UNSURE_QUIET_S
        return Waiting.FORM if has_form and is_stuck and session.status is not Status.BUSY else None
    if session.waiting_for == "dialog open":
        return Waiting.DIALOG
    if has_form:
        return Waiting.FORM
    if open_tools and session.waiting_for != "input needed":
        return Waiting.PERMISSION
    if session.status_age_s < QUIET_S:
        # The line with the tool call can be flushed a moment after the status.
        return None
    return Waiting.FORM if session.waiting_for == "input needed" else Waiting.HELD


FORM_TOOL = "AskUserQuestion"
"""The tool call behind a question form."""
