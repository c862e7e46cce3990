"""Whisper through faster-whisper, with a window as short as the words need.

The stock path encodes 30 s whatever was said, which is 80 to 85 % of the time a
short order takes. CTranslate2 takes shorter input; below 10 s the decoder begins
to loop, and digital silence as padding makes loops likelier than faint noise.
"""

# The engines are an extra, loaded when first used.
# ruff: noqa: PLC0415
from __future__ import annotations

import re
import threading
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from voice.errors import ModelMissing, RecognitionFailed
from voice.models import REMEDY, find_stt, verify
from voice.pcm import SPEECH_RATE_HZ, Pcm
from voice.recognizer import Cancel, Hints, Recognition, Segment
from voice.windows import windows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FULL_WINDOW_S = 30.0
SHORT_WINDOW_S = 10.0
MARGIN_S = 2.0
LONGEST_SPEECH_S = FULL_WINDOW_S - MARGIN_S
FRAMES_PER_S = 100
PADDING_SIGMA = 0.002
PADDING_SEED = 20
BEAM = 5
TOKENS_PER_S = 6
SPARE_TOKENS = 12
MOST_HINTS = 25
REPEATED_WORDS = 3
LONGEST_PROMPT_TOKENS = 448
# Sound shorter than one frame of the spectrum's window has no spectrum.
LEAST_S = 0.025
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class WhisperSettings:
    """``model`` is a name or a directory. Two workers of one thread give half as much again as one of two."""

    model: str = "tiny.en"
    language: str = "en"
    compute_type: str = "int8"
    workers: int = 2
    threads_per_worker: int = 1
    beam_size: int = BEAM


class Whisper:
    """A :class:`voice.recognizer.Recognizer` that never leaves this machine."""

    def __init__(self, settings: WhisperSettings | None = None) -> None:
        self.settings = settings or WhisperSettings()
        self._model: Any = None
        self._tokenizer: Any = None
        self._suppressed: list[int] = []
        self._lock = threading.Lock()

    def load(self) -> None:
        """Check the files and load them; raises ModelMissing or ModelMismatch."""
        with self._lock:
            if self._model is None:
                self._load()

    def _load(self) -> None:
        found = find_stt(self.settings.model)
        verify(found)
        try:
            from faster_whisper import WhisperModel
            from faster_whisper.tokenizer import Tokenizer
            from faster_whisper.transcribe import get_suppressed_tokens
        except ImportError as error:
            raise ModelMissing(f"the speech recogniser is not installed: {REMEDY}") from error
        try:
            model = WhisperModel(
                str(found.directory),
                device="cpu",
                compute_type=self.settings.compute_type,
                cpu_threads=self.settings.threads_per_worker,
                num_workers=self.settings.workers,
                local_files_only=True,
            )
        except (RuntimeError, ValueError, OSError) as error:
            raise ModelMissing(f"{found.name} is not a Whisper model that can be loaded: {REMEDY}") from error
        is_multilingual = model.model.is_multilingual
        language = self.settings.language if is_multilingual else "en"
        try:
            self._tokenizer = Tokenizer(model.hf_tokenizer, is_multilingual, "transcribe", language)
        except ValueError as error:
            raise ModelMissing(f"{found.name} has no language {language!r}: choose another") from error
        self._suppressed = get_suppressed_tokens(self._tokenizer, [-1])
        self._model = model

    def recognize(self, pcm: Pcm, hints: Hints, cancel: Cancel) -> Recognition:
        """The words in 16 kHz sound known to hold speech, one segment for each 28 s at most.

        Hints become the text the model believes it wrote just before; on
        silence it would repeat them, so silence must not come here.
        """
        if pcm.rate_hz != SPEECH_RATE_HZ:
            raise ValueError("Whisper needs 16 kHz")
        cancel.check()
        self.load()
        hotwords = ", ".join(hints.vocabulary[:MOST_HINTS])
        segments = []
        for start_s, piece in windows(pcm, LONGEST_SPEECH_S):
            cancel.check()
            if piece.seconds < LEAST_S:
                continue
            segment = self._decode(piece, start_s, hotwords, cancel)
            if segment.text:
                segments.append(segment)
        return Recognition(tuple(segments), self._tokenizer.language_code, pcm.seconds)

    def _decode(self, pcm: Pcm, start_s: float, hotwords: str, cancel: Cancel) -> Segment:
        """One piece in a short window; again in the full one when the words go round in circles."""
        window_s = max(SHORT_WINDOW_S, pcm.seconds + MARGIN_S)
        try:
            segment = self._generate(pcm, window_s, hotwords, cancel)
            if window_s < FULL_WINDOW_S and has_repeat(segment.text):
                cancel.check()
                segment = self._generate(pcm, FULL_WINDOW_S, hotwords, cancel)
        except (RuntimeError, ValueError) as error:
            raise RecognitionFailed("the recogniser failed on this recording") from error
        return Segment(
            segment.text,
            start_s,
            start_s + pcm.seconds,
            segment.avg_logprob,
            segment.no_speech_prob,
            segment.compression_ratio,
        )

    def _generate(self, pcm: Pcm, window_s: float, hotwords: str, cancel: Cancel) -> Segment:
        frames = 2 * int(window_s * FRAMES_PER_S / 2)
        features = self._model.feature_extractor(padded(pcm.to_float32(), frames))[:, :frames]
        encoded = self._model.encode(features)
        cancel.check()
        prompt = self._model.get_prompt(
            self._tokenizer, [], without_timestamps=True, hotwords=hotwords or None
        )
        most_tokens = int(TOKENS_PER_S * pcm.seconds) + SPARE_TOKENS
        result = self._model.model.generate(
            encoded,
            [prompt],
            beam_size=self.settings.beam_size,
            max_length=min(len(prompt) + most_tokens, LONGEST_PROMPT_TOKENS),
            return_scores=True,
            return_no_speech_prob=True,
            suppress_blank=True,
            suppress_tokens=self._suppressed,
        )[0]
        tokens = result.sequences_ids[0]
        text = self._tokenizer.decode(tokens).strip()
        return Segment(
            text,
            avg_logprob=result.scores[0] * len(tokens) / (len(tokens) + 1),
            no_speech_prob=result.no_speech_prob,
            compression_ratio=_compression_ratio(text),
        )


def padded(samples: NDArray[np.float32], frames: int) -> NDArray[np.float32]:
    """The samples, then faint noise up to that many frames of 10 ms; the same each time."""
    import numpy as np

    missing = frames * SPEECH_RATE_HZ // FRAMES_PER_S - len(samples)
    noise = np.random.default_rng(PADDING_SEED).standard_normal(max(missing, 0), dtype=np.float32)
    return np.concatenate([samples, noise * np.float32(PADDING_SIGMA)])


def has_repeat(text: str) -> bool:
    """Whether the same three words in a row come up twice, or all of it is one phrase said again."""
    words = _WORD.findall(text.lower())
    runs = [tuple(words[at : at + REPEATED_WORDS]) for at in range(len(words) - REPEATED_WORDS + 1)]
    return len(set(runs)) < len(runs) or any(
        len(words) % size == 0 and words == words[:size] * (len(words) // size)
        for size in range(1, len(words) // 2 + 1)
    )


def _compression_ratio(text: str) -> float:
    encoded = text.encode()
    return len(encoded) / len(zlib.compress(encoded)) if encoded else 0.0
