"""Tells words that were spoken from words that a recogniser made up.

Pure: judges by the text and the recogniser's own doubts. The measured ranges,
Whisper tiny and base at temperature 0: people, 114 decodes down to 5 dB, had a
no-speech probability of at most 0.13 and a mean log-probability of at least
-0.81; on 26 noises they were 0.18 to 0.96, mostly over 0.8, and -0.8 to -2.6. A
synthetic voice reaches 0.58, at log-probabilities no noise has: neither number
decides alone.

For an agent that acts on what it hears an invented word is worse than a lost
one, and a question back is better than both: what was spoken but not well heard
is ``uncertain`` and must be confirmed before it is sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import pairwise
from typing import Literal

from voice.recognizer import Hints, Recognition, Segment

Verdict = Literal["heard", "nothing", "uncertain"]

SURE_NO_SPEECH = 0.1
SURE_LOGPROB = -0.5
DOUBTFUL_NO_SPEECH = 0.3
DOUBTFUL_LOGPROB = -1.0
# Better than any noise was.
CLEAR_LOGPROB = -0.75
NOISE_NO_SPEECH = 0.6
# Where the words are doubtful too, less is enough: voices in the background had 0.44 and 0.49.
BACKGROUND_NO_SPEECH = 0.4
# Two doubtful words are more often an engine than an order.
FEWEST_DOUBTFUL_WORDS = 3
ECHO_WORDS = 4
LISTED_ITEMS = 3
# Said this often in a row it is a loop: words in the phrase -> times. "No, no, no, no" is speech.
LOOP_TIMES = {1: 8, 2: 5, 3: 4}
LOOP_TIMES_LONGER = 3
LONGEST_LOOP_WORDS = 20

# What Whisper says when nobody does: the ends of the videos it was trained on.
STOCK_PHRASES = frozenset(
    """
    you
    bye
    bye bye
    thanks
    thank you
    thank you bye
    thank you so much
    thank you very much
    thank you thank you
    thank you for listening
    thank you for watching
    thank you for your time
    thanks for listening
    thanks for watching
    thank you so much for watching
    thanks for watching and see you next time
    thanks for watching please subscribe
    please subscribe
    please subscribe to my channel
    like and subscribe
    dont forget to subscribe
    see you next time
    see you in the next video
    ill see you next time
    ill see you in the next one
    ill see you in the next video
    well be right back
    the end
    the
    so
    oh
    hmm
    mm
    um
    uh
    """.strip().splitlines()
)
_STOCK = frozenset(phrase.strip() for phrase in STOCK_PHRASES)
_CREDITS = re.compile(
    r"^\W*(subtitles?|captions?|captioning|transcription|transcript|translation|translated)\b.{0,20}\b(by|from)\b"
    r"|amara\.org",
    re.IGNORECASE,
)
_NOTES = "♩♪♫♬🎵🎶"
# Sounds as they are written out: in square or round brackets, between stars or notes.
_MARKER = re.compile(
    rf"\[[^\[\]]{{0,40}}\]|\([^()]{{0,40}}\)|\*[^*]{{1,40}}\*|[{_NOTES}][^{_NOTES}]{{0,80}}[{_NOTES}]|[{_NOTES}]"
)
_SOUND = re.compile(
    r"applau|audio|beep|blank|bell|breath|cheer|chuckl|clap|click|cough|cries|cry|engine|footstep|gasp|giggl|groan|"
    r"horn|hum|inaudible|indistinct|instrument|laugh|melod|mumbl|music|nois|no speech|pause|phone|ring|"
    r"scream|sigh|silen|sing|siren|sneez|snor|sound|speaking|static|throat|thud|traffic|typing|unintelligible|"
    r"wind|whisper|whistl",
    re.IGNORECASE,
)
_SCREAM = re.compile(r"([^\W\d_])\1{4,}", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class Hearing:
    """The words to go on with, and what was taken away. ``text`` is empty exactly where nothing was heard."""

    text: str = field(repr=False)
    verdict: Verdict
    dropped: tuple[str, ...] = field(repr=False, default=())


class _Grade(Enum):
    SPEECH = auto()
    # Somebody spoke, but these may not be the words.
    UNSURE = auto()
    # Perhaps nobody spoke.
    DOUBTFUL = auto()
    INVENTED = auto()
    LOOP = auto()


def judge(recognition: Recognition, hints: Hints, last_spoken: str | None = None) -> Hearing:
    """What was said.

    ``last_spoken`` is what came out of the loudspeaker at most three seconds
    before the recording; heard again, word for word, it is not the driver's.
    """
    kept, dropped = _without_repeats(recognition.segments)
    kept, screams = _without_screams(kept)
    dropped += screams
    graded = [(segment, _grade(segment, hints, recognition.speech_s)) for segment in kept]
    has_speech = any(grade in (_Grade.SPEECH, _Grade.UNSURE) for _, grade in graded)
    taken = {_Grade.SPEECH, _Grade.UNSURE} if has_speech else {_Grade.DOUBTFUL}
    words = [segment.text for segment, grade in graded if grade in taken]
    dropped += [segment.text for segment, grade in graded if grade not in taken]
    text = " ".join(words)
    if not text:
        return Hearing("", "nothing", tuple(dropped))
    if _is_vocabulary(text, hints, is_sure=not _is_any_doubtful(graded)) or _is_echo(text, last_spoken):
        return Hearing("", "nothing", (*dropped, text))
    is_certain = all(grade in (_Grade.SPEECH, _Grade.DOUBTFUL, _Grade.INVENTED) for _, grade in graded)
    return Hearing(text, "heard" if has_speech and is_certain else "uncertain", tuple(dropped))


def _is_any_doubtful(graded: list[tuple[Segment, _Grade]]) -> bool:
    return any(not _is_sure(segment) for segment, grade in graded if grade is not _Grade.INVENTED)


def _without_repeats(segments: Sequence[Segment]) -> tuple[list[Segment], list[str]]:
    """Segments with words, cleaned of sound markers; of equal neighbours only the first."""
    kept: list[Segment] = []
    dropped: list[str] = []
    for segment in segments:
        text = _without_markers(segment.text)
        if not _WORD.search(text):
            dropped += [segment.text.strip()] if segment.text.strip() else []
        elif kept and normal(text) == normal(kept[-1].text):
            dropped.append(text)
        else:
            kept.append(_with_text(segment, text))
    return kept, dropped


def _without_markers(text: str) -> str:
    """The text without descriptions of sounds; a bracket that is all there is counts as one."""
    text = text.strip()
    rest = _MARKER.sub("", text)
    if not _WORD.search(rest):
        is_sentence = len(normal(text).split()) >= ECHO_WORDS and text[:1] in "([" and not _SOUND.search(text)
        return text if is_sentence else ""
    return " ".join(_MARKER.sub(lambda marker: "" if _is_sound(marker[0]) else marker[0], text).split())


def _is_sound(marker: str) -> bool:
    return marker[0] in _NOTES or bool(_SOUND.search(marker))


def _without_screams(segments: list[Segment]) -> tuple[list[Segment], list[str]]:
    """Segments without words like "aaaaaah", in which one letter comes more than four times in a row."""
    kept: list[Segment] = []
    dropped: list[str] = []
    for segment in segments:
        words = segment.text.split()
        screams = [word for word in words if _SCREAM.search(word)]
        dropped += screams
        rest = " ".join(word for word in words if word not in screams)
        if _WORD.search(rest):
            kept.append(_with_text(segment, rest) if screams else segment)
    return kept, dropped


def _grade(segment: Segment, hints: Hints, speech_s: float) -> _Grade:
    """One segment by itself."""
    words = normal(segment.text).split()
    if _is_loop(words):
        return _Grade.LOOP
    if _is_sure(segment):
        return _Grade.SPEECH
    if _is_stock(segment.text) and (_is_doubtful(segment) or speech_s < 1.0):
        return _Grade.INVENTED
    if segment.no_speech_prob > NOISE_NO_SPEECH:
        return _Grade.INVENTED
    if segment.no_speech_prob > DOUBTFUL_NO_SPEECH and segment.avg_logprob < CLEAR_LOGPROB:
        return _Grade.INVENTED if _is_background(segment, words, hints) else _Grade.DOUBTFUL
    return _Grade.UNSURE if segment.avg_logprob < DOUBTFUL_LOGPROB else _Grade.SPEECH


def _is_background(segment: Segment, words: list[str], hints: Hints) -> bool:
    """Whether doubtful words are not even worth a question back."""
    return (
        len(words) < FEWEST_DOUBTFUL_WORDS
        or (segment.no_speech_prob > BACKGROUND_NO_SPEECH and segment.avg_logprob < DOUBTFUL_LOGPROB)
        or _is_vocabulary(segment.text, hints, is_sure=False)
    )


def _is_sure(segment: Segment) -> bool:
    return segment.no_speech_prob <= SURE_NO_SPEECH and segment.avg_logprob >= SURE_LOGPROB


def _is_doubtful(segment: Segment) -> bool:
    return segment.no_speech_prob > DOUBTFUL_NO_SPEECH or segment.avg_logprob < DOUBTFUL_LOGPROB


def _is_stock(text: str) -> bool:
    return normal(text) in _STOCK or bool(_CREDITS.search(text))


def _is_loop(words: list[str]) -> bool:
    """Whether a phrase comes so often in a row that nobody would say it."""
    for size in range(1, min(LONGEST_LOOP_WORDS, len(words) // LOOP_TIMES_LONGER) + 1):
        times = LOOP_TIMES.get(size, LOOP_TIMES_LONGER)
        run = 0
        for at in range(size, len(words)):
            run = run + 1 if words[at] == words[at - size] else 0
            if run >= size * (times - 1):
                return True
    return False


def _is_vocabulary(text: str, hints: Hints, *, is_sure: bool) -> bool:
    """Whether the text only restates the vocabulary: all of it, or a run of its items.

    One item well heard is an answer ("staging"), and so are two in a row
    without a comma ("git rebase"); three or more in the order of the list, or
    with commas as in the list, are the list.
    """
    items = [tuple(normal(item).split()) for item in hints.vocabulary]
    items = [item for item in items if item]
    found = list(_as_items(tuple(normal(text).split()), items))
    if not found or None in found:
        return False
    if not is_sure:
        return True
    numbers = [number for number in found if number is not None]
    is_run = all(after == before + 1 for before, after in pairwise(numbers))
    is_list = len(numbers) >= LISTED_ITEMS or "," in text.strip(" ,.") or len(numbers) == len(items) > 1
    is_all = len(items) >= LISTED_ITEMS and set(numbers) == set(range(len(items)))
    return (len(numbers) > 1 and is_run and is_list) or is_all


def _as_items(words: tuple[str, ...], items: list[tuple[str, ...]]) -> Iterator[int | None]:
    """The words as numbers of vocabulary items, longest first; None where a word is in none."""
    while words:
        fits = [number for number, item in enumerate(items) if words[: len(item)] == item]
        if not fits:
            yield None
            return
        best = max(fits, key=lambda number: len(items[number]))
        yield best
        words = words[len(items[best]) :]


def _is_echo(text: str, last_spoken: str | None) -> bool:
    """Whether this is what the loudspeaker said; a short answer may well be a repeated word."""
    heard = normal(text)
    return len(heard.split()) >= ECHO_WORDS and heard == normal(last_spoken or "")


def normal(text: str) -> str:
    """Words only, in lower case, one blank between them: how two texts are compared."""
    return " ".join(_WORD.findall(text.casefold().replace("’", "'").replace("'", "")))


def _with_text(segment: Segment, text: str) -> Segment:
    return Segment(
        text,
        segment.start_s,
        segment.end_s,
        segment.avg_logprob,
        segment.no_speech_prob,
        segment.compression_ratio,
    )
