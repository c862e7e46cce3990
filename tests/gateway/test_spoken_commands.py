"""Spoken commands: only a whole utterance is one; everything else belongs to the session."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gateway.spoken_commands import BadSpokenCommands, Command, SpokenCommands

CASES = yaml.safe_load((Path(__file__).parents[1] / "corpus/spoken_commands.yaml").read_text("utf-8"))
COMMANDS = SpokenCommands.load("en")


@pytest.mark.parametrize(("meaning", "text"), [(key, text) for key, texts in CASES.items() for text in texts])
def test_an_utterance_is_understood(meaning: str, text: str) -> None:
    assert COMMANDS.recognise(text) == (None if meaning == "session" else Command(meaning))


def test_apostrophes_in_any_form_or_none_are_the_same() -> None:
    commands = SpokenCommands({Command.MORE: ["what's next"], Command.REPEAT: ["repeat"]}, [])
    for text in ("what's next", "What\u2019s next?", "whats next", "what\u02bcs next", "what`s next"):
        assert commands.recognise(text) is Command.MORE


@given(st.text(max_size=200))
def test_any_text_is_a_command_or_not_and_never_a_fault(text: str) -> None:
    assert COMMANDS.recognise(text) in (None, *Command)


@given(st.sampled_from(["fix", "tests", "the", "branch"]), st.sampled_from(CASES["more"] + CASES["repeat"]))
def test_a_command_with_other_words_is_for_the_session(word: str, text: str) -> None:
    assert COMMANDS.recognise(f"{text} {word}") is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "more: [more]",
        "more: [more]\nrepeat: [repeat]",
        "more: [more]\nrepeat: [repeat]\npolite: []\nstop: [stop]",
        "more: [more]\nrepeat: [repeat]\npolite: []\nmore: [x]",
        "more: [more]\nrepeat: [More!]\npolite: []",
        "more: [more]\nrepeat: [please]\npolite: [please]",
        "more: [more]\nrepeat: ['?']\npolite: []",
        "more: more\nrepeat: [repeat]\npolite: []",
        "more: [1]\nrepeat: [repeat]\npolite: []",
        "more: [",
    ],
)
def test_a_file_with_a_fault_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "xx.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(BadSpokenCommands):
        SpokenCommands.read(path)


def test_a_language_without_a_file_is_refused(tmp_path: Path) -> None:
    for language in ("xx", "../spoken_commands/en"):
        with pytest.raises(BadSpokenCommands):
            SpokenCommands.load(language)
    with pytest.raises(BadSpokenCommands):
        SpokenCommands.read(tmp_path / "none.yaml")
