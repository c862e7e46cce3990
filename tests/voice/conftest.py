"""Recordings made on the spot: no speech file is kept in the repository."""

from __future__ import annotations

import csv
import functools
import io
import os
import struct
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from voice.containers import Decoder
from voice.models import find_tts
from voice.pcm import Pcm

RATE_HZ = 16_000


@dataclass(frozen=True)
class Format:
    """A container and what goes into it."""

    muxer: str
    codec: str
    rate_hz: int = 48_000
    channels: int = 1
    options: tuple[tuple[str, str], ...] = ()
    has_video: bool = False


FORMATS = {
    "wav": Format("wav", "pcm_s16le"),
    "wav_24_bit_stereo": Format("wav", "pcm_s24le", 44_100, 2),
    "wav_float": Format("wav", "pcm_f32le"),
    "wav_mulaw": Format("wav", "pcm_mulaw", 8_000),
    "wav_adpcm": Format("wav", "adpcm_ima_wav"),
    "flac": Format("flac", "flac"),
    "mp3": Format("mp3", "libmp3lame"),
    "aac": Format("adts", "aac"),
    "m4a": Format("ipod", "aac"),
    "m4a_alac": Format("ipod", "alac"),
    "m4a_surround": Format("ipod", "aac", 48_000, 6),
    "mp4_fragmented": Format(
        "mp4", "aac", options=(("movflags", "frag_keyframe+empty_moov+default_base_moof"),)
    ),
    "mp4_video": Format("mp4", "aac", has_video=True),
    "3gp": Format("3gp", "aac"),
    "webm": Format("webm", "libopus"),
    "webm_live": Format("webm", "libopus", options=(("live", "1"),)),
    "matroska_video": Format("matroska", "libopus", has_video=True),
    "ogg_opus": Format("ogg", "libopus"),
    "ogg_vorbis": Format("ogg", "vorbis", 24_000, 2),
    "caf": Format("caf", "pcm_s16le"),
}


@dataclass(frozen=True)
class WavHeader:
    """A WAV header, true or not."""

    rate_hz: int = RATE_HZ
    channels: int = 1
    bits: int = 16
    data_bytes: int | None = None


class Recordings:
    """Makes recordings in any container; the same request is encoded once."""

    formats = FORMATS
    WavHeader = WavHeader

    def tone(self, seconds: float = 2.0, rate_hz: int = RATE_HZ, hz: float = 440.0) -> np.ndarray[Any, Any]:
        """A 16-bit tone at a third of full level."""
        time_s = np.arange(int(seconds * rate_hz)) / rate_hz
        return np.asarray(np.rint(10_000 * np.sin(2 * np.pi * hz * time_s)), dtype=np.int16)

    @functools.cache  # noqa: B019 (one instance for the session)
    def tone_in(self, name: str, seconds: float = 2.0) -> bytes:
        """The tone in one of FORMATS, on every channel."""
        form = FORMATS[name]
        return self.encode(form, np.stack([self.tone(seconds, form.rate_hz)] * form.channels))

    def encode(self, form: Format, channels: np.ndarray[Any, Any]) -> bytes:
        """Samples of shape (channels, samples) at the format's rate, muxed in memory."""
        buffer = io.BytesIO()
        with av.open(buffer, "w", format=form.muxer, options=dict(form.options)) as sink:
            video = sink.add_stream("mpeg4", rate=10) if form.has_video else None
            layout = {1: "mono", 2: "stereo", 6: "5.1"}[form.channels]
            audio = sink.add_stream(form.codec, rate=form.rate_hz, layout=layout, options={"strict": "-2"})
            if video is not None:
                video.width, video.height, video.pix_fmt = 64, 64, "yuv420p"
                for _ in range(10):
                    sink.mux(video.encode(av.VideoFrame(64, 64, "yuv420p")))
                sink.mux(video.encode(None))
            for start in range(0, channels.shape[1], 1024):
                piece = np.ascontiguousarray(channels[:, start : start + 1024])
                frame = av.AudioFrame.from_ndarray(piece, format="s16p", layout=layout)
                frame.sample_rate, frame.pts = form.rate_hz, start
                sink.mux(audio.encode(frame))
            sink.mux(audio.encode(None))
        return buffer.getvalue()

    def wav(self, data: bytes, header: WavHeader = WavHeader()) -> bytes:  # noqa: B008 (frozen)
        """A WAV as its header says it is."""
        block = header.channels * header.bits // 8
        size = len(data) if header.data_bytes is None else header.data_bytes
        shape = struct.pack(
            "<IHHIIHH",
            16,
            1,
            header.channels,
            header.rate_hz,
            header.rate_hz * block & 0xFFFF_FFFF,
            block & 0xFFFF,
            header.bits,
        )
        riff = struct.pack("<4sI4s", b"RIFF", (36 + size) & 0xFFFF_FFFF, b"WAVE")
        return riff + b"fmt " + shape + struct.pack("<4sI", b"data", size) + data

    def amr(self, frames: int = 100) -> bytes:
        """AMR-NB frames of 20 ms at 12.2 kbit/s with arbitrary bits in them."""
        random = np.random.default_rng(7)
        return b"#!AMR\n" + b"".join(b"\x3c" + random.bytes(31) for _ in range(frames))

    def noise(self, seconds: float, rms: float) -> Pcm:
        """White noise."""
        samples = np.random.default_rng(11).standard_normal(int(seconds * RATE_HZ)) * rms
        return Pcm.from_float32(samples.astype(np.float32), RATE_HZ)


