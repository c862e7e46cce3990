"""A running gateway on loopback, with a fake session and without speech engines."""

import os
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from gateway.service import HttpGateway, Service, Voice, open_service
from gateway.settings import Settings, load
from tests.gateway.fake_session import FakeSession

TOKEN = "t0ken-for-tests"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def environ(home: Path) -> dict[str, str]:
    """An environment in which nothing of this machine's user is touched."""
    return {"HOME": str(home), "CODRIVER_TOKEN": TOKEN, "CODRIVER_PORT": "0"}


@pytest.fixture
def socket_dir() -> Iterator[Path]:
    """A private folder whose path is short enough for sockets."""
    with tempfile.TemporaryDirectory(prefix="cd-", dir="/tmp") as name:
        yield Path(name)


@pytest.fixture
async def session(home: Path, socket_dir: Path) -> AsyncIterator[FakeSession]:
    """A live fake session named demo."""
    fake = await FakeSession(home / ".claude", socket_dir).start()
    yield fake
    await fake.stop()


class Client:
    """Talks to a gateway over HTTP."""

    def __init__(self, http: aiohttp.ClientSession, url: str) -> None:
        self.http = http
        self.url = url

    async def json(self, path: str, **fields: Any) -> dict[str, Any]:
        """A POST with JSON; the reply's JSON and its status."""
        body = {"format": "json", **fields}
        async with self.http.post(f"{self.url}/voice/{path}", json=body) as response:
            data: dict[str, Any] = await response.json()
            return data | {"status": response.status}

    async def ask(self, message: str, **fields: Any) -> dict[str, Any]:
        return await self.json("ask", message=message, **fields)

    async def reply(self, **fields: Any) -> dict[str, Any]:
        return await self.json("reply", **fields)


class Running:
    """A gateway that a test can stop and start again on the same state."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.environ = dict(environ)
        self.service: Service | None = None
        self.client: Client | None = None
        self.port = 0
        self._gateway: HttpGateway | None = None
        self._http: aiohttp.ClientSession | None = None

    async def start(self, *, no_auth: bool = False) -> Client:
        settings: Settings = load(None, self.environ)
        self.service = await open_service(settings, voice=Voice(None, None))
        self._gateway = HttpGateway(self.service, no_auth=no_auth)
        self.port = await self._gateway.start()
        headers = {} if no_auth else {"Authorization": f"Bearer {self.environ.get('CODRIVER_TOKEN', '')}"}
        self._http = aiohttp.ClientSession(headers=headers)
        self.client = Client(self._http, f"http://127.0.0.1:{self.port}")
        return self.client

    async def stop(self) -> None:
        if self._http is not None:
            await self._http.close()
        if self._gateway is not None:
            await self._gateway.stop()
        self._http = self._gateway = None

    async def restart(self) -> Client:
        await self.stop()
        return await self.start()


@pytest.fixture
async def running(environ: dict[str, str]) -> AsyncIterator[Running]:
    gateway = Running(environ)
    yield gateway
    await gateway.stop()


@pytest.fixture
async def client(running: Running) -> Client:
    """A client of a running gateway."""
    return await running.start()


@pytest.fixture(autouse=True)
def _own_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)
