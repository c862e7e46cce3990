"""Sound as bytes a player takes while they are still being made: WAV, MP3, fragmented MP4, Ogg Opus."""

# The engines are an extra, loaded when first used.
# ruff: noqa: PLC0415
from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from voice.pcm import SAMPLE_BYTES, Pcm

if TYPE_CHECKING:
    from collections.abc import Iterable

WAV, MP3, MP4, OGG = "audio/wav", "audio/mpeg", "audio/mp4", "audio/ogg"
DEFAULT_MEDIA_TYPE = MP3
_UNKNOWN_SIZE = 0xFFFFFFFF
# A file without any sound is refused by some players; so nothing fed is this much silence.
_LEAST_MS = 100


class Encoder(Protocol):
    """Takes sound as it comes; what it returns, joined in order, is one file that plays."""

    def feed(self, pcm: Pcm) -> bytes:
        """The bytes that are ready; may be empty. Raises ValueError for another rate than announced."""
        ...

    def finish(self) -> bytes:
        """The last bytes. Nothing may be fed afterwards."""
        ...


def encoder(media_type: str, rate_hz: int) -> Encoder:
    """An encoder for one of the media types `negotiate` returns; raises ValueError for another one."""
    if media_type == WAV:
        return _WavEncoder(rate_hz)
    if media_type not in _FORMATS:
        raise ValueError(f"no encoder for {media_type!r}")
    return _ContainerEncoder(_FORMATS[media_type], rate_hz)


def negotiate(accept: str | None) -> str | None:
    """The media type to answer an Accept header with; None where nothing we make is acceptable.

    Absent, empty, `*/*` and `audio/*` give `audio/mpeg`. The highest quality wins, then the more specific
    range, then MP3, MP4, Ogg, WAV in this order; a quality of 0 refuses. What can't be parsed is passed over.
    """
    if accept is None or not accept.strip():
        return DEFAULT_MEDIA_TYPE
    ranges = list(_ranges(accept[:4096]))
    best: tuple[float, int, int] | None = None
    chosen: str | None = None
    for rank, media_type in enumerate((MP3, MP4, OGG, WAV)):
        matching = [(_specificity(name, media_type), quality) for name, quality in ranges]
        specific, quality = max(matching, default=(0, 0.0))
        score = (quality, specific, -rank)
        if specific and quality > 0 and (best is None or score > best):
            best, chosen = score, media_type
    return chosen


_NAMES: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("audio/mp3", "audio/mpeg3", "audio/x-mp3", "audio/x-mpeg"), MP3),
        **dict.fromkeys(("audio/m4a", "audio/x-m4a", "audio/aac", "audio/mp4a-latm"), MP4),
        **dict.fromkeys(("audio/opus", "application/ogg"), OGG),
        **dict.fromkeys(("audio/x-wav", "audio/wave", "audio/vnd.wave", "audio/x-pn-wav"), WAV),
    }
)


def _ranges(accept: str) -> Iterable[tuple[str, float]]:
    for part in accept.split(","):
        name, *parameters = (piece.strip().lower() for piece in part.split(";"))
        quality = 1.0
        for parameter in parameters:
            key, _, value = parameter.partition("=")
            if key.strip() == "q":
                try:
                    quality = min(max(float(value), 0.0), 1.0)
                except ValueError:
                    quality = 0.0
        if "/" in name:
            yield _NAMES.get(name, name), quality


def _specificity(name: str, media_type: str) -> int:
    if name == media_type:
        return 3
    return {"audio/*": 2, "*/*": 1}.get(name, 0)


class _WavEncoder:
    """A header whose sizes are unknown, then the samples as they are."""

    def __init__(self, rate_hz: int) -> None:
        self._rate_hz = rate_hz
        self._is_begun = False

    def feed(self, pcm: Pcm) -> bytes:
        _check_rate(pcm, self._rate_hz)
        if self._is_begun:
            return pcm.samples
        self._is_begun = True
        return self._header() + pcm.samples

    def finish(self) -> bytes:
        return b"" if self._is_begun else self.feed(_silence(self._rate_hz))

    def _header(self) -> bytes:
        rate = self._rate_hz
        return (
            struct.pack("<4sI4s", b"RIFF", _UNKNOWN_SIZE, b"WAVE")
            + struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, rate, rate * SAMPLE_BYTES, SAMPLE_BYTES, 16)
            + struct.pack("<4sI", b"data", _UNKNOWN_SIZE)
        )


