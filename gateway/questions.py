"""Does an answer ask the driver something? Pure, from the agent's own Markdown.

English wording is judged by rules; in other languages a question mark at the end
decides. What stands in code, quotes or links never asks. Rules over guesses: a
question that the text answers itself is none, and a polite closer is none.
"""

import re

from gateway.model import Question, QuestionKind
from gateway.prose import prose

_SENTENCE = re.compile(r"[^.!?\n。？！]+(?:[.!?。？！]+(?=[\s)\"'»”]|$)|\n|$)", re.UNICODE)
_IS_QUESTION = re.compile(r"[?？]\s*[)\"'»”]*\s*$")
_QUOTED = re.compile(r"\"[^\"\n]{1,300}\"|“[^”\n]{1,300}”|(?<!\w)'[^'\n]{1,300}'(?!\w)|«[^»\n]{1,300}»")
# "id = ? and so on": a mark that stands alone inside a sentence is not the end of a question.
_LITERAL_MARK = re.compile(r"\s[?？]\s+(?=[a-z])")
_SIGN_OFF = re.compile(
    r"^(thanks|thank you|cheers|best|best regards|regards|sincerely|the \w+ agent)\b", re.I
)
_CLOSER = re.compile(
    r"\b(let me know (if|how|when|whether) (you|it|that|anything|there)|feel free|if (anything|something) is"
    r"|any other questions|no questions|happy to help|ask if)\b",
    re.I,
)
_REQUEST = re.compile(
    r"\b(let me know (which|what|whether you|how you|if you (want|would|prefer)|where|when to)"
    r"|tell me (which|what you|when|how you|where|whether|if you)|(pick|choose|select) (one|either|which|an? option)"
    r"|awaiting your|waiting for your|need(s)? your|i need [\w ]{0,40}from you"
    r"|reply with|respond with|answer with|say '?\"?(yes|go)|confirm and i|please (confirm|choose|pick|decide|log in"
    r"|provide|specify|tell|approve|advise)|(just )?point me (at|to)|up to you|your call|which (one )?you prefer"
    r"|once you (confirm|approve|decide)|give me the (go|word))\b",
    re.I,
)
_REQUEST_CHINESE = re.compile("请(?:告诉|选择|确认|回复|提供)")
_UNMARKED = re.compile(
    r"^(do you want|would you like|want me to|shall i|should i|ok to|okay to|may i|can i go"
    r"|are you (ok|okay|happy)|which (one|of)|ready to)\b",
    re.I,
)
_CONDITIONAL = re.compile(
    r"^(should you (ever|want|need|wish)|would you believe|if you('d| would)? like)", re.I
)
_STATEMENT_AFTER = re.compile(
    r"^(because|since|nothing|none|it was|it is|yes|no\b|not\b|that|the|a\b|i (renewed|fixed|changed))", re.I
)
_RHETORICAL = re.compile(
    r"^(why|what (could|went|happened|changed|did)|how (did|come|does)|so what|and)\b", re.I
)
_OPTION = re.compile(r"^(?:[-*+•]|\(?(?:\d{1,2}|[A-Za-z])[.):])\s*(?P<text>.+)$")


def find_question(markdown: str) -> Question | None:
    """The question this answer puts to the driver, with the options it lists; None if it asks nothing."""
    blocks = prose(markdown)
    sentences = [s for block in blocks for s in _sentences(block)]
    while sentences and (_SIGN_OFF.match(sentences[-1]) and not _asks(sentences[-1])):
        sentences.pop()
    found = _last_asking(sentences)
    if found is None:
        return None
    return Question(QuestionKind.TEXT, found, _options(markdown))


def _sentences(block: str) -> list[str]:
    unquoted = _LITERAL_MARK.sub(" mark ", _QUOTED.sub("quote", block))
    return [s.strip() for s in _SENTENCE.findall(unquoted) if s.strip()]


def _last_asking(sentences: list[str]) -> str | None:
    for i in range(len(sentences) - 1, -1, -1):
        if _asks(sentences[i]) and not _is_answered(sentences, i):
            return sentences[i]
    return None


def _asks(sentence: str) -> bool:
    if _CONDITIONAL.match(sentence) and not _REQUEST.search(sentence):
        return False
    if _IS_QUESTION.search(sentence):
        return True
    if _REQUEST.search(sentence) or _REQUEST_CHINESE.search(sentence):
        return True
    return bool(_UNMARKED.match(sentence)) and not _CLOSER.search(sentence)


def _is_answered(sentences: list[str], at: int) -> bool:
    """A rhetorical question: the next sentence answers it."""
    if at + 1 >= len(sentences) or not _RHETORICAL.match(sentences[at]):
        return False
    return bool(_STATEMENT_AFTER.match(sentences[at + 1]))


def _options(markdown: str) -> tuple[str, ...]:
    found = [
        match["text"].strip() for line in markdown.splitlines() if (match := _OPTION.match(line.strip()))
    ]
    return tuple(found[:9]) if len(found) > 1 else ()
