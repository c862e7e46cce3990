"""What is said of a turn or a question: all of it over the pages, never more than allowed on one."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.agents.turns import Ending, LastRecord, Text, ToolUse, Turn
from gateway.model import Process, Question, QuestionKind, Session, State, Status
from gateway.phrases import Phrases
from gateway.speech import EARLIER_WORDS, Said, Speech
from gateway.verdict import Waiting

PHRASES = Phrases.load("en")
HINT = "Say more for the rest."
SESSION = Session("x", "s", "demo", "/w", Process(1, "1"), Status.IDLE)


def turn(*answers: str, tools: tuple[ToolUse, ...] = (), stop: str = "end_turn") -> Turn:
    texts = tuple(
        Text(i * 10, i * 10 + 9, words, stop_reason=stop) for i, words in enumerate(answers, start=1)
    )
    return Turn(0, 1000, (), texts, 0, tools, LastRecord.TEXT, Ending.DONE)


def pages(speech: Speech, said: Said) -> list[str]:
    text, page = speech.page(said, SESSION)
    found = [text]
    while page.rest:
        text, page = speech.page(Said(said.state, page.rest), None)
        found.append(text)
    return found


_WORD = st.text("abcdefg", min_size=1, max_size=8)
_SENTENCE = st.lists(_WORD, min_size=1, max_size=40).map(lambda words: " ".join(words).capitalize() + ".")


@settings(max_examples=200, deadline=None)
@given(
    st.integers(20, 80),
    st.lists(_SENTENCE, min_size=1, max_size=12),
    st.lists(_SENTENCE, max_size=1),
    st.none() | st.tuples(_SENTENCE, st.lists(_WORD, max_size=9, unique=True)),
)
def test_over_all_pages_no_word_is_lost_and_no_page_is_too_long(
    limit: int, sentences: list[str], lead: list[str], asked: tuple[str, list[str]] | None
) -> None:
    speech = Speech(PHRASES, limit)
    lead = [" ".join(one.split()[:10]) for one in lead]
    question = Question(QuestionKind.TEXT, asked[0][:-1] + "?", tuple(asked[1])) if asked else None
    every = (*sentences, *([question.text] if question else []))
    found = pages(speech, Said(State.FINISHED, every, question, tuple(lead)))
    assert all(0 < len(page.split()) <= limit for page in found)
    said = " ".join(found).replace(HINT, "").replace("…", "").split()
    for word in " ".join((*lead, *every)).split():
        said.remove(word)
    if question is None:
        assert said == []


def test_a_question_that_fits_stays_where_it_stands() -> None:
    said = Speech(PHRASES, 60).of_turn(turn("Which one? In the meantime I wait."), SESSION, 0)
    assert said.state is State.NEEDS_ANSWER
    assert pages(Speech(PHRASES, 60), said) == ["Which one? In the meantime I wait."]


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        ("Which one?\n\n- Postgres\n- SQLite", "Which one? Option one: Postgres. Option two: SQLite."),
        (
            "1. Patch it\n2. Replace it\n\nPick one.",
            "Option one: Patch it. Option two: Replace it. Pick one.",
        ),
        (
            "Options:\n- A: patch\n- B: replace\n\nPick one.",
            "Options. Option A: patch. Option B: replace. Pick one.",
        ),
        ("Did this:\n- moved it\n- ran it\n\nShall I commit?", "Did this. moved it. ran it. Shall I commit?"),
    ],
)
def test_options_are_numbered_where_they_stand(answer: str, wanted: str) -> None:
    speech = Speech(PHRASES, 60)
    [page] = pages(speech, speech.of_turn(turn(answer), SESSION, 0))
    assert page.replace("Options:", "Options.").replace("Did this:", "Did this.") == wanted


def test_a_question_is_told_in_its_own_words_made_speakable() -> None:
    said = Speech(PHRASES, 60).of_turn(turn('Should I delete `x` from "prod"?'), SESSION, 0)
    assert said.question is not None and said.question.text == 'Should I delete x from "prod"?'


def test_texts_that_the_limit_broke_apart_are_one_sentence() -> None:
    said = Speech(PHRASES, 60).of_turn(turn("The answer goes", "on here.", stop="max_tokens"), SESSION, 0)
    assert said.sentences[0] == "The answer goes on here."


def test_only_what_was_not_heard_is_told() -> None:
    said = Speech(PHRASES, 60).of_turn(turn("One.", "Two."), SESSION, 19)
    assert said.sentences == ("Two.",)


@given(st.lists(st.lists(_SENTENCE, min_size=1, max_size=5), min_size=1, max_size=6))
def test_earlier_answers_never_take_more_than_their_room(answers: list[list[str]]) -> None:
    speech = Speech(PHRASES, 60)
    text = speech.earlier([Said(State.FINISHED, tuple(sentences)) for sentences in answers])
    assert text.startswith("Earlier answer: ")
    assert len(text.removeprefix("Earlier answer: ").split()) <= EARLIER_WORDS


def test_a_form_of_several_questions_numbers_the_options_of_each() -> None:
    asked = [
        {"question": "Which database?", "options": [{"label": "Postgres"}, "SQLite"]},
        "damaged",
        {"header": "Region", "options": None},
        {"question": 7},
    ]
    form = ToolUse("f", "AskUserQuestion", {"questions": asked})
    said = Speech(PHRASES, 60).of_waiting(Waiting.FORM, turn(tools=(form,)))
    assert said.sentences == ("Which database?", "Option one: Postgres.", "Option two: SQLite.", "Region.")
    assert said.question is not None and said.question.options == ("Postgres", "SQLite")


@pytest.mark.parametrize("given", [{}, {"questions": 7}, {"questions": [1, None, {}]}, {"questions": []}])
def test_a_form_that_cannot_be_read_is_said_to_be_there(given: dict[str, object]) -> None:
    form = ToolUse("f", "AskUserQuestion", given)
    said = Speech(PHRASES, 60).of_waiting(Waiting.FORM, turn(tools=(form,)))
    assert said.state is State.NEEDS_ANSWER and pages(Speech(PHRASES, 60), said)[0]


@pytest.mark.parametrize(
    ("tool", "wanted"),
    [
        (ToolUse("t", "Write", {"file_path": "/home/dev/secret/w1.txt"}), "w1"),
        (ToolUse("t", "NotebookEdit", {"notebook_path": "/n.ipynb"}), "n"),
        (ToolUse("t", "Write", {"file_path": 7}), "a file"),
        (ToolUse("t", "Bash", {"command": "rm -rf /", "description": "Clean up"}), "Clean up"),
        (ToolUse("t", "Bash", {"command": "rm -rf /", "description": None}), "run a command"),
        (ToolUse("t", "ExitPlanMode", {"plan": "x"}), "plan"),
        (ToolUse("t", "Strange", {}), "Strange"),
        (ToolUse("t", "", {}), "a tool"),
    ],
)
def test_a_permission_says_what_for_and_no_more(tool: ToolUse, wanted: str) -> None:
    said = Speech(PHRASES, 60).of_waiting(Waiting.PERMISSION, turn(tools=(tool,)))
    [page] = pages(Speech(PHRASES, 60), said)
    assert wanted in page and "rm -rf" not in page and "/home" not in page
