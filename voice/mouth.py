"""Sentences in, encoded speech out, clause by clause: the first bytes do not wait for the last sentence."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from voice.encoders import Encoder, encoder
from voice.errors import Busy
from voice.pcm import SAMPLE_BYTES, Pcm
from voice.sentences import clauses, split
from voice.synthesizer import Synthesizer

T = TypeVar("T")

# The voice makes about four seconds of speech a second: while eight words are heard, thirty can be made.
_FIRST_WORDS = 8
_SECOND_WORDS = 16
_LATER_WORDS = 24
# Encoding a clause takes a fifth of the time of making it: the first bytes do not wait for all of it.
_FIRST_SLICE_MS = 600
_SENTENCE_PAUSE_MS = 220
_CLAUSE_PAUSE_MS = 40
_PAUSES = ".,;:!?…—"


@dataclass(frozen=True, slots=True)
class _Piece:
    """What is synthesised in one call, and the silence after it."""

    text: str = field(repr=False)
    pause_ms: int


@dataclass(slots=True)
class _Utterance:
    """One speech on its way: its pieces, its encoder, and whether somebody still listens."""

    media_type: str
    pieces: AsyncGenerator[_Piece, None]
    encoder: Encoder | None = None
    unencoded: Pcm | None = None
    is_finished: bool = False
    stopped: threading.Event = field(default_factory=threading.Event)


class Mouth:
    """Speaks sentences with one engine, never on the event loop.

    At most `workers` clauses are made at once; of `workers + queue_limit` speeches the next one raises Busy.
    Whoever stops reading (`aclose` or cancellation) stops the work after the clause in hand.
    """

    def __init__(self, synthesizer: Synthesizer, workers: int = 1, queue_limit: int = 4) -> None:
        self._synthesizer = synthesizer
        self._executor = ThreadPoolExecutor(workers, thread_name_prefix="voice-mouth")
        self._limit = workers + queue_limit
        self._speaking: set[threading.Event] = set()

    @property
    def speaking(self) -> int:
        """How many speeches are being made or wait for a worker."""
        return len(self._speaking)

    async def load(self) -> None:
        """Loads the engine ahead of the first speech; raises ModelMissing or ModelMismatch."""
        await self._in_worker(self._synthesizer.load)

    async def close(self) -> None:
        """Stops what is being said and lets go of the threads; speaking afterwards raises RuntimeError."""
        for stopped in self._speaking:
            stopped.set()
        await asyncio.to_thread(self._executor.shutdown, cancel_futures=True)

    async def speak(
        self, sentences: Sequence[str] | AsyncIterator[str], media_type: str
    ) -> AsyncGenerator[bytes, None]:
        """The sentences as one file of `media_type`, in the order and as soon as its bytes are made.

        While one clause is being read by the consumer the next is made, no more than one ahead.
        No sentence at all is a valid file with a moment of silence. Raises Busy, SynthesisFailed,
        ModelMissing, ModelMismatch, and ValueError for a media type without an encoder.
        """
        utterance = _Utterance(media_type, _pieces(sentences))
        with self._admission(utterance.stopped):
            ahead: asyncio.Task[bytes] | None = None
            try:
                data = await self._next(utterance)
                while not utterance.is_finished:
                    ahead = asyncio.create_task(self._next(utterance), name="voice-mouth-ahead")
                    if data:
                        yield data
                    data = await ahead
                ahead = None
                if data:
                    yield data
            finally:
                utterance.stopped.set()
                if ahead is not None:
                    ahead.cancel()
                    await asyncio.gather(ahead, return_exceptions=True)
                await utterance.pieces.aclose()

    async def _next(self, utterance: _Utterance) -> bytes:
        piece = None if utterance.unencoded is not None else await anext(utterance.pieces, None)
        return await self._in_worker(lambda: self._made(utterance, piece))

    def _made(self, utterance: _Utterance, piece: _Piece | None) -> bytes:
        """In a worker thread: the bytes of one piece, or the last ones. One call at a time per utterance."""
        if utterance.stopped.is_set():
            utterance.is_finished = True
            return b""
        is_first = utterance.encoder is None
        if utterance.encoder is None:
            self._synthesizer.load()
            utterance.encoder = encoder(utterance.media_type, self._synthesizer.rate_hz)
        if utterance.unencoded is not None:
            pcm, utterance.unencoded = utterance.unencoded, None
            return utterance.encoder.feed(pcm)
        if piece is None:
            utterance.is_finished = True
            return utterance.encoder.finish()
        pcm = self._synthesizer.synthesize(piece.text)
        pcm = Pcm(pcm.samples + bytes(_byte_count(piece.pause_ms, pcm.rate_hz)), pcm.rate_hz)
        if is_first:
            cut = _byte_count(_FIRST_SLICE_MS, pcm.rate_hz)
            utterance.unencoded = Pcm(pcm.samples[cut:], pcm.rate_hz) if pcm.samples[cut:] else None
            pcm = Pcm(pcm.samples[:cut], pcm.rate_hz)
        return utterance.encoder.feed(pcm)

    @contextlib.contextmanager
    def _admission(self, stopped: threading.Event) -> Iterator[None]:
        if len(self._speaking) >= self._limit:
            raise Busy("too many speeches are waiting")
        self._speaking.add(stopped)
        try:
            yield
        finally:
            self._speaking.discard(stopped)

    async def _in_worker(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)


def _byte_count(duration_ms: int, rate_hz: int) -> int:
    return SAMPLE_BYTES * (rate_hz * duration_ms // 1000)


async def _pieces(sentences: Sequence[str] | AsyncIterator[str]) -> AsyncGenerator[_Piece, None]:
    """Clauses to synthesise: a short first one, then longer ones, none across a sentence."""
    limits = (_FIRST_WORDS, _SECOND_WORDS)
    made = 0
    async for text in _each(sentences):
        for sentence in split(text):
            parts = clauses(sentence, limits[made] if made < len(limits) else _LATER_WORDS, _LATER_WORDS)
            for part in parts[:-1]:
                yield _Piece(part if part[-1] in _PAUSES else f"{part},", _CLAUSE_PAUSE_MS)
            yield _Piece(parts[-1], _SENTENCE_PAUSE_MS)
            made += len(parts)


async def _each(sentences: Sequence[str] | AsyncIterator[str]) -> AsyncIterator[str]:
    if isinstance(sentences, Sequence):
        for sentence in sentences:
            yield sentence
    else:
        async for sentence in sentences:
            yield sentence