class Corpus:
    """Recorded speech and noise beside the repository, where it is."""

    def __init__(self, folder: Path) -> None:
        with (folder / "manifest.tsv").open(encoding="utf-8") as file:
            self._rows = list(csv.DictReader(file, delimiter="\t"))
        self._files = {path.name: path for path in folder.rglob("*.flac")}

    def clips(self, *kinds: str) -> Iterator[tuple[str, str, bytes]]:
        """File name, transcript and bytes."""
        for row in self._rows:
            if row["kind"] in kinds and row["file"] in self._files:
                yield row["file"], row["transcript"], self._files[row["file"]].read_bytes()


@pytest.fixture(scope="session")
def recordings() -> Recordings:
    return Recordings()


@pytest.fixture(scope="session")
def corpus() -> Corpus:
    beside = Path(__file__).resolve().parents[2].parent / "shared" / "corpus"
    folder = Path(os.environ.get("CODRIVER_CORPUS", beside))
    if not (folder / "manifest.tsv").is_file():
        pytest.skip("the corpus of recorded speech is not here")
    return Corpus(folder)


@pytest.fixture
async def decoder() -> AsyncIterator[Decoder]:
    decoder = Decoder()
    yield decoder
    await decoder.close()


@pytest.fixture(scope="session")
def speak() -> Callable[[str], Pcm]:
    """Synthetic speech at 16 kHz; each sentence is synthesised once."""
    piper = pytest.importorskip("piper")
    voice = piper.PiperVoice.load(find_tts("en_US-joe-medium").directory / "en_US-joe-medium.onnx")

    # Without its random part the voice says a sentence the same way each time.
    plain = piper.SynthesisConfig(noise_scale=0.0, noise_w_scale=0.0)

    @functools.cache
    def spoken(text: str) -> Pcm:
        chunks = list(voice.synthesize(text, plain))
        samples = np.concatenate([chunk.audio_int16_array for chunk in chunks])
        frame = av.AudioFrame.from_ndarray(samples.reshape(1, -1), format="s16", layout="mono")
        frame.sample_rate = chunks[0].sample_rate
        resampler = av.AudioResampler("s16", "mono", RATE_HZ)
        pieces = [*resampler.resample(frame), *resampler.resample(None)]
        return Pcm(b"".join(piece.to_ndarray().tobytes() for piece in pieces), RATE_HZ)

    return spoken
