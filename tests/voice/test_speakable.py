"""An agent's Markdown as sentences fit to be spoken."""

import json
import os
import re
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from voice.notices import Notices
from voice.pages import cut
from voice.speakable import speakable

CORPUS = Path(__file__).parent.parent / "corpus"
NOTICES = Notices(**yaml.safe_load((CORPUS / "notices.yaml").read_text(encoding="utf-8")))
DOCUMENTS = yaml.safe_load((CORPUS / "spoken_markdown.yaml").read_text(encoding="utf-8"))
MARKS = set("*_`#~^|\\<>{}[]@=+%$€£&/")
LINES = [
    "# Heading",
    "Some words here",
    "- item",
    "  - nested",
    "1. one",
    "> quote",
    "```",
    "~~~python",
    "x = 1",
    "    indented",
    "| a | b |",
    "|---|---|",
    "<div>",
    "</div>",
    "<script>",
    "[a](b) ![c](d)",
    "**bold** `code`:4",
    "$x^2$",
    "- [ ] todo",
    "---",
    "",
    "✅ ok",
    "[r]: http://x",
    "<!--",
    "\ud83d \x1b[1m\x00",
    "测试",
]


def given_cases() -> list[dict[str, Any]]:
    corpus = os.environ.get("CODRIVER_CORPUS") or Path(__file__).parents[2].parent / "shared" / "corpus"
    file = Path(corpus).parent / "cases" / "cases.jsonl"
    if not file.is_file():
        return []
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line]
    return [
        row for row in rows if row["input"].get("type") == "agent_markdown" and row["kind"] == "b-tts-text"
    ]


def all_pages(sentences: tuple[str, ...], max_words: int = 60) -> list[str]:
    pages = []
    while sentences:
        page = cut(sentences, max_words, "Say more for the rest.")
        pages.append(page.text)
        sentences = page.rest
    return pages


@pytest.mark.parametrize("document", DOCUMENTS, ids=[document["name"] for document in DOCUMENTS])
def test_markdown_becomes_sentences(document: dict[str, Any]) -> None:
    assert list(speakable(document["markdown"], NOTICES)) == document["says"]


@pytest.mark.parametrize("case", given_cases(), ids=lambda case: case["id"])
def test_inputs_that_broke_similar_products(case: dict[str, Any]) -> None:
    sentences = speakable(case["input"]["text"], NOTICES)
    expected = case["expected"]
    pages = all_pages(sentences)
    spoken = " ".join(pages)
    assert all(part in spoken for part in expected.get("spoken_must_contain", []))
    assert re.search(expected.get("spoken_must_match", ""), spoken)
    if "spoken_must_not_match" in expected:
        assert not re.search(expected["spoken_must_not_match"], spoken)
    assert len(spoken.split()) >= expected.get("spoken_min_words", 0)
    assert len(sentences) == expected.get("spoken_sentences", len(sentences))
    assert all(len(page.split()) <= 60 for page in pages)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(LINES), max_size=14).map("\n".join) | st.text(max_size=120))
def test_any_document_becomes_clean_sentences(markdown: str) -> None:
    for sentence in speakable(markdown, NOTICES):
        assert sentence == sentence.strip()
        assert not MARKS & set(sentence)
        assert "\n" not in sentence
        assert re.search(r"\w", sentence)
        assert sentence[-1] in ".!?…。！？)\"'”’»"
        sentence.encode("utf-8")


@pytest.mark.parametrize("unit", ["*", "[", "> ", "- ", "`", "<", "![a](", "|a", "- a\n", "$a$ ", "_a", "a_"])
def test_time_grows_with_length_and_not_faster(unit: str) -> None:
    def seconds(length: int) -> float:
        text = (unit * length)[:length]
        begun = time.thread_time()
        speakable(text, NOTICES)
        return time.thread_time() - begun

    seconds(1_000)
    short = max(min(seconds(5_000) for _ in range(3)), 0.005)
    assert min(seconds(40_000) for _ in range(3)) < 32 * short


def test_deep_nesting_is_not_a_crash() -> None:
    assert speakable("> " * 3_000 + "deep", NOTICES) is not None
    assert speakable("\n".join("  " * level + "- x" for level in range(300)), NOTICES)
    assert speakable("[" * 5_000 + "x" + "](y)" * 5_000, NOTICES)


def test_dump_is_cut_and_that_is_said() -> None:
    sentences = speakable("A short sentence. " * 12_000, NOTICES)
    assert sentences[-1] == NOTICES.too_long
    assert len(sentences) > 1_000


def test_six_thousand_words_without_a_stop_stay_whole() -> None:
    words = " ".join(f"word{number}x" for number in range(6_000))
    pages = all_pages(speakable(words, NOTICES))
    assert all(len(page.split()) <= 60 for page in pages)
    heard = " ".join(page.removesuffix("Say more for the rest.") for page in pages).replace("…", "")
    assert heard.split() == speakable(words, NOTICES)[0].split()
