import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voice.level import TARGET_RMS, levelled, loudness
from voice.pcm import Pcm


@given(st.lists(st.integers(-32768, 32767)))
def test_samples_survive_the_way_to_floats_and_back(values: list[int]) -> None:
    pcm = Pcm.from_int16(np.array(values, dtype=np.int16), 16_000)
    assert Pcm.from_float32(pcm.to_float32(), 16_000) == pcm


def test_seconds_follow_from_samples_and_rate() -> None:
    assert Pcm(bytes(16_000), 8_000).seconds == 1.0
    assert Pcm(b"", 8_000).seconds == 0.0


@pytest.mark.parametrize(("samples", "rate_hz"), [(b"\0\0\0", 16_000), (b"", 0), (b"", -1)])
def test_half_a_sample_or_no_rate_is_refused(samples: bytes, rate_hz: int) -> None:
    with pytest.raises(ValueError):
        Pcm(samples, rate_hz)


def test_too_loud_is_clipped_and_not_a_number_is_silence() -> None:
    samples = np.array([2.0, -2.0, np.nan, np.inf, -np.inf], dtype=np.float32)
    assert Pcm.from_float32(samples, 16_000).to_int16().tolist() == [32767, -32768, 0, 32767, -32768]


def test_samples_are_little_endian_whatever_they_came_as() -> None:
    assert Pcm.from_int16(np.array([1], dtype=">i2"), 16_000).samples == b"\x01\x00"


def test_only_one_channel_is_taken() -> None:
    with pytest.raises(ValueError):
        Pcm.from_int16(np.zeros((2, 4), dtype=np.int16), 16_000)


def test_what_is_said_does_not_show_in_the_repr() -> None:
    assert "samples" not in repr(Pcm(bytes(10), 16_000))


@pytest.mark.parametrize("gain", [0.01, 0.1, 1.0])
def test_quiet_sound_is_raised_to_speech_level(gain: float) -> None:
    tone = np.sin(np.arange(16_000) / 10).astype(np.float32) * np.float32(0.15 * gain)
    level = loudness(levelled(Pcm.from_float32(tone, 16_000)).to_float32(), 16_000)
    assert level == pytest.approx(max(TARGET_RMS, 0.15 * gain / 2**0.5), rel=0.1)


def test_a_click_does_not_keep_quiet_sound_quiet() -> None:
    tone = np.sin(np.arange(16_000) / 10).astype(np.float32) * np.float32(0.005)
    tone[8_000:8_020] = 0.9
    assert loudness(levelled(Pcm.from_float32(tone, 16_000)).to_float32(), 16_000) > 0.8 * TARGET_RMS


def test_levelling_takes_silence_and_nothing_at_all() -> None:
    assert levelled(Pcm(b"", 16_000)) == Pcm(b"", 16_000)
    assert levelled(Pcm(bytes(2), 16_000)) == Pcm(bytes(2), 16_000)
    assert levelled(Pcm(bytes(32_000), 16_000)) == Pcm(bytes(32_000), 16_000)


def test_constant_offset_is_taken_out() -> None:
    assert not any(levelled(Pcm.from_int16(np.full(16_000, 900, dtype=np.int16), 16_000)).samples)


def test_carrying_text_needs_no_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    assert Pcm(bytes(32_000), 16_000).seconds == 1.0
