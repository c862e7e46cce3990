"""One decoding process, from outside: start it, ask it, end it."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from voice.errors import DecoderFailed

_SCRIPT = Path(__file__).with_name("decoder_child.py")
_SLICE_BYTES = 256 * 1024
_HEAD_LIMIT_BYTES = 1024
# Nothing of the parent's environment: no token, no proxy, no preload. One
# thread is all there is to use, and OpenBLAS would reserve memory for more.
_ENVIRONMENT = {"LC_ALL": "C", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


class WorkerGone(Exception):
    """The process ended before it answered."""


@dataclass(frozen=True, slots=True)
class Request:
    """A recording for the worker, with its own limits."""

    container: str
    data: bytes = field(repr=False)
    seconds: float
    cpu_s: float

    def head(self) -> bytes:
        """The framed head that goes ahead of the data."""
        encoded = json.dumps(
            {
                "container": self.container,
                "seconds": self.seconds,
                "cpu_s": self.cpu_s,
                "size": len(self.data),
            }
        ).encode()
        return len(encoded).to_bytes(4, "big") + encoded


@dataclass(frozen=True, slots=True)
class Answer:
    """Mono 16 kHz samples, or the code of the error."""

    error: str | None
    is_damaged: bool
    is_spent: bool
    samples: bytes = field(repr=False)


class Worker:
    """A warm decoding process that takes one recording at a time."""

    def __init__(self, process: asyncio.subprocess.Process, samples_limit_bytes: int) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._stdin = process.stdin
        self._stdout = process.stdout
        self._samples_limit_bytes = samples_limit_bytes
        self.uses = 0

    @classmethod
    async def start(cls, memory_bytes: int, samples_limit_bytes: int) -> Worker:
        """A process that has loaded its libraries and given up its rights; raises DecoderFailed."""
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-I",
                "-B",
                str(_SCRIPT),
                str(memory_bytes),
                *_import_path(sys.path),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env=_ENVIRONMENT,
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            raise DecoderFailed("the decoding process could not be started") from error
        worker = cls(process, samples_limit_bytes)
        try:
            await worker._stdout.readexactly(1)
        except asyncio.IncompleteReadError as error:
            await worker.end()
            raise DecoderFailed("the decoding process ended at its start: is PyAV installed?") from error
        except BaseException:
            worker.kill()
            raise
        return worker

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether the process has not been seen to end."""
        return self._process.returncode is None and not self._stdout.at_eof()

    async def ask(self, request: Request) -> Answer:
        """Decode one recording; raises WorkerGone, or DecoderFailed for an answer that is none."""
        self.uses += 1
        try:
            await self._send(request)
            return await self._receive()
        except (ConnectionError, asyncio.IncompleteReadError) as error:
            raise WorkerGone from error

    async def _send(self, request: Request) -> None:
        self._stdin.write(request.head())
        view = memoryview(request.data)
        for start in range(0, len(view), _SLICE_BYTES):
            self._stdin.write(view[start : start + _SLICE_BYTES])
            await self._stdin.drain()
        await self._stdin.drain()

    async def _receive(self) -> Answer:
        """The process handles hostile bytes, so its own answer is checked like a stranger's."""
        size = int.from_bytes(await self._stdout.readexactly(4), "big")
        if size > _HEAD_LIMIT_BYTES:
            raise DecoderFailed("the decoding process answered out of order")
        try:
            match json.loads(await self._stdout.readexactly(size)):
                case {
                    "error": str() | None as error,
                    "is_damaged": bool(is_damaged),
                    "is_spent": bool(is_spent),
                    "size": int(length),
                } if 0 <= length <= self._samples_limit_bytes and length % 2 == 0:
                    samples = await self._stdout.readexactly(length)
                    return Answer(error, is_damaged, is_spent, samples)
        except ValueError as error_:
            raise DecoderFailed("the decoding process answered out of order") from error_
        raise DecoderFailed("the decoding process answered out of order")

    def kill(self) -> None:
        """End the process at once; ``end`` still has to be awaited."""
        if self._process.returncode is None:
            self._process.kill()

    async def end(self) -> None:
        """End the process and wait until it is gone."""
        self.kill()
        self._stdin.close()
        await self._process.wait()


def _import_path(entries: Sequence[str]) -> list[str]:
    """Where this process finds its packages; isolated mode leaves some of it out."""
    return [entry for entry in entries if Path(entry).is_absolute()]
