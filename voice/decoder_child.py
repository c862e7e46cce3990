"""The decoding process: recordings come in on stdin, mono 16 kHz samples go out on stdout.

Run as a script, by path, so that it needs nothing but PyAV and NumPy. What it
decodes was written by strangers, so once both are loaded it gives up what it
does not need: no file or socket can be opened any more, no file can grow, no
process can be started, memory and processor time are capped (the wall clock is
the parent's business).

A request is a 4-byte big-endian length, that many bytes of JSON
(``container``, ``seconds``, ``cpu_s``, ``size``), then ``size`` bytes. The
answer is framed alike: ``error`` (a code, or null), ``is_damaged``,
``is_spent`` (do not use this process again) and ``size``, then the samples.
"""

# The libraries are loaded once the import path is complete, and before the lock-down.
# ruff: noqa: PLC0415
from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RATE_HZ = 16_000
# The demuxer for each container. Naming it keeps FFmpeg from guessing, which is
# how a playlist becomes a list of files to open.
DEMUXERS = {
    "wav": "wav",
    "flac": "flac",
    "mp3": "mp3",
    "aac": "aac",
    "mp4": "mov",
    "3gp": "mov",
    "webm": "matroska",
    "ogg": "ogg",
    "caf": "caf",
    "amr": "amr",
}
# fmt: off
CODECS = frozenset((
    "aac", "aac_latm", "adpcm_g722", "adpcm_g726", "adpcm_ima_qt", "adpcm_ima_wav", "adpcm_ms",
    "adpcm_yamaha", "alac", "amrnb", "amrwb", "flac", "gsm", "gsm_ms", "libgsm", "libgsm_ms",
    "libopencore_amrnb", "libopencore_amrwb", "libopus", "libspeex", "libvorbis", "mp2", "mp2float",
    "mp3", "mp3float", "opus", "pcm_alaw", "pcm_f32be", "pcm_f32le", "pcm_f64be", "pcm_f64le",
    "pcm_mulaw", "pcm_s16be", "pcm_s16le", "pcm_s24be", "pcm_s24le", "pcm_s32be", "pcm_s32le", "pcm_s8",
    "pcm_u8", "speex", "vorbis",
))
# fmt: on
LOWEST_RATE_HZ = 4_000
HIGHEST_RATE_HZ = 192_000
MOST_CHANNELS = 8
# Encoders pad the last frame: 120 s of AAC decode to 120.06 s.
PADDING_S = 0.25
# A stretch in which nothing decodes: what follows is not worth the time.
BAD_PACKETS_IN_A_ROW = 500
BAD_READS = 3
# A channel this far below the loudest is a dead microphone: 20 dB.
QUIET_CHANNEL = 0.01
# Channels whose mean has less than this share of the loudest one's energy cancel out: 6 dB.
CANCELLING = 0.25


