"""Is a turn over, and how did it end? The transcript decides; the status only helps."""

import math

import pytest

from gateway.agents.turns import Ending, LastRecord, Prompt, PromptKind, Text, ToolUse, Turn
from gateway.model import Process, Session, Status
from gateway.verdict import End, Situation, Waiting, end_of, has_ended, waiting_for


def session(status: Status = Status.IDLE, waiting: str = "", age_s: float = math.inf) -> Session:
    return Session("x", "s", "demo", "/w", Process(1, "1"), status, waiting, age_s)


def turn(
    *texts: Text,
    tools: tuple[ToolUse, ...] = (),
    last: LastRecord | None = None,
    ending: Ending | None = None,
    **more: object,
) -> Turn:
    last = last or (LastRecord.TEXT if texts else LastRecord.PROMPT)
    return Turn(0, 100, (Prompt(PromptKind.HUMAN, 0),), texts, 0, tools, last, ending, **more)  # type: ignore[arg-type]


def said(words: str = "Done.", stop_reason: str = "end_turn", is_aborted: bool = False) -> Text:
    return Text(10, 20, words, stop_reason=stop_reason, is_aborted=is_aborted)


OPEN = ToolUse("t", "Bash", {})
FORM = ToolUse("f", "AskUserQuestion", {})


@pytest.mark.parametrize("status", list(Status))
@pytest.mark.parametrize("ending", [Ending.DONE, Ending.API_ERROR, Ending.INTERRUPTED, Ending.SUPERSEDED])
def test_an_end_in_the_transcript_is_one_whatever_the_status_says(status: Status, ending: Ending) -> None:
    assert has_ended(Situation(session(status), turn(said(), ending=ending), 0.0))


@pytest.mark.parametrize("quiet_s", [0.0, 1000.0])
def test_agents_at_work_are_no_end(quiet_s: float) -> None:
    assert not has_ended(Situation(session(Status.BUSY), turn(said(), ending=Ending.AGENTS_PENDING), quiet_s))


@pytest.mark.parametrize(
    ("status", "what", "ends_after_s"),
    [
        (Status.IDLE, turn(said()), 0.5),
        (Status.SHELL, turn(said()), 0.5),
        (Status.GONE, turn(said()), 0.5),
        (Status.IDLE, turn(said(stop_reason="")), 0.5),
        (Status.UNKNOWN, turn(said()), 3.0),
        (Status.IDLE, turn(said(stop_reason="tool_use")), 5.0),
        (Status.IDLE, turn(said(stop_reason="max_tokens")), 5.0),
        (Status.IDLE, turn(), 5.0),
        (Status.IDLE, turn(said(), last=LastRecord.ACTIVITY), 5.0),
        (Status.BUSY, turn(said()), math.inf),
        (Status.WAITING, turn(said()), math.inf),
        (Status.IDLE, turn(tools=(OPEN,), last=LastRecord.ACTIVITY), math.inf),
    ],
)
def test_without_a_last_line_only_quiet_shows_an_end(status: Status, what: Turn, ends_after_s: float) -> None:
    just_before = min(ends_after_s, 1e6) - 0.01
    assert not has_ended(Situation(session(status), what, just_before))
    if math.isfinite(ends_after_s):
        assert has_ended(Situation(session(status), what, ends_after_s))


def test_nothing_is_no_turn_that_ended() -> None:
    assert not has_ended(Situation(session(), None, 1000.0))


@pytest.mark.parametrize(
    ("what", "status", "end"),
    [
        (turn(said(), ending=Ending.DONE), Status.IDLE, End.ANSWERED),
        (turn(ending=Ending.DONE), Status.IDLE, End.EMPTY),
        (turn(said("  \n"), ending=Ending.DONE), Status.IDLE, End.EMPTY),
        (turn(said(stop_reason="refusal"), ending=Ending.DONE), Status.IDLE, End.REFUSED),
        (turn(said(stop_reason="max_tokens"), ending=Ending.DONE), Status.IDLE, End.CUT),
        (turn(ending=Ending.API_ERROR), Status.IDLE, End.API_ERROR),
        (turn(said(), ending=Ending.API_ERROR, is_cut=True), Status.IDLE, End.CUT),
        (turn(ending=Ending.API_ERROR, is_cut=True), Status.IDLE, End.API_ERROR),
        (turn(said(), ending=Ending.INTERRUPTED), Status.IDLE, End.INTERRUPTED),
        (turn(said(is_aborted=True), ending=Ending.SUPERSEDED), Status.BUSY, End.INTERRUPTED),
        (turn(tools=(FORM,), ending=Ending.INTERRUPTED), Status.IDLE, End.DISMISSED),
        (turn(tools=(OPEN,), ending=Ending.INTERRUPTED), Status.IDLE, End.INTERRUPTED),
        (turn(said()), Status.GONE, End.ANSWERED),
        (turn(said(stop_reason="tool_use")), Status.GONE, End.DIED),
        (turn(tools=(OPEN,), last=LastRecord.ACTIVITY), Status.GONE, End.DIED),
        (turn(), Status.GONE, End.DIED),
    ],
)
def test_how_a_turn_ended(what: Turn, status: Status, end: End) -> None:
    assert end_of(what, session(status)) is end


@pytest.mark.parametrize(
    ("who", "what", "quiet_s", "waits_for"),
    [
        (session(Status.WAITING, "input needed"), turn(tools=(FORM,)), 0.0, Waiting.FORM),
        (session(Status.WAITING, "permission prompt"), turn(tools=(FORM,)), 0.0, Waiting.FORM),
        (session(Status.WAITING, "permission prompt"), turn(tools=(OPEN,)), 0.0, Waiting.PERMISSION),
        (session(Status.WAITING, "something new"), turn(tools=(OPEN,)), 0.0, Waiting.PERMISSION),
        (session(Status.WAITING, "permission prompt"), turn(said()), 9.0, Waiting.HELD),
        (session(Status.WAITING, "permission prompt"), None, 9.0, Waiting.HELD),
        (session(Status.WAITING, "input needed"), turn(said()), 9.0, Waiting.FORM),
        (session(Status.WAITING, "permission prompt", 0.1), turn(said()), 0.0, None),
        (session(Status.WAITING, "dialog open"), turn(tools=(OPEN,)), 0.0, Waiting.DIALOG),
        (session(Status.BUSY), turn(tools=(FORM,)), 9.0, None),
        (session(Status.IDLE), turn(tools=(FORM,)), 9.0, None),
        (session(Status.UNKNOWN), turn(tools=(FORM,)), 9.0, Waiting.FORM),
        (session(Status.UNKNOWN), turn(tools=(FORM,)), 1.0, None),
        (session(Status.GONE), turn(tools=(FORM,)), 9.0, None),
    ],
)
def test_what_a_session_waits_for(
    who: Session, what: Turn | None, quiet_s: float, waits_for: Waiting | None
) -> None:
    assert waiting_for(Situation(who, what, quiet_s)) is waits_for
