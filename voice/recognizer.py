"""What a speech recogniser promises, whichever it is."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Protocol

from voice.pcm import Pcm


class Cancelled(Exception):
    """Nobody waits for the result any more."""


class Cancel:
    """A wish to stop, made in one thread and noticed in another."""

    __slots__ = ("_event",)

    def __init__(self) -> None:
        self._event = threading.Event()

    def cancel(self) -> None:
        """Ask the work to stop at its next check; may be called from any thread, and twice."""
        self._event.set()

    @property
    def is_cancelled(self) -> bool:
        """Whether the work should stop."""
        return self._event.is_set()

    def check(self) -> None:
        """Raise Cancelled if the work should stop."""
        if self._event.is_set():
            raise Cancelled


@dataclass(frozen=True, slots=True)
class Segment:
    """Words with the recogniser's own doubts.

    ``avg_logprob`` is the mean natural logarithm per token (0 is certainty),
    ``no_speech_prob`` runs from 0 to 1, ``compression_ratio`` is the size of
    the text over its zlib size. Times are in the sound that was given.
    """

    text: str = field(repr=False)
    start_s: float = 0.0
    end_s: float = 0.0
    avg_logprob: float = 0.0
    no_speech_prob: float = 0.0
    compression_ratio: float = 1.0


@dataclass(frozen=True, slots=True)
class Recognition:
    """What was recognised. ``speech_s`` is how long somebody spoke, pauses left out."""

    segments: tuple[Segment, ...]
    language: str
    speech_s: float


@dataclass(frozen=True, slots=True)
class Hints:
    """Words that are likely to come up: names of sessions, tools and projects. 20 to 25 help, 45 harm."""

    vocabulary: tuple[str, ...] = ()


class Recognizer(Protocol):
    """Speech to text. Both methods block; both may be called from several threads."""

    def load(self) -> None:
        """Make ready; raises ModelMissing or ModelMismatch. Calling it again does nothing."""

    def recognize(self, pcm: Pcm, hints: Hints, cancel: Cancel) -> Recognition:
        """The words in 16 kHz sound that holds speech; raises Cancelled, or an error of voice.errors."""
