"""Any recording a phone or a browser makes, turned into mono 16 kHz samples.

The container is told by the bytes, never by a name or a content type, and the
decoding happens in processes of their own (:mod:`voice.decoder_child`).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from voice.decoder_worker import Answer, Request, Worker, WorkerGone
from voice.errors import Busy, DecoderFailed, TooLarge, TooLong, Truncated, Unreadable
from voice.pcm import SAMPLE_BYTES, SPEECH_RATE_HZ, Pcm


class Container(StrEnum):
    """The containers that are read, named as people name them."""

    WAV = "wav"
    FLAC = "flac"
    MP3 = "mp3"
    AAC = "aac"
    MP4 = "mp4"
    THREE_GP = "3gp"
    WEBM = "webm"
    OGG = "ogg"
    CAF = "caf"
    AMR = "amr"


_FIXED: tuple[tuple[bytes, Container], ...] = (
    (b"\x1a\x45\xdf\xa3", Container.WEBM),
    (b"OggS\x00", Container.OGG),
    (b"fLaC\x00\x00\x00\x22", Container.FLAC),
    (b"fLaC\x80\x00\x00\x22", Container.FLAC),
    (b"caff\x00\x01", Container.CAF),
    (b"#!AMR\n", Container.AMR),
    (b"#!AMR-WB\n", Container.AMR),
)
_MP4_BOXES = frozenset(
    (b"ftyp", b"styp", b"moov", b"moof", b"mdat", b"free", b"skip", b"wide", b"sidx", b"emsg", b"pnot")
)
# Sizes that a writer leaves in a WAV header when it can't go back to fill them in.
_STREAMED_WAV_BYTES = 0x7FFF_0000


def sniff(head: bytes) -> Container | None:
    """The container by its first bytes (all of them, or at least 12); None for text and everything else.

    Every test needs a byte that text in ASCII, UTF-8 or UTF-16 does not begin with.
    """
    if head[:4] in (b"RIFF", b"RIFX", b"RF64", b"BW64") and head[8:12] == b"WAVE":
        return Container.WAV
    for magic, container in _FIXED:
        if head.startswith(magic):
            return container
    if head[4:8] in _MP4_BOXES and head[0] < 0x09:
        return Container.THREE_GP if head[4:11] == b"ftyp3gp" else Container.MP4
    if _has_id3(head):
        after = 10 + _synchsafe(head[6:10])
        return sniff(head[after:]) or Container.MP3
    return _sniff_frames(head)


def _has_id3(head: bytes) -> bool:
    return head[:3] == b"ID3" and len(head) >= 10 and head[3] in (2, 3, 4) and max(head[6:10]) < 0x80


def _synchsafe(four: bytes) -> int:
    return four[0] << 21 | four[1] << 14 | four[2] << 7 | four[3]


def _sniff_frames(head: bytes) -> Container | None:
    """MPEG audio without a container: a frame header, and another one where it says the next begins."""
    if len(head) < 6 or head[0] != 0xFF:
        return None
    for container, length_of in ((Container.AAC, _adts_frame_bytes), (Container.MP3, _mpeg_frame_bytes)):
        length = length_of(head)
        if length and (length + 6 > len(head) or length_of(head[length : length + 6])):
            return container
    return None


def _adts_frame_bytes(head: bytes) -> int:
    """The length of the ADTS frame that begins here, 0 if none does."""
    if head[0] != 0xFF or head[1] & 0xF6 != 0xF0 or (head[2] >> 2) & 0x0F > 12:
        return 0
    length = (head[3] & 0x03) << 11 | head[4] << 3 | head[5] >> 5
    return length if length > 7 else 0


_MPEG1_KBPS = {
    2: (0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384),
    1: (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
}
_MPEG2_KBPS = (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)
_MPEG_RATES_HZ = {3: (44_100, 48_000, 32_000), 2: (22_050, 24_000, 16_000), 0: (11_025, 12_000, 8_000)}


def _mpeg_frame_bytes(head: bytes) -> int:
    """The length of the MPEG layer II or III frame that begins here, 0 if none does."""
    version, layer = (head[1] >> 3) & 3, (head[1] >> 1) & 3
    rate_index, kbps_index = (head[2] >> 2) & 3, head[2] >> 4
    if head[0] != 0xFF or head[1] & 0xE0 != 0xE0 or version == 1 or layer not in (1, 2):
        return 0
    if rate_index == 3 or kbps_index in (0, 15):
        return 0
    kbps = (_MPEG1_KBPS[layer] if version == 3 else _MPEG2_KBPS)[kbps_index]
    samples = 576 if layer == 1 and version != 3 else 1152
    padding = (head[2] >> 1) & 1
    return samples // 8 * kbps * 1000 // _MPEG_RATES_HZ[version][rate_index] + padding


def is_cut_short(container: Container, data: bytes) -> bool:
    """Whether the recording itself says that more of it should be here."""
    if container in (Container.MP4, Container.THREE_GP):
        return _mp4_is_cut_short(data)
    return container is Container.WAV and _wav_is_cut_short(data)


def _mp4_is_cut_short(data: bytes) -> bool:
    """A box that runs past the end, or no index at all."""
    position, has_index = 0, False
    while position + 8 <= len(data):
        size, kind = int.from_bytes(data[position : position + 4], "big"), data[position + 4 : position + 8]
        if size == 1:
            size = int.from_bytes(data[position + 8 : position + 16], "big")
        end = position + size if size else len(data)
        if end > len(data) or end < position + 8:
            return True
        has_index |= kind in (b"moov", b"moof")
        position = end
    return not has_index


def _wav_is_cut_short(data: bytes) -> bool:
    """Fewer samples than the header says, by more than an odd byte or two."""
    position = 12
    while position + 8 <= len(data):
        size = int.from_bytes(data[position + 4 : position + 8], "little")
        position += 8
        if data[position - 8 : position - 4] == b"data":
            return size < _STREAMED_WAV_BYTES and size > len(data) - position + 8
        position += size + size % 2
    return True


@dataclass(frozen=True, slots=True)
class Limits:
    """What a recording may cost; ``memory_bytes`` is the room to decode in, on top of the libraries."""

    bytes: int = 25_000_000
    seconds: float = 120.0
    wall_s: float = 10.0
    start_s: float = 30.0
    memory_bytes: int = 256 * 1024 * 1024

    @property
    def samples_bytes(self) -> int:
        """The most that a decoded recording takes: 16-bit samples, and a second over."""
        return int((self.seconds + 1) * SPEECH_RATE_HZ) * SAMPLE_BYTES


@dataclass(frozen=True, slots=True)
class Decoded:
    """A recording as mono 16 kHz samples; ``is_damaged`` when a part of it was lost."""

    pcm: Pcm = field(repr=False)
    container: str
    is_damaged: bool


_ERRORS: dict[str, Callable[[Limits], Exception]] = {
    "too_long": lambda limits: TooLong(f"the recording is longer than {limits.seconds:g} seconds"),
    "unreadable": lambda limits: Unreadable("no sound in the recording can be decoded"),
}


class Decoder:
    """Decodes recordings in warm child processes, started when first needed.

    A process is replaced when it crashes, runs out of time or has been used
    ``uses_per_worker`` times. Bound to the event loop it is first used in.
    """

    def __init__(self, limits: Limits | None = None, *, workers: int = 2, uses_per_worker: int = 200) -> None:
        self.limits = limits or Limits()
        self._slots = asyncio.Semaphore(workers)
        self._uses_per_worker = uses_per_worker
        self._idle: list[Worker] = []
        self._busy: set[Worker] = set()
        self._ended: list[Worker] = []
        self._is_closed = False

    @property
    def pids(self) -> tuple[int, ...]:
        """The ids of the running processes."""
        return tuple(worker.pid for worker in (*self._idle, *self._busy))

    async def warm(self) -> None:
        """Start a first process, so that the first recording need not wait for it; raises DecoderFailed."""
        async with self._slots:
            self._idle.append(await self._start())

    async def close(self) -> None:
        """End every process; recordings still being decoded fail. May be called twice."""
        self._is_closed = True
        for worker in self._busy:
            worker.kill()
        self._ended += self._idle
        self._idle = []
        await self._reap()

    async def decode(self, data: bytes) -> Decoded:
        """The whole recording, or what could be saved of it.

        Raises TooLarge, TooLong, Unreadable (Truncated where it was cut off),
        DecoderFailed, and Busy when no process came free in time.
        """
        if len(data) > self.limits.bytes:
            raise TooLarge(f"the recording has more than {self.limits.bytes} bytes")
        container = sniff(data)
        if container is None:
            raise Unreadable("not a recording in a known container")
        answer = await self._ask(Request(container, data, self.limits.seconds, self.limits.wall_s))
        was_cut = is_cut_short(container, data)
        if answer.error is None:
            return Decoded(Pcm(answer.samples, SPEECH_RATE_HZ), container, answer.is_damaged or was_cut)
        if answer.error == "unreadable" and was_cut:
            raise Truncated("the recording was cut off before its index or its first sound")
        raise _ERRORS.get(answer.error, _ERRORS["unreadable"])(self.limits)

    async def _ask(self, request: Request) -> Answer:
        try:
            async with asyncio.timeout(self.limits.wall_s):
                await self._slots.acquire()
        except TimeoutError as error:
            raise Busy("no decoding process came free") from error
        try:
            await self._reap()
            if (idle := self._take_idle()) is not None:
                # One that died while it waited says nothing about the recording.
                with contextlib.suppress(WorkerGone):
                    return await self._ask_worker(idle, request)
            return await self._ask_worker(await self._start(), request)
        except WorkerGone as error:
            raise DecoderFailed("the decoding process ended on this recording") from error
        finally:
            self._slots.release()
            if self._is_closed:
                await self._reap()

    async def _ask_worker(self, worker: Worker, request: Request) -> Answer:
        self._busy.add(worker)
        is_fit = False
        try:
            async with asyncio.timeout(self.limits.wall_s):
                answer = await worker.ask(request)
            is_fit = not answer.is_spent and worker.uses < self._uses_per_worker and not self._is_closed
            return answer
        except TimeoutError as error:
            raise DecoderFailed("decoding took too long") from error
        finally:
            self._busy.discard(worker)
            if is_fit:
                self._idle.append(worker)
            else:
                worker.kill()
                self._ended.append(worker)

    def _take_idle(self) -> Worker | None:
        while self._idle:
            worker = self._idle.pop()
            if worker.is_alive:
                return worker
            self._ended.append(worker)
        return None

    async def _start(self) -> Worker:
        if self._is_closed:
            raise DecoderFailed("the decoder is closed")
        try:
            async with asyncio.timeout(self.limits.start_s):
                return await Worker.start(self.limits.memory_bytes, self.limits.samples_bytes)
        except TimeoutError as error:
            raise DecoderFailed("the decoding process did not start in time") from error

    async def _reap(self) -> None:
        while self._ended:
            await self._ended.pop().end()
