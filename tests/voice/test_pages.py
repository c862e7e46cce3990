"""Spoken pages."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voice.pages import cut, join

HINT = "Say more for the rest."
SENTENCES = st.lists(
    st.lists(st.sampled_from(["one", "two,", "three", "because", "four"]), min_size=1, max_size=40).map(
        lambda words: " ".join(words) + "."
    ),
    max_size=8,
)


def test_everything_fits_without_a_hint() -> None:
    page = cut(["One two.", "Three."], 3, HINT)
    assert page.text == "One two. Three."
    assert not page.has_more


def test_page_ends_at_a_sentence_and_leaves_room_for_the_hint() -> None:
    page = cut(["One two three.", "Four five six.", "Seven."], 9, "More?")
    assert page.text == "One two three. Four five six. Seven."
    page = cut(["One two three.", "Four five six.", "Seven eight nine."], 8, "More?")
    assert page.text == "One two three. Four five six. More?"
    assert page.rest == ("Seven eight nine.",)


def test_sentence_longer_than_a_page_is_cut_at_a_clause() -> None:
    page = cut(["One two three, four five six seven eight nine ten."], 7, "More?")
    assert page.text == "One two three, More?"
    assert page.rest == ("four five six seven eight nine ten.",)


def test_cut_between_words_is_marked() -> None:
    page = cut(["one two three five six seven eight"], 5, "More?")
    assert page.text == "one two three five… More?"


def test_nothing_is_an_empty_page() -> None:
    assert cut([], 60, HINT).text == ""
    assert cut(["  "], 60, HINT).text == ""


def test_page_without_room_for_the_hint_goes_on() -> None:
    page = cut(["one two three"], 2, HINT)
    assert page.text == "one two…"
    assert page.rest == ("three",)


def test_page_without_words_is_refused() -> None:
    with pytest.raises(ValueError, match="one word"):
        cut(["One."], 0, HINT)


@settings(deadline=None)
@given(SENTENCES, st.integers(1, 70))
def test_no_word_is_lost_or_doubled_over_the_pages(sentences: list[str], max_words: int) -> None:
    heard: list[str] = []
    rest: tuple[str, ...] = tuple(sentences)
    while rest:
        page = cut(rest, max_words, HINT)
        assert len(page.text.split()) <= max_words
        heard += page.text.removesuffix(HINT).replace("…", "").split()
        rest = page.rest
    assert heard == join(sentences).split()
