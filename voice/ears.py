"""From the bytes of a recording to the words in it: decode, find speech, recognise, judge."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Protocol

from voice.containers import Decoded
from voice.errors import Busy
from voice.guards import Hearing, Verdict, judge
from voice.level import levelled
from voice.pcm import Pcm
from voice.recognizer import Cancel, Hints, Recognition, Recognizer
from voice.speech_gate import Span

NO_HINTS = Hints()


class Decodes(Protocol):
    """What is needed of :class:`voice.containers.Decoder`."""

    async def warm(self) -> None:
        """Be ready for the first recording."""

    async def decode(self, data: bytes) -> Decoded:
        """The recording as samples."""

    async def close(self) -> None:
        """Let go of everything."""


class Gate(Protocol):
    """What is needed of :class:`voice.speech_gate.SpeechGate`."""

    def load(self) -> None:
        """Make ready."""

    def speech_spans(self, pcm: Pcm) -> tuple[Span, ...]:
        """Where somebody speaks."""

    def excerpt(self, pcm: Pcm, spans: tuple[Span, ...]) -> Pcm:
        """Only that."""


@dataclass(frozen=True, slots=True)
class Heard:
    """The words and how they were come by.

    ``dropped`` holds what the recogniser made up or said twice. ``timings`` are
    seconds: ``decode``, ``wait`` (for a free worker), ``gate``, ``recognize``.
    ``container`` is "pcm" for sound that came as samples.
    """

    text: str = field(repr=False)
    verdict: Verdict
    dropped: tuple[str, ...] = field(repr=False)
    audio_s: float
    container: str
    is_damaged: bool
    timings: Mapping[str, float]


@dataclass(slots=True)
class _Task:
    """One recording on its way; the clock starts when it is queued."""

    hints: Hints
    cancel: Cancel
    last_spoken: str | None
    queued_s: float = field(default_factory=time.perf_counter)
    work: Future[Hearing] | None = None
    timings: dict[str, float] = field(default_factory=dict)

    @contextlib.contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Note how long a step took, also when it fails."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.timings[step] = time.perf_counter() - start


class Ears:
    """Hears recordings, a few at a time, never on the event loop.

    At most ``workers`` are recognised at once and ``queue_limit`` more may
    wait; beyond that hearing raises Busy at once. Whoever stops waiting
    (cancels the task) stops the work too, at its next check.
    """

    def __init__(
        self, decoder: Decodes, recognizer: Recognizer, gate: Gate, workers: int = 2, queue_limit: int = 6
    ) -> None:
        self._decoder = decoder
        self._recognizer = recognizer
        self._gate = gate
        self._executor = ThreadPoolExecutor(workers, thread_name_prefix="voice-ears")
        self._limit = workers + queue_limit
        self._admitted: set[Cancel] = set()

    @property
    def waiting(self) -> int:
        """How many recordings are being heard or wait for it."""
        return len(self._admitted)

    async def load(self) -> None:
        """Load everything ahead of the first recording; raises ModelMissing, ModelMismatch, DecoderFailed."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._executor, self._load)
        await self._decoder.warm()

    def _load(self) -> None:
        self._gate.load()
        self._recognizer.load()

    async def hear(
        self,
        data: bytes,
        hints: Hints = NO_HINTS,
        cancel: Cancel | None = None,
        last_spoken: str | None = None,
    ) -> Heard:
        """The words in a recording of any known container.

        Raises an error of :mod:`voice.errors`, or Cancelled once ``cancel`` says so.
        """
        task = _Task(hints, cancel or Cancel(), last_spoken)
        with self._admission(task):
            with task.timed("decode"):
                decoded = await self._decoder.decode(data)
            task.cancel.check()
            return await self._recognized(decoded, task)

    async def hear_pcm(
        self, pcm: Pcm, hints: Hints = NO_HINTS, cancel: Cancel | None = None, last_spoken: str | None = None
    ) -> Heard:
        """The words in 16 kHz sound; otherwise like ``hear``."""
        task = _Task(hints, cancel or Cancel(), last_spoken)
        with self._admission(task):
            return await self._recognized(Decoded(pcm, "pcm", False), task)

    async def close(self) -> None:
        """Stop what is being heard and let go of the threads and processes."""
        for cancel in tuple(self._admitted):
            cancel.cancel()
        await asyncio.to_thread(self._executor.shutdown, cancel_futures=True)
        await self._decoder.close()

    @contextlib.contextmanager
    def _admission(self, task: _Task) -> Iterator[None]:
        """A place in the queue, kept until the work has really ended; on cancellation the work is told."""
        if len(self._admitted) >= self._limit:
            raise Busy("too many recordings wait to be recognised")
        self._admitted.add(task.cancel)
        try:
            yield
        except asyncio.CancelledError:
            task.cancel.cancel()
            raise
        finally:
            if task.work is None:
                self._admitted.discard(task.cancel)
            else:
                task.work.add_done_callback(lambda _: self._admitted.discard(task.cancel))

    async def _recognized(self, decoded: Decoded, task: _Task) -> Heard:
        task.queued_s = time.perf_counter()
        task.work = self._executor.submit(self._recognize, decoded.pcm, task)
        hearing = await asyncio.wrap_future(task.work)
        return Heard(
            text=hearing.text,
            verdict=hearing.verdict,
            dropped=hearing.dropped,
            audio_s=decoded.pcm.seconds,
            container=decoded.container,
            is_damaged=decoded.is_damaged,
            timings=task.timings,
        )

    def _recognize(self, pcm: Pcm, task: _Task) -> Hearing:
        """In a worker thread: silence never reaches the recogniser, which would make something of it."""
        task.timings["wait"] = time.perf_counter() - task.queued_s
        task.cancel.check()
        with task.timed("gate"):
            loud = levelled(pcm)
            spans = self._gate.speech_spans(loud)
        if not spans:
            return Hearing("", "nothing")
        with task.timed("recognize"):
            recognition = self._recognizer.recognize(self._gate.excerpt(loud, spans), task.hints, task.cancel)
        return judge(_with_speech(recognition, spans), task.hints, task.last_spoken)


def _with_speech(recognition: Recognition, spans: tuple[Span, ...]) -> Recognition:
    """The recognition with what the gate measured: it alone knows how long somebody spoke."""
    return replace(recognition, speech_s=sum(end_s - start_s for start_s, end_s in spans))
