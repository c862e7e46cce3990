"""Where a speaker would pause."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voice.sentences import clauses, split

WORDS = st.sampled_from(
    [
        "one",
        "two,",
        "three",
        "and",
        "because",
        "which",
        "e.g.",
        "3.5",
        "v1.2",
        "Dr.",
        "end.",
        "(why?)",
        "so…",
        "测试。",
    ]
)


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("", []),
        ("One.", ["One."]),
        ("tests pass. deploy is next.", ["tests pass.", "deploy is next."]),
        ("Really?! Yes.", ["Really?!", "Yes."]),
        ("Use e.g. ruff, i.e. a linter. Then go.", ["Use e.g. ruff, i.e. a linter.", "Then go."]),
        ("Version 2.11.0 is out. It has 3.5 fixes.", ["Version 2.11.0 is out.", "It has 3.5 fixes."]),
        ("Edit main.py now. Done.", ["Edit main.py now.", "Done."]),
        ("See Fig. 3 and No. 5. Next.", ["See Fig. 3 and No. 5.", "Next."]),
        ("Dr. Smith met J. R. Hartley. He left.", ["Dr. Smith met J. R. Hartley.", "He left."]),
        ("Logs, caches, etc. are gone. Fine.", ["Logs, caches, etc. are gone.", "Fine."]),
        ("It ends at 5 p.m. Then we go.", ["It ends at 5 p.m.", "Then we go."]),
        ("It waits... and then it goes.", ["It waits...", "and then it goes."]),
        ('He said "stop." Then left.', ['He said "stop."', "Then left."]),
        ("测试通过。可以合并！", ["测试通过。", "可以合并！"]),
        ("1. Stop the worker. 2. Start it.", ["1. Stop the worker.", "2. Start it."]),
    ],
)
def test_sentences_end_where_a_speaker_stops(text: str, sentences: list[str]) -> None:
    assert list(split(text)) == sentences


@settings(deadline=None)
@given(st.lists(WORDS, max_size=40))
def test_no_word_is_lost_by_splitting(words: list[str]) -> None:
    text = " ".join(words)
    assert "".join("".join(split(text)).split()) == "".join(text.split())


@settings(deadline=None)
@given(st.lists(WORDS, max_size=60), st.integers(1, 12), st.integers(1, 30))
def test_pieces_are_short_and_whole(words: list[str], first: int, later: int) -> None:
    pieces = clauses(" ".join(words), first, later)
    assert " ".join(pieces).split() == words
    assert all(len(piece.split()) <= (later if index else first) for index, piece in enumerate(pieces))


def test_first_piece_ends_at_a_comma() -> None:
    sentence = "I moved the check, so that the cache is read only once for each request."
    assert clauses(sentence, 8, 20)[0] == "I moved the check,"


def test_first_piece_ends_before_a_conjunction() -> None:
    sentence = "The second attempt fails because the worker keeps the old connection open."
    assert clauses(sentence, 8, 20)[0] == "The second attempt fails"


def test_short_sentence_is_one_piece() -> None:
    assert clauses("All done, nothing left.", 8) == ("All done, nothing left.",)


def test_very_long_words_make_shorter_pieces() -> None:
    assert clauses(" ".join(["x" * 60] * 6), 8)[0] == "x" * 60


def test_piece_without_words_is_refused() -> None:
    with pytest.raises(ValueError, match="one word"):
        clauses("a b", 0)
