"""Whether an answer asks the driver something, and what it offers: a table of endings."""

import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.prose import prose
from gateway.questions import OPTIONS_LIMIT, find_question

CASES = yaml.safe_load((Path(__file__).parent.parent / "corpus" / "questions.yaml").read_text("utf-8"))


def named(kind: str) -> list[Any]:
    return [pytest.param(case, id=case["text"][-40:].replace("\n", " ")) for case in CASES[kind]]


@pytest.mark.parametrize("case", named("asking"))
def test_what_asks_is_recognised(case: dict[str, Any]) -> None:
    question = find_question(case["text"])
    assert question is not None and question.text
    if "question" in case:
        assert question.text == case["question"]
    if "options" in case:
        assert list(question.options) == case["options"]


@pytest.mark.parametrize("case", named("not_asking"))
def test_what_does_not_ask_is_left_alone(case: dict[str, Any]) -> None:
    assert find_question(case["text"]) is None


def test_a_report_before_or_after_changes_nothing() -> None:
    """Each asking ending also asks behind a report; each other one does not start to ask before one."""
    report = "I moved the parser into its own module and ran the whole suite, which is green."
    asking = [case["text"] for case in CASES["asking"]]
    assert [text for text in asking if find_question(f"{report}\n\n{text}") is None] == []
    quiet = [case["text"] for case in CASES["not_asking"]]
    assert [text for text in quiet if find_question(f"{text}\n\n{report}") is not None] == []


def test_only_so_many_options_are_offered() -> None:
    items = "\n".join(f"- item {i}" for i in range(30))
    question = find_question(f"Which one?\n\n{items}")
    assert question is not None and len(question.options) == OPTIONS_LIMIT


def test_nested_items_are_no_options_of_their_own() -> None:
    question = find_question("Which one?\n\n- first\n  - detail\n- second\n")
    assert question is not None and question.options == ("first", "second")


@settings(max_examples=200, deadline=None)
@given(st.text("ab?!.\n-*`'\"# 1.|>[]()", max_size=200))
def test_no_text_is_a_crash_and_text_and_mask_stay_alike(text: str) -> None:
    find_question(text)
    assert all(len(block.text) == len(block.mask) for block in prose(text))


@pytest.mark.parametrize(
    "piece", ["please ", "a? ", "- item\n", "i need ", '"', "`", "run x and ", "> ", "* ", "( "]
)
def test_a_long_text_takes_no_more_than_its_length(piece: str) -> None:
    began = time.perf_counter()
    find_question(piece * (60_000 // len(piece)))
    assert time.perf_counter() - began < 5
