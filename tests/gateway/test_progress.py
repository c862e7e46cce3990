"""What a session is doing, in a few words, from its open tool call and the number of its steps."""

import pytest

from gateway.agents.turns import LastRecord, ToolUse, Turn
from gateway.model import Process, Session, Status
from gateway.phrases import Phrases
from gateway.progress import MODEL_SILENT_S, describe
from gateway.verdict import Situation

PHRASES = Phrases.load("en")
SESSION = Session("x", "s", "demo", "/w", Process(1, "1"), Status.BUSY)


def said(*tools: tuple[str, bool], quiet_s: float = 0.0) -> str:
    uses = tuple(ToolUse(f"{i}", name, {}, is_open) for i, (name, is_open) in enumerate(tools))
    turn = Turn(0, 1, (), (), 0, uses, LastRecord.ACTIVITY)
    return describe(Situation(SESSION, turn, quiet_s), PHRASES)


@pytest.mark.parametrize("name", ["Read", "Edit", "Write", "Bash", "Grep", "WebFetch", "Agent", "TodoWrite"])
def test_known_tools_are_said_in_plain_words(name: str) -> None:
    assert said((name, True)) and name not in said((name, True)).split()


def test_steps_are_counted() -> None:
    assert said(("Read", False), ("Bash", True)).endswith("two steps so far.")
    assert "step" not in said(("Bash", True))


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("mcp__github__create_issue", "create issue"),
        ("Strange", "Strange"),
        ("__", "a tool"),
        ("x" * 200, "x" * 40),
    ],
)
def test_other_tools_are_named_fit_to_be_spoken(name: str, wanted: str) -> None:
    assert said((name, True)).rstrip(".").endswith(wanted)


def test_the_wording_changes_with_the_steps() -> None:
    assert said(("Bash", True)) != said(("Bash", False), ("Bash", True)).replace(", two steps so far", "")


def test_a_lasting_silence_is_the_models_unless_a_tool_runs() -> None:
    assert "model" in said(("Bash", False), quiet_s=MODEL_SILENT_S)
    assert "model" not in said(("Bash", True), quiet_s=MODEL_SILENT_S)
    assert said(quiet_s=1.0) == ""
    assert describe(Situation(SESSION, None, 99.0), PHRASES) == ""
