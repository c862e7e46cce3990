"""Sentences and clauses: where a speaker would pause."""

# Word lists read better as words than as literals.
# ruff: noqa: SIM905
import re

_ABBREVIATIONS = frozenset(
    """
    e.g i.e mr mrs ms dr prof st vs cf fig figs eq no nos vol ch sec approx ca incl excl resp min max
    dept inc ltd est al jan feb mar apr jun jul aug sep sept oct nov dec a.k.a u.s
    """.split()
)
# These end a sentence as often as not: the next word decides.
_MAYBE_END = frozenset({"etc", "a.m", "p.m", "u.s", "inc", "ltd", "jr", "sr"})
_BEFORE_NUMBER = frozenset(
    {"no", "nos", "fig", "figs", "eq", "vol", "ch", "sec", "approx", "ca", "min", "max"}
)
_END = re.compile(r"[.!?…]+[\"'”’)\]»]*(?=\s)|[。！？｡]+[」』”’）]*")
_LAST_WORD = re.compile(r"[^\s(\"'“‘\[]+$")
_CLAUSE_END = re.compile(r"[,;:—–][\"'”’)]*$|\)$|[.!?…][\"'”’)]*$")
_CLAUSE_START = frozenset(
    """
    and but or so because since although though while which who that when where if unless until before
    after then with without from into for to by in on at as than
    """.split()
)
_STRONG_START = frozenset(
    """
    and but or so because since although though while which when where if unless until
    """.split()
)
_PIECE_CHARS_PER_WORD = 12


def split(text: str) -> tuple[str, ...]:
    """The sentences of a text, in order, blanks normalised; joined by blanks they are the text again.

    Abbreviations, versions, decimals, file names and initials do not end one; a lower-case word may
    start one; "?!" is one end; CJK full stops end one without a blank after them.
    """
    text = " ".join(text.split())
    found: list[str] = []
    start = 0
    for match in _END.finditer(text):
        if _ends(text, start, match):
            found.append(text[start : match.end()].strip())
            start = match.end()
    found.append(text[start:].strip())
    return tuple(sentence for sentence in found if sentence)


def clauses(sentence: str, max_words: int, rest_words: int | None = None) -> tuple[str, ...]:
    """The sentence in pieces: the first of at most `max_words` words, each later one of at most `rest_words`.

    A cut falls after a comma or the like, else before a conjunction, else between words. A piece is also
    bounded in characters (12 a word), by which a word is never cut. Joined by blanks they are the sentence.
    """
    if max_words < 1:
        raise ValueError("a piece has at least one word")
    limit, later = max_words, max(rest_words or max_words, 1)
    words = sentence.split()
    pieces: list[str] = []
    start = 0
    while start < len(words):
        end = _cut(words, start, limit)
        pieces.append(" ".join(words[start:end]))
        start, limit = end, later
    return tuple(pieces)


def _ends(text: str, start: int, match: re.Match[str]) -> bool:
    following = text[match.end() : match.end() + 40].lstrip()
    if match[0][0] != "." or len(match[0].rstrip("\"'”’)]»")) > 1:
        return match[0][0] != "…" or not following[:1].islower()
    word = _LAST_WORD.search(text, max(start, match.start() - 40), match.start())
    if word is None:
        return False
    last = word[0].lower()
    if last in _MAYBE_END:
        return following[:1].isupper()
    if last in _BEFORE_NUMBER:
        return not following[:1].isdigit()
    if last in _ABBREVIATIONS:
        return False
    if len(last) == 1 and word[0].isupper() and word.start() > start and text[word.start() - 1] == " ":
        return not _is_initial(text[: word.start()].rstrip()[-20:], following)
    return not (last.isdigit() and word.start() <= start + 1 and len(last) <= 3)


def _is_initial(before: str, following: str) -> bool:
    """`J. Smith`, `Donald E. Knuth`: a capital between capitalised words."""
    previous = before.rpartition(" ")[2]
    is_followed_by_initial = following[1:2] == "."
    return following[:1].isupper() and (
        previous[:1].isupper() or previous.endswith(".") or is_followed_by_initial
    )


def _cut(words: list[str], start: int, limit: int) -> int:
    end, chars = start, 0
    while end < len(words) and end - start < limit:
        chars += len(words[end]) + 1
        if chars > limit * _PIECE_CHARS_PER_WORD and end > start:
            break
        end += 1
    if end == len(words):
        return end
    least = start + max(1, (end - start) // 3)
    for at in range(end, least, -1):
        if _CLAUSE_END.search(words[at - 1]):
            return at
    for starts in (_STRONG_START, _CLAUSE_START):
        for at in range(end, least, -1):
            if words[at].lower() in starts:
                return at
    return end