@dataclass(frozen=True, slots=True)
class _Format:
    """How PyAV is asked for one container."""

    container: str
    codec: str
    bit_rate: int
    rates_hz: tuple[int, ...]
    options: Mapping[str, str]
    codec_options: Mapping[str, str] = field(default_factory=dict)


_FORMATS: Mapping[str, _Format] = MappingProxyType(
    {
        MP3: _Format(
            "mp3",
            "libmp3lame",
            48_000,
            (16_000, 22_050, 24_000, 32_000, 44_100, 48_000),
            # No tag and no Xing header: both would be patched at the end, which a stream can't be.
            {"write_xing": "0", "id3v2_version": "0"},
            # Without the bit reservoir every frame decodes by itself, wherever the stream is cut.
            {"reservoir": "0"},
        ),
        MP4: _Format(
            "mp4",
            "aac",
            48_000,
            (16_000, 22_050, 24_000, 32_000, 44_100, 48_000),
            {"movflags": "empty_moov+default_base_moof", "frag_duration": "500000"},
        ),
        OGG: _Format(
            "ogg", "libopus", 24_000, (48_000,), {"page_duration": "200000"}, {"application": "voip"}
        ),
    }
)


class _Sink:
    """What the muxer writes to; it can't seek, so nothing is ever patched."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []

    def write(self, data: bytes) -> int:
        self._chunks.append(bytes(data))
        return len(data)

    def take(self) -> bytes:
        """What was written since the last call."""
        taken = b"".join(self._chunks)
        self._chunks.clear()
        return taken


class _ContainerEncoder:
    """One of the compressed formats through PyAV, which is imported on first use only."""

    def __init__(self, wanted: _Format, rate_hz: int) -> None:
        import av

        self._rate_hz = rate_hz
        self._sink = _Sink()
        self._samples = 0
        self._output = av.open(
            self._sink, "w", format=wanted.container, options={**wanted.options, "flush_packets": "1"}
        )
        stream: Any = self._output.add_stream(wanted.codec, rate=_nearest(rate_hz, wanted.rates_hz))
        stream.bit_rate = wanted.bit_rate
        stream.layout = "mono"
        stream.options = dict(wanted.codec_options)
        self._stream = stream

    def feed(self, pcm: Pcm) -> bytes:
        _check_rate(pcm, self._rate_hz)
        if len(pcm):
            self._encode(pcm)
        return self._sink.take()

    def finish(self) -> bytes:
        if not self._samples:
            self._encode(_silence(self._rate_hz))
        self._output.mux(self._stream.encode(None))
        self._output.close()
        return self._sink.take()

    def _encode(self, pcm: Pcm) -> None:
        import av

        frame = av.AudioFrame(format="s16", layout="mono", samples=len(pcm))
        frame.planes[0].update(pcm.samples)
        frame.sample_rate = self._rate_hz
        frame.time_base = Fraction(1, self._rate_hz)
        frame.pts = self._samples
        self._samples += len(pcm)
        self._output.mux(self._stream.encode(frame))


def _nearest(rate_hz: int, rates_hz: tuple[int, ...]) -> int:
    return min(rates_hz, key=lambda candidate: (candidate < rate_hz, abs(candidate - rate_hz)))


def _silence(rate_hz: int) -> Pcm:
    return Pcm(bytes(SAMPLE_BYTES * max(1, rate_hz * _LEAST_MS // 1000)), rate_hz)


def _check_rate(pcm: Pcm, rate_hz: int) -> None:
    if pcm.rate_hz != rate_hz:
        raise ValueError(f"sound at {pcm.rate_hz} Hz fed to an encoder for {rate_hz} Hz")