class Refused(Exception):
    """The recording can't be had; ``code`` is one of the codes of voice.errors."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(slots=True)
class Sound:
    """Collects frames as 16-bit samples at 16 kHz, and counts seconds before any work is spent on them."""

    limit_s: float
    seconds: float = 0.0
    _shape: tuple[int, str, str] | None = None
    _resampler: Any = None
    _takes: list[list[NDArray[np.int16]]] = field(default_factory=list)

    def add(self, frame: Any) -> None:
        """Take one decoded frame; raises Refused for too much sound or a layout nobody records in."""
        channels = frame.layout.nb_channels
        if not LOWEST_RATE_HZ <= frame.sample_rate <= HIGHEST_RATE_HZ or not 1 <= channels <= MOST_CHANNELS:
            raise Refused("unreadable")
        self.seconds += frame.samples / frame.sample_rate
        if self.seconds > self.limit_s + PADDING_S:
            raise Refused("too_long")
        shape = (frame.sample_rate, frame.layout.name, frame.format.name)
        if shape != self._shape:
            self.flush()
            self._restart(shape)
        frame.pts = None
        self._keep(self._resampler.resample(frame))

    def flush(self) -> None:
        """Take what the resampler still holds."""
        if self._resampler is not None:
            self._keep(self._resampler.resample(None))
            self._resampler = None

    def mono(self) -> bytes:
        """Everything so far as one channel, 16-bit little endian."""
        import numpy as np

        takes = [mixed(np.concatenate(take, axis=1)) for take in self._takes if take]
        return b"".join(take.astype("<i2").tobytes() for take in takes)

    def _restart(self, shape: tuple[int, str, str]) -> None:
        from av.audio.resampler import AudioResampler

        self._shape = shape
        self._resampler = AudioResampler("fltp", None, RATE_HZ)
        self._takes.append([])

    def _keep(self, frames: list[Any]) -> None:
        import numpy as np

        for frame in frames:
            samples = np.nan_to_num(frame.to_ndarray(), nan=0.0, posinf=1.0, neginf=-1.0)
            self._takes[-1].append(np.clip(np.rint(samples * 32768.0), -32768, 32767).astype(np.int16))


def mixed(channels: NDArray[np.int16]) -> NDArray[np.int16]:
    """One channel from several, of shape (channels, samples), so that no voice is lost.

    The mean of the channels that carry sound; only the loudest where their
    mean is far weaker than it, as with one channel inverted.
    """
    import numpy as np

    if len(channels) == 1:
        return np.asarray(channels[0])
    energies = np.array([np.var(channel, dtype=np.float64) for channel in channels])
    loudest = int(np.argmax(energies))
    alive = channels[energies >= QUIET_CHANNEL * energies[loudest]]
    mean = alive.mean(axis=0, dtype=np.float32)
    if np.var(mean, dtype=np.float64) < CANCELLING * energies[loudest]:
        return np.asarray(channels[loudest])
    return np.asarray(np.rint(mean), dtype=np.int16)


def decode(data: bytes, container: str, limit_s: float) -> tuple[bytes, bool]:
    """Samples and whether something was lost; raises Refused.

    What was decoded before a fault is kept: a phone that loses its link sends
    half a recording, and half is worth having.
    """
    import av

    # codec_whitelist also keeps the probing of a video track from running its decoder.
    options = {"codec_whitelist": ",".join(sorted(CODECS))}
    sound = Sound(limit_s)
    try:
        source = av.open(
            io.BytesIO(data), mode="r", format=DEMUXERS[container], options=options, metadata_errors="ignore"
        )
    except av.error.FFmpegError as error:
        raise Refused("unreadable") from error
    with source:
        stream = _audio_stream(source)
        is_damaged = _collect(source, stream, sound)
        claimed_s = float(stream.duration * stream.time_base) if stream.duration else 0.0
    samples = sound.mono()
    if not samples:
        raise Refused("unreadable")
    is_short = container in {"mp4", "3gp", "flac"} and sound.seconds < 0.9 * claimed_s - 0.5
    return samples, is_damaged or is_short


def _audio_stream(source: Any) -> Any:
    """The first audio track that may be decoded, wherever it stands among the others."""
    for stream in source.streams.audio:
        codec = stream.codec_context
        if codec is not None and codec.name in CODECS:
            codec.thread_count = 1
            return stream
    raise Refused("unreadable")


def _collect(source: Any, stream: Any, sound: Sound) -> bool:
    """Decode packet by packet into ``sound``; tells whether a packet was lost.

    Errors of PyAV are also OSError, ValueError or EOFError; the base class has them all.
    """
    from av.error import FFmpegError

    is_damaged = False
    bad = 0
    for packet in _packets(source, stream):
        if packet is None:
            is_damaged = True
            continue
        # A partial last packet is how every streamed WAV ends.
        is_damaged |= packet.is_corrupt and source.format.name != "wav"
        try:
            for frame in packet.decode():
                sound.add(frame)
            bad = 0
        except FFmpegError:
            is_damaged = True
            bad += 1
            if bad > BAD_PACKETS_IN_A_ROW:
                break
    with contextlib.suppress(FFmpegError):
        sound.flush()
    return is_damaged


def _packets(source: Any, stream: Any) -> Iterator[Any]:
    """Packets of one track; None for each place that could not be read."""
    from av.error import FFmpegError

    for _ in range(BAD_READS):
        try:
            yield from source.demux(stream)
            return
        except FFmpegError:
            yield None


def lock_down(memory_bytes: int) -> None:
    """Give up everything decoding does not need, for good; ``memory_bytes`` is the room left to grow in."""
    with contextlib.suppress(OSError, ValueError):  # not to be had on macOS
        pages = int(_read_statm().split()[0])
        _limit(resource.RLIMIT_AS, pages * resource.getpagesize() + memory_bytes)
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_CORE, 0)
    with contextlib.suppress(OSError, ValueError):
        _limit(resource.RLIMIT_NPROC, 0)
    # A new descriptor always gets the lowest free number, so a limit there refuses all of them.
    lowest_free = os.dup(0)
    os.close(lowest_free)
    _limit(resource.RLIMIT_NOFILE, lowest_free)


def _read_statm() -> str:
    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 (pathlib is one import more in here)
        return file.read()


def _limit(what: int, value: int) -> None:
    resource.setrlimit(what, (value, value))


def _limit_cpu(cpu_s: float) -> None:
    """End this process when it computes longer than this from now on: a stalled parent can't."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime + cpu_s) + 1, hard))


