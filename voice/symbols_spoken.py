"""Operators, arrows, ticks and leftovers: what carries meaning becomes a word, the rest goes."""

import re
import unicodedata

from voice.notices import Notices

_TICKS = "\u2705\u2714\u2611\u2713\U0001f7e2"
_CROSSES = "\u274c\u2716\u2717\u2718\u274e\U0001f534"
_VERDICT_GLYPH = re.compile(f"([{_TICKS}])|[{_CROSSES}]")
_VERDICT_WORD = re.compile(
    r"\b(?:pass|fail|ok\b|okay|green|red\b|done|success|succeed|error|broke|broken|complete|fix|ready|clean|works?\b|ship|merged?\b"
    r"|not\b|no\b|can't|cannot|didn't|don't)|^\W*\w+ed\b",
    re.IGNORECASE,
)
_VERDICT_WORDS_LIMIT = 6
_ARROW = re.compile(r"\s*(?:<?[-=]{1,2}>|[\u2192\u21d2\u27a1\u27f6\u279c\u2794\u2b95\u21a6\u2b62])\s*")
_COMPARISONS = (
    (re.compile(r"\s*(?:===?)(?!=)\s*"), " equals "),
    (re.compile(r"\s*(?:!==?|≠)\s*"), " is not "),
    (re.compile(r"\s*(?:>=|≥)\s*"), " at least "),
    (re.compile(r"\s*(?:<=|≤)\s*"), " at most "),
    (re.compile(r"(?<!\w)<\s*(?=[\d.])|(?<=\w)\s+<\s+(?=\w)"), " less than "),
    (re.compile(r"(?<!\w)>\s*(?=[\d.])|(?<=\w)\s+>\s+(?=\w)"), " more than "),
    (re.compile(r"\s*&&\s*"), " and "),
    (re.compile(r"\s*\|\|\s*"), " or "),
)
_SIGNS = (
    (re.compile(r"(?<=[\w)])\s+[*×]\s+(?=[\w(])|(?<=\d)[*×](?=\d)"), " times "),
    (re.compile(r"×(?=\d)"), "times "),
    (re.compile(r"(?<=\w)\^(?=\w)|(?<=\d)\*\*(?=\d)"), " to the power of "),
    (re.compile(r"(?<=[\w)])\s+÷\s+(?=\w)"), " divided by "),
    (re.compile(r"\s*±\s*"), " plus or minus "),
    (re.compile(r"\s*[≈≅]\s*"), " about "),
    (re.compile(r"(?<=\w)\+(?=[\s).,;:!?]|$)"), " plus"),
    (re.compile(r"(?<!\w)\+(?=\d)"), "plus "),
    (re.compile(r"(?<=\w)\s*\+\s*(?=\w)"), " plus "),
    (re.compile(r"(?<=[\w\"')])\s*[:+*/|-]?=\s*(?=[\w\"'($.-])"), " equals "),
    (re.compile(r"(?<=\w)\s*&\s*(?=\w)"), " and "),
    (re.compile(r"(?<=\w)@(?=\w)"), " at "),
    (re.compile(r"(?<=\w)\s*/\s*(?=\w)"), " slash "),
    (re.compile(r"\s*%(?!\w)"), " percent"),
    (re.compile(r"\s*[•·|‖]\s*"), ", "),
    (re.compile(r"↑\s*"), "up "),
    (re.compile(r"↓\s*"), "down "),
    (re.compile(r"(?<=\S)\s+-{2,3}\s+(?=\S)"), " — "),
    (re.compile(r"(?<=\w)::(?=\w)"), " "),
    (re.compile(r"∞"), " infinity "),
    (re.compile(r"§\s*"), " section "),
    (re.compile(r"№\s*"), " number "),
)
_PUNCTUATION = frozenset(".,;:!?'\"()-–—…‘’“”‚„«»¡¿")
_MARKS = re.compile(r"[^\w\s.,;:!?'\"()–—…‘’“”‚„«»¡¿-]|_")
_EMPTY_BRACKETS = re.compile(r"(?<=\w)\(\)|\(\s*\)")
_REPEATED = re.compile(r"([,;:])(?:\s*[,;:])+")
_LONG_RUNS = re.compile(r"([!?])\1{1,}|(\.)\.{3,}|([-–—])\3{2,}|(['\"])\4+")
_BLANK_BEFORE = re.compile(r"\s+(?=[,;:!?.](?:\s|$))")
_LEADING = re.compile(r"^[\s,;:.!?)–—-]+(?=\s|\w)")
_BLANKS = re.compile(r"\s+")


def spoken_verdicts(text: str, notices: Notices) -> str:
    """Ticks and crosses become words where nothing else in the line says how it went, else they go."""
    glyphs = _VERDICT_GLYPH.findall(text)
    if not glyphs:
        return text
    bare = _BLANKS.sub(" ", _VERDICT_GLYPH.sub(" ", text)).strip()
    if len(glyphs) == 1 and (len(bare.split()) > _VERDICT_WORDS_LIMIT or _VERDICT_WORD.search(bare)):
        return bare
    if len(glyphs) == 1:
        word = notices.passed if glyphs[0] else notices.failed
        end = len(bare.rstrip(".,;:! "))
        return f"{bare[:end]} {word}{bare[end:]}".strip()
    if _VERDICT_WORD.search(bare):
        return bare
    template = ", {word} " if _VERDICT_GLYPH.match(text.lstrip()) else " {word}, "
    spoken = _VERDICT_GLYPH.sub(
        lambda glyph: template.format(word=notices.passed if glyph[1] else notices.failed), text
    )
    return spoken.strip(" ,")


def spoken_symbols(text: str) -> str:
    """Operators between words become words; an arrow is "to" between numbers, else a pause."""
    text = _ARROW.sub(_arrow, text)
    for pattern, words in (*_COMPARISONS, *_SIGNS):
        text = pattern.sub(words, text)
    return text


def without_marks(text: str) -> str:
    """Only letters, digits and the punctuation of prose, with single blanks."""
    text = _EMPTY_BRACKETS.sub("", text)
    text = _MARKS.sub(_mark, text)
    text = _LONG_RUNS.sub(lambda run: run[1] or (run[2] and "...") or (run[3] and "—") or run[4], text)
    text = _REPEATED.sub(r"\1", _BLANKS.sub(" ", text))
    text = _EMPTY_BRACKETS.sub("", _BLANK_BEFORE.sub("", text))
    return _BLANKS.sub(" ", _LEADING.sub("", text)).strip()


def _arrow(match: re.Match[str]) -> str:
    before = match.string[max(0, match.start() - 40) : match.start()]
    after = match.string[match.end() : match.end() + 1]
    # "12 seconds → 4 seconds": a quantity on both sides.
    if after.isdigit() and any(char.isdigit() for word in before.split()[-2:] for char in word):
        return " to "
    return ", " if before and after else " "


def _mark(match: re.Match[str]) -> str:
    char = match[0]
    # A combining mark belongs to its letter: é in decomposed scripts, Hindi vowels.
    return char if unicodedata.category(char) in {"Mn", "Mc"} else " "
