"""A running `codriver serve` over an isolated home, and a small client for its HTTP door."""

import asyncio
import os
import secrets
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import aiohttp

from tests.live.home import IsolatedHome

START_LIMIT_S = 30.0
STOP_LIMIT_S = 10.0
WAIT_S = 10
MARKER = "Still working"


class ServiceFailed(Exception):
    """The service did not start, or ended on its own; the text holds the end of its log."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A JSON reply: the status, the body, and the id of the ask it belongs to, where one was given."""

    status: int
    body: Mapping[str, Any]
    ask_id: str | None = None

    @property
    def state(self) -> str:
        return str(self.body["state"])

    @property
    def say(self) -> str:
        return str(self.body["say"])

    @property
    def message_id(self) -> str:
        return str(self.body["message_id"])

    @property
    def session_id(self) -> str:
        return str(self.body["session"]["id"])


@dataclass(frozen=True, slots=True)
class Sound:
    """A spoken reply: encoded audio and what the headers say about it."""

    status: int
    content_type: str
    data: bytes
    state: str
    heard: str


@dataclass(frozen=True, slots=True)
class Client:
    """One client of the gateway; `name` keeps its cursor and current session apart from others'."""

    http: aiohttp.ClientSession
    url: str
    token: str
    name: str

    def named(self, name: str) -> "Client":
        return Client(self.http, self.url, self.token, name)

    async def ask(self, session: str, message: str, **fields: Any) -> Reply:
        """Deliver a prompt and wait up to `wait` (10) seconds; `id=None` sends no idempotency key."""
        given = {"session": session, "message": message, "wait": WAIT_S, "id": uuid.uuid4().hex, **fields}
        given = {key: value for key, value in given.items() if value is not None}
        reply = await self._json("POST", "/voice/ask", json={"client": self.name, **given})
        return replace(reply, ask_id=given.get("id"))

    async def reply(self, session: str, to: Reply, **fields: Any) -> Reply:
        """The answer of the ask that heard `to`, waiting up to `wait` (10) seconds."""
        given = {"session": session, "wait": WAIT_S, **fields}
        if to.ask_id is not None:
            given["id"] = to.ask_id
        reply = await self._json("POST", "/voice/reply", json={"client": self.name, **given})
        return replace(reply, ask_id=to.ask_id)

    async def sessions(self, **fields: Any) -> Reply:
        return await self._json("GET", "/voice/sessions", params={"client": self.name, **fields})

    async def until_settled(self, session: str, first: Reply, *, limit_s: float = 40.0) -> list[Reply]:
        """Keep asking for the answer of `first` while it is being worked on; all replies, in order."""
        replies = [first]
        async with asyncio.timeout(limit_s):
            while replies[-1].state == "working":
                replies.append(await self.reply(session, first))
        return replies

    async def answer(self, session: str, message: str, **fields: Any) -> Reply:
        """Ask, and follow it to its end."""
        first = await self.ask(session, message, **fields)
        return (await self.until_settled(session, first))[-1]

    async def speak(self, session: str, recording: bytes, accept: str, **fields: Any) -> Sound:
        """Post a recording and get a spoken reply."""
        query = {"client": self.name, "session": session, "format": "audio", **fields}
        headers = {**self._headers(), "Content-Type": "audio/wav", "Accept": accept}
        url = f"{self.url}/voice/ask"
        async with self.http.post(url, params=query, data=recording, headers=headers) as response:
            return Sound(
                status=response.status,
                content_type=response.content_type,
                data=await response.read(),
                state=response.headers.get("X-Voice-State", ""),
                heard=unquote(response.headers.get("X-Voice-Heard", "")),
            )

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    async def _json(self, method: str, path: str, **how: Any) -> Reply:
        headers = {**self._headers(), "Accept": "application/json"}
        async with self.http.request(method, self.url + path, headers=headers, **how) as response:
            return Reply(response.status, await response.json())


@dataclass(frozen=True, slots=True)
class Service:
    """The running service: its client, and the log it writes."""

    client: Client
    log: Path

    def logged(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")


def program() -> Path:
    """The installed `codriver` command, beside the Python that runs the tests."""
    return Path(sys.executable).with_name("codriver")


@asynccontextmanager
async def serving(home: IsolatedHome) -> AsyncIterator[Service]:
    """`codriver serve` on a free loopback port for the sessions of `home`; ended by SIGTERM."""
    port, token = _free_port(), secrets.token_urlsafe(24)
    log = home.root / "serve.log"
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            str(program()),
            *("serve", "--host", "127.0.0.1", "--port", str(port)),
            env=_environment(home, token),
            cwd=home.root,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=90)) as http:
            client = Client(http, f"http://127.0.0.1:{port}", token, "live")
            await _until_alive(http, client.url, process, log)
            yield Service(client, log)
    finally:
        await _stop(process)


def _environment(home: IsolatedHome, token: str) -> dict[str, str]:
    return {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin"]),
        "LANG": "C.UTF-8",
        "HOME": str(home.home),
        "XDG_RUNTIME_DIR": str(home.runtime),
        "CLAUDE_CONFIG_DIR": str(home.claude),
        "CODRIVER_TOKEN": token,
        "CODRIVER_STATE_DIR": str(home.state),
    }


async def _until_alive(
    http: aiohttp.ClientSession, url: str, process: asyncio.subprocess.Process, log: Path
) -> None:
    try:
        async with asyncio.timeout(START_LIMIT_S):
            while process.returncode is None:
                try:
                    async with http.get(f"{url}/healthz") as response:
                        if response.status == 200:
                            return
                except aiohttp.ClientConnectionError:
                    pass
                await asyncio.sleep(0.05)
    except TimeoutError:
        pass
    raise ServiceFailed(f"codriver serve is not up (exit {process.returncode}): {log.read_text()[-2000:]}")


async def _stop(process: asyncio.subprocess.Process) -> None:
    """SIGTERM, then SIGKILL for a service that does not heed it."""
    if process.returncode is not None:
        return
    process.send_signal(signal.SIGTERM)
    try:
        async with asyncio.timeout(STOP_LIMIT_S):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
        raise ServiceFailed("codriver serve did not end on SIGTERM") from None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