def _warm_up() -> None:
    """Load the libraries and run everything once, so that nothing is opened later."""
    import av
    import av.audio.resampler
    import numpy as np

    av.logging.set_level(av.logging.PANIC)
    shape = struct.pack("<8sIHHIIHH", b"WAVEfmt ", 16, 1, 2, 8_000, 32_000, 4, 16)
    header = struct.pack("<4sI", b"RIFF", 676) + shape + struct.pack("<4sI", b"data", 640)
    decode(header + np.arange(320, dtype="<i2").tobytes(), "wav", 1.0)
    for container in DEMUXERS:
        with contextlib.suppress(Refused):
            decode(b"\0" * 64, container, 1.0)
    for name in sorted(CODECS):
        with contextlib.suppress(Exception):  # not every build has every codec
            av.CodecContext.create(name, "r").open()


def answer(data: bytes, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """The head and the samples that answer one request; never raises for what is in the recording."""
    try:
        samples, is_damaged = decode(data, request["container"], request["seconds"])
    except Refused as refusal:
        return {"error": refusal.code, "is_damaged": True, "is_spent": False, "size": 0}, b""
    except MemoryError:
        return {"error": "unreadable", "is_damaged": True, "is_spent": True, "size": 0}, b""
    except Exception:  # whatever a library makes of hostile bytes, they are not a recording
        return {"error": "unreadable", "is_damaged": True, "is_spent": True, "size": 0}, b""
    return {"error": None, "is_damaged": is_damaged, "is_spent": False, "size": len(samples)}, samples


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests until the parent closes the pipe."""
    while len(prefix := requests.read(4)) == 4:
        request = json.loads(requests.read(int.from_bytes(prefix, "big")))
        data = requests.read(request["size"])
        if len(data) < request["size"]:
            return
        _limit_cpu(request["cpu_s"])
        head, samples = answer(data, request)
        del data
        encoded = json.dumps(head).encode()
        answers.write(len(encoded).to_bytes(4, "big") + encoded)
        answers.write(samples)
        answers.flush()


def main(arguments: list[str]) -> None:
    """``MEMORY_BYTES [SYS_PATH…]``: warm up, lock down, say so with one byte, serve."""
    sys.path.extend(entry for entry in arguments[1:] if entry not in sys.path)
    _warm_up()
    lock_down(int(arguments[0]))
    sys.stdout.buffer.write(b"!")
    sys.stdout.buffer.flush()
    serve(sys.stdin.buffer, sys.stdout.buffer)


if __name__ == "__main__":
    main(sys.argv[1:])
