"""The driver's words choose the scene, and each scene holds what it promises."""

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.agents.rehearsal.frames import Priority, UserFrame
from gateway.agents.rehearsal.message import Incoming
from gateway.agents.rehearsal.scenes import (
    ApiError,
    FinalText,
    Form,
    Permission,
    Text,
    ToolUse,
    scene_for,
    scene_of_turn,
)
from gateway.notes import compose, new_nonce

CASES = json.loads((Path(__file__).parents[2] / "corpus" / "rehearsal_scenes.json").read_text("utf-8"))
ROWS = ["slow", "choose", "form", "permission", "long", "fail"]


def _steps(words, kind):
    return [step for step in scene_for(words, "/d").steps if isinstance(step, kind)]


def _incoming(content):
    return Incoming(UserFrame(content, None, None, Priority.NEXT), None, None, False, 0, "")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["words"] or "empty")
def test_first_row_whose_whole_word_is_said_chooses_the_scene(case):
    assert scene_for(case["words"], "/d").name == case["scene"]


@pytest.mark.parametrize(("earlier", "later"), list(pairwise(ROWS)))
def test_row_order_decides_and_not_the_order_of_the_words(earlier, later):
    assert scene_for(f"{later} {earlier}", "/d").name == earlier


@given(st.text())
def test_words_without_a_scene_come_back_exactly(words):
    scene = scene_for(words, "/d")
    if scene.name == "echo":
        assert scene.steps[-1] == FinalText(f"You said: {words}")


def test_relay_note_never_chooses_a_scene_and_is_not_echoed():
    content = compose("  hello \n there ", new_nonce(), ["Answer in short form.", "Never slow, never long."])
    assert _incoming(content).words == "  hello \n there "


def test_words_in_an_envelope_are_taken_out_of_it():
    content = '<cross-session-message from="uds:/a.sock" from-name="gw">\nhello\n</cross-session-message>'
    assert _incoming(content).words == "hello"


def test_slow_road_takes_six_seconds_in_three_tool_steps_with_progress_before_each():
    assert [step.run_s for step in _steps("slow", ToolUse)] == [2.0, 2.0, 2.0]
    assert len(_steps("slow", Text)) == 3
    assert len(_steps("slow", FinalText)) == 1


def test_long_report_holds_everything_that_speech_must_leave_out():
    (answer,) = _steps("long", FinalText)
    assert len(answer.text.split()) > 5 * 60
    for mark in ("```python\n", "\n|---", "\n- ", "\n1. ", "](https://", "`src/", " https://", "\n## "):
        assert mark in answer.text.replace("\n|----------|", "\n|---")


def test_choose_ends_its_turn_with_a_question_and_two_options():
    (answer,) = _steps("choose", FinalText)
    assert answer.text.endswith("?")
    assert re.findall(r"^\d\. ", answer.text, re.MULTILINE) == ["1. ", "2. "]


def test_form_and_permission_park_for_a_minute():
    assert [step.parked_s for step in _steps("form", Form)] == [60.0]
    assert [step.parked_s for step in _steps("permission", Permission)] == [60.0]
    assert _steps("permission", Permission)[0].input["file_path"].startswith("/d/")


def test_fail_has_no_answer():
    assert _steps("fail", ApiError)
    assert not _steps("fail", FinalText)


def test_messages_that_share_a_turn_are_all_answered():
    assert scene_of_turn(["one", "two"], "/d").steps[-1] == FinalText("You said: one\n\nYou said: two")
    assert scene_of_turn(["one", "Show me the form."], "/d").steps[1].text.startswith("You said: one\n\n")
    assert scene_of_turn(["form", "stop here"], "/d").name == "echo"
