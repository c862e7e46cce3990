from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from voice.guards import judge
from voice.recognizer import Hints, Recognition, Segment

CASES: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parents[1] / "corpus" / "recognitions.yaml").read_text(encoding="utf-8")
)
NO_HINTS = Hints()
WORDS = ["please", "read", "this", "file", "and", "tell", "me", "what", "you", "find", "in", "there"]


def _recognition(segments: list[list[Any]], speech_s: float = 3.0) -> Recognition:
    return Recognition(
        tuple(
            Segment(text, no_speech_prob=no_speech, avg_logprob=logprob)
            for text, no_speech, logprob in segments
        ),
        "en",
        speech_s,
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_what_was_said_is_told_from_what_was_made_up(case: dict[str, Any]) -> None:
    hearing = judge(
        _recognition(case["segments"], case.get("speech_s", 3.0)),
        Hints(tuple(case.get("vocabulary", ()))),
        case.get("last_spoken"),
    )
    text = case.get("text", "")
    assert hearing.text == text
    assert hearing.verdict == case.get("verdict", "heard" if text else "nothing")
    if "dropped" in case:
        assert len(hearing.dropped) == case["dropped"]


def test_what_is_taken_away_is_reported() -> None:
    repeated = judge(_recognition([["run it", 0.0, -0.1], ["run it", 0.0, -0.1]]), NO_HINTS)
    assert repeated.dropped == ("run it",)
    marker = judge(_recognition([["[Music]", 0.0, -0.1]]), NO_HINTS)
    assert marker.dropped == ("[Music]",)


@given(st.lists(st.sampled_from(WORDS), min_size=1))
def test_clear_words_are_never_changed_unless_they_loop(words: list[str]) -> None:
    text = " ".join(words)
    hearing = judge(_recognition([[text, 0.01, -0.1]]), NO_HINTS)
    assert hearing.text in (text, "")
    if len(set(words)) == len(words):
        assert hearing.text == text


@given(
    st.lists(st.tuples(st.text(), st.floats(0, 1), st.floats(-5, 0)), max_size=4),
    st.lists(st.text(), max_size=4),
    st.none() | st.text(),
)
def test_any_recognition_gets_a_verdict(
    segments: list[tuple[str, float, float]], vocabulary: list[str], last_spoken: str | None
) -> None:
    hearing = judge(_recognition([list(part) for part in segments]), Hints(tuple(vocabulary)), last_spoken)
    assert (hearing.text == "") == (hearing.verdict == "nothing")


def test_long_dictation_is_judged_in_little_time() -> None:
    words = " ".join(f"word{number}" for number in range(2_000))
    assert judge(_recognition([[words, 0.0, -0.1]]), NO_HINTS).text == words


def test_words_do_not_show_in_the_repr() -> None:
    assert "secret" not in repr(judge(_recognition([["secret", 0.0, -0.1], ["secret", 0.0, -0.1]]), NO_HINTS))
    assert "secret" not in repr(Segment("secret"))
