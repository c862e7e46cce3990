"""Spoken pages: as many whole sentences as a listener takes in at once, the rest for later."""

from collections.abc import Sequence
from dataclasses import dataclass

from voice.sentences import clauses

_CUT_MARK = "…"
_PAUSES = ".,;:!?…—–)\"'”’"


@dataclass(frozen=True, slots=True)
class Page:
    """What to say now, and the sentences that were left for the next page."""

    text: str
    rest: tuple[str, ...] = ()

    @property
    def has_more(self) -> bool:
        """Whether something was left."""
        return bool(self.rest)


def join(sentences: Sequence[str]) -> str:
    """The sentences as one text."""
    return " ".join(sentence.strip() for sentence in sentences if sentence.strip())


def cut(sentences: Sequence[str], max_words: int, more_hint: str) -> Page:
    """The first page: at most `max_words` words over the whole text, the hint included.

    Whole sentences where the first one fits; a longer one is cut at a clause, else between words, and
    marked with "…" on its last word. The hint stands only where something is left, and not where the
    page has no room for it beside one word. No word is lost or doubled over the pages. Raises
    ValueError below one word.
    """
    if max_words < 1:
        raise ValueError("a page has at least one word")
    left = [sentence for sentence in (part.strip() for part in sentences) if sentence]
    if sum(_words(sentence) for sentence in left) <= max_words:
        return Page(join(left))
    room = max_words - _words(more_hint)
    if room < 1:
        room, more_hint = max_words, ""
    taken, used = 0, 0
    while used + _words(left[taken]) <= room:
        used += _words(left[taken])
        taken += 1
    if taken:
        return Page(join([*left[:taken], more_hint]), tuple(left[taken:]))
    first, *others = clauses(left[0], room)
    rest = join(others)
    if first[-1] not in _PAUSES:
        first += _CUT_MARK
    return Page(join([first, more_hint]), (rest, *left[1:]))


def _words(text: str) -> int:
    return len(text.split())
