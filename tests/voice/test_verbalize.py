"""Inline text in the words a voice should say."""

import time
import unicodedata
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from voice.notices import Notices
from voice.verbalize import verbalize, verbalize_code

CORPUS = Path(__file__).parent.parent / "corpus"
NOTICES = Notices(**yaml.safe_load((CORPUS / "notices.yaml").read_text(encoding="utf-8")))
PAIRS = yaml.safe_load((CORPUS / "spoken_inline.yaml").read_text(encoding="utf-8"))
MARKS = set("*_`#~^|\\<>{}[]@=+%$€£&/")

# Pieces of every pattern known, so that random text hits their edges.
FRAGMENTS = [
    *(chr(code) for code in range(0x20, 0x7F)),
    *[
        "e.g.",
        "i.e.",
        "vs.",
        "12:30",
        "2026-03-04",
        "$5",
        "5$",
        "3.4",
        "1,200",
        "10k",
        "5ms",
        "5m30s",
        "v1.2.3",
        "0x1F",
        "~3",
        "->",
        "→",
        "✅",
        "❌",
        "🚀",
        "https://a.example/b",
    ],
    *[
        "/home/x/a.py:4",
        "a_b",
        "aB",
        "--x",
        "-v",
        "@x",
        "#4",
        "PR",
        "!7",
        "[[",
        "]]",
        "<b>",
        "</b>",
        "List<String>",
        "\x1b[31m",
        "\x00",
        "\u200b",
        "\ud83d",
        "é",
        "测试",
        "σ",
        "½",
        "°C",
    ],
    " ",
    " ",
    "\n",
]
messy = st.lists(st.sampled_from(FRAGMENTS), max_size=30).map("".join) | st.text(max_size=80)

WORDS = [
    "the",
    "a",
    "this",
    "that",
    "worker",
    "cache",
    "test",
    "tests",
    "request",
    "branch",
    "answer",
    "session",
    "it",
    "we",
    "I",
    "you",
    "is",
    "was",
    "has",
    "been",
    "failed",
    "passes",
    "changed",
    "because",
    "while",
    "after",
    "before",
    "and",
    "but",
    "so",
    "GitHub",
    "JavaScript",
    "isn't",
    "don't",
    "they're",
    "well-known",
    "re-run",
    "café",
    "naïve",
    "42",
    "7",
    "1,234",
    "3.5",
    "2026",
    "UTC",
    "API",
    "JSON",
    "iPhone",
    "o'clock",
    "Monday",
    "14:05",
    "1990s",
]
ENDS = [".", "!", "?", "...", "?!"]
JOINTS = [" ", ", ", "; ", ": ", " — ", " – "]


@st.composite
def prose(draw: st.DrawFn) -> str:
    words = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=14))
    text = words[0]
    for word in words[1:]:
        text += draw(st.sampled_from(JOINTS)) + word
    if draw(st.booleans()):
        text = f"{text} (see below)"
    if draw(st.booleans()):
        text = f'"{text}"'
    return text + draw(st.sampled_from(ENDS))


@pytest.mark.parametrize(("written", "said"), PAIRS, ids=[pair[0][:40] for pair in PAIRS])
def test_written_text_is_said_in_words(written: str, said: str) -> None:
    assert verbalize(written, NOTICES) == said


@settings(deadline=None)
@given(prose())
def test_ordinary_english_comes_through_unchanged(sentence: str) -> None:
    assert verbalize(sentence, NOTICES) == sentence


@settings(max_examples=400, deadline=None)
@given(messy)
def test_output_has_no_marks_and_no_controls(text: str) -> None:
    said = verbalize(text, NOTICES)
    assert not MARKS & set(said)
    assert not [
        char for char in said if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Co", "Cn", "So", "Sc"}
    ]
    said.encode("utf-8")


@settings(max_examples=400, deadline=None)
@given(messy)
def test_output_is_its_own_output(text: str) -> None:
    said = verbalize(text, NOTICES)
    assert verbalize(said, NOTICES) == said


@settings(deadline=None)
@given(messy)
def test_code_spans_never_fail_and_hold_no_marks(text: str) -> None:
    assert not MARKS & set(verbalize_code(text, NOTICES))


@pytest.mark.parametrize(
    "unit",
    [
        "*",
        "[",
        "<",
        "`",
        "_a",
        "a/",
        "http://",
        "<b>",
        "<script>",
        "<!--",
        "\x1b[",
        "a=",
        "a::",
        "✅",
        "->",
        " ",
        "é",
        "$5",
        "1,111,",
    ],
)
def test_time_grows_with_length_and_not_faster(unit: str) -> None:
    def seconds(length: int) -> float:
        text = (unit * length)[:length]
        begun = time.thread_time()
        verbalize(text, NOTICES)
        return time.thread_time() - begun

    seconds(1_000)
    short = max(min(seconds(5_000) for _ in range(3)), 0.005)
    # Eight times the text: quadratic work would take 64 times as long.
    assert min(seconds(40_000) for _ in range(3)) < 32 * short


def test_long_token_is_named_and_the_rest_is_heard() -> None:
    assert verbalize(f"The bundle is {'x9y8' * 1000} now.", NOTICES) == "The bundle is a long token now."


def test_flag_in_code_is_heard_as_a_flag() -> None:
    assert verbalize_code("git commit --no-verify", NOTICES) == "git commit dash dash no verify"
    assert verbalize_code("ls -la", NOTICES) == "ls dash la"


def test_code_that_is_mostly_signs_is_announced() -> None:
    assert verbalize_code('[[ -n "$CI" ]] && x || y', NOTICES) == "a piece of code"


def test_names_in_code_are_split() -> None:
    assert verbalize_code("getUserByID", NOTICES) == "get user by ID"
    assert verbalize_code("HTTPServerError", NOTICES) == "HTTP Server Error"
    assert verbalize_code("__init__.py", NOTICES) == "init dot py"
    assert verbalize_code("restart()", NOTICES) == "restart"
    assert verbalize_code("<div>", NOTICES) == "div"


def test_notice_with_a_wrong_placeholder_is_refused() -> None:
    fields = {name: getattr(NOTICES, name) for name in Notices.__slots__}
    with pytest.raises(ValueError, match="link_to"):
        Notices(**{**fields, "link_to": "a link to {url}"})
