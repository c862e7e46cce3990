"""Does an answer ask the driver something, what exactly, and what does it offer to choose from? Pure.

Judged from the agent's own Markdown. What stands in code, tables, headings or quotations never
asks, nor does a question that the text answers itself, nor a polite closer. The rules on single
sentences are those of `gateway.asking`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gateway.asking import asks, is_answered
from gateway.model import Question, QuestionKind
from gateway.prose import Prose, prose

OPTIONS_LIMIT = 9
_QUESTIONS_TOGETHER = 3
_BOUNDARY = re.compile(r"[.!?…؟]+[)\]\"'»”*_]*(?=\s|$)|[。？！]+|\n+")
_ABBREVIATION = re.compile(r"\b(e\.g|i\.e|etc|vs|cf|approx|no|incl|resp|fig|dr|mr|ms)\.$", re.I)
_SIGN_OFF = re.compile(
    r"^(many thanks|thanks|thank you|cheers|best|(best |kind )?(wishes|regards)|sincerely|yours"
    r"|have a \w+ \w+|drive safely|safe travels|the [\w ]{1,20}(agent|bot|assistant)|— ?\w+)\b[^?]*$",
    re.I,
)
_CHOICE = re.compile(
    r"\b(which|what|who|where|when|how|choose|pick|select|prefer|options?|choices?|either|alternatives?"
    r"|one of|or)\b",
    re.I,
)
_OFFERS = re.compile(
    r"\b(options?|choices?|alternatives?|either|candidates?|possibilit\w+|approaches|ways|routes|paths"
    r"|could|can|might)\b",
    re.I,
)


@dataclass(frozen=True, slots=True)
class _Sentence:
    text: str
    mask: str
    block: int


def find_question(markdown: str) -> Question | None:
    """The question this answer puts to the driver, with the options it lists; None if it asks nothing."""
    blocks = prose(markdown)
    sentences = [s for i, block in enumerate(blocks) if not block.is_heading for s in _sentences(block, i)]
    while sentences and _SIGN_OFF.match(sentences[-1].mask) and not asks(sentences[-1].mask):
        sentences.pop()
    last = _last_asking(sentences)
    if last is None:
        return None
    first = _first_of_run(sentences, last)
    asked = sentences[first : last + 1]
    return Question(QuestionKind.TEXT, " ".join(s.text for s in asked), _options(blocks, asked))


def _sentences(block: Prose, number: int) -> list[_Sentence]:
    found: list[_Sentence] = []
    start = 0
    for boundary in [*(match.end() for match in _BOUNDARY.finditer(block.mask)), len(block.mask)]:
        if _ABBREVIATION.search(block.mask[start:boundary]):
            continue
        mask = block.mask[start:boundary].strip()
        text = " ".join(block.text[start:boundary].split())
        start = boundary
        if mask:
            found.append(_Sentence(text, mask, number))
    return found


def _last_asking(sentences: Sequence[_Sentence]) -> int | None:
    for i in range(len(sentences) - 1, -1, -1):
        if _is_asking(sentences, i):
            return i
    return None


def _is_asking(sentences: Sequence[_Sentence], at: int) -> bool:
    if not asks(sentences[at].mask):
        return False
    following = sentences[at + 1] if at + 1 < len(sentences) else None
    if following is None or following.block != sentences[at].block:
        return True
    return not is_answered(sentences[at].mask, following.mask)


def _first_of_run(sentences: Sequence[_Sentence], last: int) -> int:
    """Where the questions begin that stand directly before this one."""
    first = last
    while first > 0 and last - first < _QUESTIONS_TOGETHER - 1 and _is_asking(sentences, first - 1):
        first -= 1
    return first


def _options(blocks: Sequence[Prose], asked: Sequence[_Sentence]) -> tuple[str, ...]:
    """The items of the list that the question is about: the one after it, else the one before."""
    at = asked[-1].block
    if any(blocks[sentence.block].list_number for sentence in asked):
        return ()
    following = blocks[at + 1].list_number if at + 1 < len(blocks) else 0
    before = [i for i in range(at) if blocks[i].list_number]
    number = following or (blocks[before[-1]].list_number if before else 0)
    if not number:
        return ()
    first = next(i for i, block in enumerate(blocks) if block.list_number == number)
    lead_in = blocks[first - 1].mask if first > 0 and first - 1 != at else ""
    if not _OFFERS.search(lead_in) and not any(_CHOICE.search(sentence.mask) for sentence in asked):
        return ()
    items: dict[int, str] = {}
    for block in blocks[first:]:
        if block.list_number == number:
            items.setdefault(block.item, " ".join(block.text.split()))
    return tuple(items.values())[:OPTIONS_LIMIT] if len(items) > 1 else ()
