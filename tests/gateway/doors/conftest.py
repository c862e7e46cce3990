"""A gateway behind its real door, with its limits, its voice and its settings in a test's hand."""

import io
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from gateway.doors.protocol import ConnectionLimits
from gateway.service import HttpGateway, Service, Voice, open_service
from gateway.settings import load
from tests.gateway.conftest import TOKEN
from tests.gateway.doors import wire
from tests.gateway.doors.wire import Response
from voice.ears import Heard

WAV = b"RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00" + bytes(24)


class FakeEars:
    """Hears what it is told to; a recording's bytes are only counted."""

    def __init__(
        self, text: str = "run the tests", verdict: str = "heard", error: Exception | None = None
    ) -> None:
        self.text = text
        self.verdict: Any = verdict
        self.error = error
        self.recordings: list[bytes] = []

    async def hear(self, data: bytes, hints: object) -> Heard:
        self.recordings.append(data)
        if self.error is not None:
            raise self.error
        return Heard(self.text, self.verdict, (), 1.0, "wav", False, {})

    async def close(self) -> None:
        """Nothing to let go of."""


class FakeMouth:
    """Speaks each sentence as its bytes in brackets; may fail after so many chunks."""

    def __init__(self, fails_after: int | None = None, error: Exception | None = None) -> None:
        self.fails_after = fails_after
        self.error = error or RuntimeError("planted")
        self.spoken: list[str] = []
        self.media_types: list[str] = []

    async def speak(self, sentences: Sequence[str], media_type: str) -> AsyncGenerator[bytes, None]:
        self.media_types.append(media_type)
        for number, sentence in enumerate(sentences):
            if self.fails_after is not None and number >= self.fails_after:
                raise self.error
            self.spoken.append(sentence)
            yield f"[{sentence}]".encode()

    async def close(self) -> None:
        """Nothing to let go of."""


@dataclass
class Door:
    """A running gateway; `say` and `ask` speak to it with a right token."""

    service: Service
    port: int
    token: str = TOKEN
    ears: FakeEars | None = None
    mouth: FakeMouth | None = None

    async def say(self, method: str, target: str, body: bytes | str | None = None, **more: Any) -> Response:
        more.setdefault("token", self.token)
        data = wire.request(method, target, body, **more)
        return await wire.said(self.port, data, has_body=method != "HEAD")

    async def post(
        self, path: str, body: bytes | str = b"", kind: str | None = None, **more: Any
    ) -> Response:
        headers = {"Content-Type": kind} if kind is not None else {}
        return await self.say("POST", path, body, headers={**headers, **more.pop("headers", {})}, **more)


@dataclass
class Doors:
    """Opens doors, and closes them when the test is over."""

    environ: Mapping[str, str]
    _opened: list[HttpGateway] = field(default_factory=list)

    async def open(
        self,
        *,
        limits: ConnectionLimits | None = None,
        ears: Any = None,
        mouth: Any = None,
        no_auth: bool = False,
        **settings: str,
    ) -> Door:
        environ = {**self.environ, **{f"CODRIVER_{name.upper()}": value for name, value in settings.items()}}
        service = await open_service(load(None, environ), voice=Voice(ears, mouth))
        gateway = HttpGateway(service, no_auth=no_auth, limits=limits)
        self._opened.append(gateway)
        return Door(service, await gateway.start(), "" if no_auth else TOKEN, ears, mouth)

    async def close(self) -> None:
        for gateway in self._opened:
            await gateway.stop()


@pytest.fixture
async def doors(environ: dict[str, str]) -> AsyncIterator[Doors]:
    opened = Doors(environ)
    yield opened
    await opened.close()


@pytest.fixture
async def door(doors: Doors) -> Door:
    """A gateway with default settings and no speech."""
    return await doors.open()


@dataclass
class Written:
    """Everything that any logger wrote, formatted with its traceback."""

    stream: io.StringIO

    @property
    def text(self) -> str:
        return self.stream.getvalue()

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    def clear(self) -> None:
        self.stream.seek(0)
        self.stream.truncate()


@pytest.fixture
def written() -> Iterator[Written]:
    """Every record of every logger at DEBUG, through a handler at the root."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s %(message)s %(args)s"))
    root = logging.getLogger()
    before = {logger: (logger.level, logger.propagate) for logger in [root, *_loggers()]}
    for logger in before:
        logger.setLevel(logging.DEBUG)
        logger.propagate = True
    root.addHandler(handler)
    yield Written(stream)
    root.removeHandler(handler)
    for logger, (level, propagates) in before.items():
        logger.setLevel(level)
        logger.propagate = propagates


def _loggers() -> list[logging.Logger]:
    names = {
        "aiohttp.server",
        "aiohttp.access",
        "aiohttp.internal",
        "aiohttp.web",
        "asyncio",
        "codriver.http",
    }
    names |= set(logging.root.manager.loggerDict)
    return [logging.getLogger(name) for name in names]
