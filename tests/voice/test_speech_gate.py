from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from voice.pcm import Pcm
from voice.speech_gate import SpeechGate

RATE_HZ = 16_000
ORDER = "Run the tests and tell me what failed."


@pytest.fixture(scope="module")
def gate() -> SpeechGate:
    pytest.importorskip("faster_whisper")
    return SpeechGate()


def _silence(seconds: float) -> Pcm:
    return Pcm(bytes(2 * int(seconds * RATE_HZ)), RATE_HZ)


def _noises(recordings: Any) -> dict[str, Pcm]:
    tone = recordings.tone(3.0)
    clicks = np.where(np.arange(3 * RATE_HZ) % 9_000 < 5, 30_000, 0).astype(np.int16)
    hum = sum(recordings.tone(3.0, hz=hz) // 3 for hz in (95.0, 190.0))
    return {
        "digital silence": _silence(3.0),
        "last bit": Pcm.from_float32(np.random.default_rng(2).uniform(-3e-5, 3e-5, 48_000), RATE_HZ),
        "hiss": recordings.noise(3.0, 0.01),
        "loud noise": recordings.noise(3.0, 0.3),
        "tone": Pcm.from_int16(tone, RATE_HZ),
        "hum": Pcm.from_int16(hum.astype(np.int16), RATE_HZ),
        "clicks": Pcm.from_int16(clicks, RATE_HZ),
        "nothing": Pcm(b"", RATE_HZ),
        "one sample": Pcm(b"\0\0", RATE_HZ),
    }


@pytest.mark.models
def test_nobody_speaks_in_noise(gate: SpeechGate, recordings: Any) -> None:
    for name, pcm in _noises(recordings).items():
        assert gate.speech_spans(pcm) == (), name


@pytest.mark.models
@pytest.mark.parametrize("gain", [1.0, 0.1, 0.01, 0.004])
def test_speech_is_found_at_any_level(gain: float, gate: SpeechGate, speak: Callable[[str], Pcm]) -> None:
    quiet = Pcm.from_float32(speak(ORDER).to_float32() * np.float32(gain), RATE_HZ)
    spans = gate.speech_spans(quiet)
    assert sum(end_s - start_s for start_s, end_s in spans) > 0.7 * quiet.seconds


@pytest.mark.models
def test_a_late_word_is_found_where_it_is(gate: SpeechGate, speak: Callable[[str], Pcm]) -> None:
    late = Pcm(_silence(35.0).samples + speak(ORDER).samples, RATE_HZ)
    spans = gate.speech_spans(late)
    assert spans[0][0] == pytest.approx(35.0, abs=0.3)
    excerpt = gate.excerpt(late, spans)
    assert excerpt.seconds < speak(ORDER).seconds + 1.3


@pytest.mark.models
def test_what_is_given_is_not_written_into(gate: SpeechGate, speak: Callable[[str], Pcm]) -> None:
    pcm = speak(ORDER)
    before = bytes(pcm.samples)
    gate.speech_spans(pcm)
    assert pcm.samples == before


def test_excerpt_keeps_lead_and_tail_and_joins_what_overlaps() -> None:
    pcm = Pcm(np.arange(10 * RATE_HZ, dtype="<u2").tobytes(), RATE_HZ)
    gate = SpeechGate()
    one = gate.excerpt(pcm, ((2.0, 3.0),))
    assert one.samples == pcm.samples[int(1.2 * RATE_HZ) * 2 : int(3.4 * RATE_HZ) * 2]
    joined = gate.excerpt(pcm, ((2.0, 3.0), (3.5, 4.0)))
    assert joined.seconds == pytest.approx(3.2)
    edges = gate.excerpt(pcm, ((0.1, 9.9),))
    assert edges == pcm
    assert gate.excerpt(pcm, ()).samples == b""


def test_another_rate_is_a_mistake() -> None:
    with pytest.raises(ValueError):
        SpeechGate().speech_spans(Pcm(bytes(2), 8_000))
