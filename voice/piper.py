"""Piper behind the synthesizer's protocol.

The engine is GPL-3.0-or-later and an optional extra: it is imported inside `load` only, so that this package
neither needs nor contains it.
"""

# The engines are an extra, loaded when first used.
# ruff: noqa: PLC0415
from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any

from voice.characters import clean, one_line
from voice.errors import ModelMissing, SynthesisFailed
from voice.models import find_tts, verify
from voice.pcm import SAMPLE_BYTES, Pcm

if TYPE_CHECKING:
    from voice.models import Model

DEFAULT_VOICE = "en_US-joe-medium"
# 1.0 is about 229 words a minute, fast for a driver.
DEFAULT_LENGTH_SCALE = 1.1
_SILENCE_MS = 120
# A clause is far shorter; the engine's memory grows with the length of one call.
_LIMIT_CHARS = 2_000


class Piper:
    """A Piper voice by name or path, its files checked against their hashes when loaded.

    `length_scale` above 1 speaks slower. Safe to call from several threads; the phonemiser is one at a time.
    """

    def __init__(self, voice: str = DEFAULT_VOICE, length_scale: float = DEFAULT_LENGTH_SCALE) -> None:
        if not 0.3 <= length_scale <= 3.0:
            raise ValueError("length_scale is between 0.3 and 3")
        self._name = voice
        self._length_scale = length_scale
        self._lock = threading.Lock()
        self._voice: Any = None
        self._config: Any = None
        self._rate_hz = 0

    @property
    def rate_hz(self) -> int:
        """Samples a second; raises SynthesisFailed before the voice is loaded."""
        if not self._rate_hz:
            raise SynthesisFailed("the voice is not loaded")
        return self._rate_hz

    def load(self) -> None:
        """Finds, verifies and loads the voice once. Raises ModelMissing or ModelMismatch."""
        with self._lock:
            if self._voice is None:
                model = find_tts(self._name)
                verify(model)
                self._open(model)

    def synthesize(self, text: str) -> Pcm:
        """One clause as sound. Double brackets never reach the engine, unsayable text is a short silence.

        Raises SynthesisFailed where the engine fails.
        """
        self.load()
        text = _harmless(text)
        if not any(char.isalnum() for char in text):
            return self._silence()
        try:
            samples = b"".join(
                chunk.audio_int16_bytes for chunk in self._voice.synthesize(text, self._config)
            )
        except Exception as error:
            # The engine's own text may quote the words; its kind is enough.
            raise SynthesisFailed(f"the speech engine failed ({type(error).__name__})") from None
        return Pcm(samples, self._rate_hz) if samples else self._silence()

    def _open(self, model: Model) -> None:
        try:
            from piper import PiperVoice, SynthesisConfig
        except ImportError as error:
            raise ModelMissing(
                "the speech engine is not installed: pip install 'codriver[embedded]'"
            ) from error
        # At DEBUG the engine logs every text and its phonemes.
        logging.getLogger("piper").setLevel(logging.WARNING)
        logging.getLogger("piper.voice").setLevel(logging.WARNING)
        path = next(file for name, file in model.files.items() if name.endswith(".onnx"))
        try:
            voice = PiperVoice.load(path)
        except Exception as error:
            raise ModelMissing(f"the voice {model.name} can't be loaded ({type(error).__name__})") from None
        self._config = SynthesisConfig(length_scale=self._length_scale)
        self._rate_hz = int(voice.config.sample_rate)
        self._voice = voice

    def _silence(self) -> Pcm:
        return Pcm(bytes(SAMPLE_BYTES * (self._rate_hz * _SILENCE_MS // 1000)), self._rate_hz)


def _harmless(text: str) -> str:
    """Text the phonemiser takes as words: no NUL (it raises), no `[[...]]` (it takes them for phonemes)."""
    return one_line(clean(text)).replace("[", " ").replace("]", " ")[:_LIMIT_CHARS]
