"""Sound as bytes a player takes while they are still being made."""

import io
import struct

import av
import numpy as np
import pytest

from voice.encoders import MP3, MP4, OGG, WAV, encoder, negotiate
from voice.pcm import Pcm

RATE_HZ = 22_050
MEDIA_TYPES = [WAV, MP3, MP4, OGG]


def tone(seconds: float, rate_hz: int = RATE_HZ) -> Pcm:
    time_s = np.arange(int(seconds * rate_hz)) / rate_hz
    return Pcm.from_float32((0.3 * np.sin(2 * np.pi * 440 * time_s)).astype(np.float32), rate_hz)


def decoded(data: bytes) -> tuple[float, float]:
    """Seconds of sound and its loudest sample."""
    seconds, peak = 0.0, 0.0
    with av.open(io.BytesIO(data)) as container:
        for frame in container.decode(audio=0):
            seconds += frame.samples / frame.sample_rate
            samples = frame.to_ndarray()
            scale = 1.0 if samples.dtype.kind == "f" else 32_768.0
            peak = max(peak, float(np.abs(samples).max()) / scale)
    return seconds, peak


@pytest.mark.parametrize("media_type", MEDIA_TYPES)
def test_sound_comes_back_whole(media_type: str) -> None:
    coder = encoder(media_type, RATE_HZ)
    data = b"".join(coder.feed(tone(0.7)) for _ in range(4)) + coder.finish()
    seconds, peak = decoded(data)
    assert seconds == pytest.approx(2.8, abs=0.15)
    assert 0.2 < peak < 0.45


@pytest.mark.parametrize("media_type", MEDIA_TYPES)
def test_every_prefix_plays_and_is_close_behind(media_type: str) -> None:
    coder = encoder(media_type, RATE_HZ)
    data = b""
    for fed in range(1, 6):
        data += coder.feed(tone(0.8))
        seconds, _ = decoded(data)
        assert seconds > 0.8 * fed - 0.6


@pytest.mark.parametrize("media_type", MEDIA_TYPES)
def test_nothing_fed_is_still_a_file(media_type: str) -> None:
    seconds, peak = decoded(encoder(media_type, RATE_HZ).finish())
    assert 0 < seconds < 0.5
    assert peak < 0.01


@pytest.mark.parametrize("media_type", MEDIA_TYPES)
@pytest.mark.parametrize("rate_hz", [8_000, 16_000, 22_050, 24_000, 48_000])
def test_any_rate_of_a_voice_is_taken(media_type: str, rate_hz: int) -> None:
    coder = encoder(media_type, rate_hz)
    seconds, _ = decoded(coder.feed(tone(1.0, rate_hz)) + coder.feed(Pcm(b"", rate_hz)) + coder.finish())
    assert seconds == pytest.approx(1.0, abs=0.2)


def test_wav_header_says_that_the_length_is_unknown() -> None:
    data = encoder(WAV, RATE_HZ).feed(tone(0.1))
    assert struct.unpack("<4sI4s4sIHHIIHH4sI", data[:44]) == (
        b"RIFF",
        0xFFFFFFFF,
        b"WAVE",
        b"fmt ",
        16,
        1,
        1,
        RATE_HZ,
        2 * RATE_HZ,
        2,
        16,
        b"data",
        0xFFFFFFFF,
    )


def test_mp4_is_fragmented() -> None:
    coder = encoder(MP4, RATE_HZ)
    data = coder.feed(tone(2.2)) + coder.finish()
    assert data[4:8] == b"ftyp"
    assert data.count(b"moof") >= 4
    assert data.index(b"moov") < data.index(b"moof")


@pytest.mark.parametrize(("media_type", "limit"), [(MP3, 6_500), (MP4, 7_000), (OGG, 4_500)])
def test_compressed_speech_is_small(media_type: str, limit: int) -> None:
    coder = encoder(media_type, RATE_HZ)
    noise = np.random.default_rng(3).standard_normal(RATE_HZ * 5).astype(np.float32) * 0.1
    data = coder.feed(Pcm.from_float32(noise, RATE_HZ)) + coder.finish()
    assert len(data) / 5 < limit


def test_another_rate_is_refused() -> None:
    for media_type in MEDIA_TYPES:
        with pytest.raises(ValueError, match="16000"):
            encoder(media_type, RATE_HZ).feed(tone(0.1, 16_000))


def test_unknown_media_type_is_refused() -> None:
    with pytest.raises(ValueError, match="flac"):
        encoder("audio/flac", RATE_HZ)


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        (None, MP3),
        ("", MP3),
        ("*/*", MP3),
        ("audio/*", MP3),
        ("audio/ogg", OGG),
        ("AUDIO/WAV", WAV),
        ("audio/x-wav, audio/mp3;q=0.5", WAV),
        ("audio/wav;q=0.2, audio/mp4", MP4),
        ("audio/mpeg;q=0, audio/*", MP4),
        ("audio/*;q=0.5, audio/ogg;q=0.9", OGG),
        ("*/*, audio/wav", WAV),
        ("text/html, */*;q=0.1", MP3),
        ("text/plain", None),
        ("audio/flac", None),
        ("audio/mpeg;q=0", None),
        ("audio/mpeg;q=banana", None),
        ("nonsense,,;;q=1", None),
        ("audio/ogg; codecs=opus", OGG),
    ],
)
def test_accept_header_chooses(accept: str | None, media_type: str | None) -> None:
    assert negotiate(accept) == media_type
