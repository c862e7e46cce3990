"""A rehearsal session as a process of its own, and what a sender outside it can do and see."""

import asyncio
import hashlib
import json
import os
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from gateway.agents.rehearsal.process import RehearsalProcess, launch

_PATIENCE_S = 20.0


class Listener:
    """A socket of ours: every connection made to it, as the list of its frames."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.address = f"uds:{path}"
        self.connections: list[list[dict[str, Any]]] = []

    async def open(self) -> "Listener":
        self.server = await asyncio.start_unix_server(self._connected, path=str(self.path))
        return self

    @property
    def frames(self) -> list[dict[str, Any]]:
        return [frame for connection in self.connections for frame in connection]

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        frames: list[dict[str, Any]] = []
        self.connections.append(frames)
        while line := await reader.readline():
            frames.append(json.loads(line))
        writer.close()


class Driver:
    """Sends to one rehearsal session over its socket, and reads its record and transcript."""

    def __init__(self, process: RehearsalProcess) -> None:
        self.process = process
        self.listeners: list[Listener] = []

    @property
    def record_path(self) -> Path:
        return self.process.config_dir / "sessions" / f"{self.process.pid}.json"

    def record(self) -> dict[str, Any]:
        return json.loads(self.record_path.read_bytes())

    @property
    def socket_path(self) -> Path:
        return Path(self.record()["messagingSocketPath"])

    @property
    def key_path(self) -> Path:
        digest = hashlib.sha256(os.path.realpath(self.socket_path).encode()).hexdigest()
        return self.record_path.with_name(f"{self.process.pid}.{digest}.key")

    def lines(self) -> list[dict[str, Any]]:
        """The whole lines on disk, split as a reader has to: at 0x0A only."""
        found = list(self.process.config_dir.glob(f"projects/*/{self.process.session_id}.jsonl"))
        if not found:
            return []
        return [json.loads(line) for line in found[0].read_bytes().split(b"\n")[:-1]]

    def texts(self) -> list[str]:
        """What the session said, block by block."""
        blocks = [
            b for line in self.lines() if line["type"] == "assistant" for b in line["message"]["content"]
        ]
        return [block["text"] for block in blocks if block["type"] == "text"]

    def prompts(self) -> list[dict[str, Any]]:
        """The user lines of messages."""
        return [line for line in self.lines() if line["type"] == "user" and "origin" in line]

    def results(self) -> list[dict[str, Any]]:
        """The user lines of tool results."""
        return [line for line in self.lines() if "toolUseResult" in line]

    def tools(self) -> list[dict[str, Any]]:
        blocks = [
            b for line in self.lines() if line["type"] == "assistant" for b in line["message"]["content"]
        ]
        return [block for block in blocks if block["type"] == "tool_use"]

    def durations(self) -> int:
        return sum(line.get("subtype") == "turn_duration" for line in self.lines())

    def operations(self) -> list[str]:
        return [line["operation"] for line in self.lines() if line["type"] == "queue-operation"]

    async def until(self, holds: Callable[[], Any]) -> Any:
        """Wait for something to hold, and say what it was."""
        async with asyncio.timeout(_PATIENCE_S):
            while not (found := holds()):
                await asyncio.sleep(0.01)
        return found

    async def wire(self, *lines: bytes) -> bytes:
        """Write these lines on one connection, half-close, and read until the session closes."""
        async with asyncio.timeout(_PATIENCE_S):
            reader, writer = await asyncio.open_unix_connection(str(self.socket_path))
            writer.writelines(lines)
            writer.write_eof()
            answer = await reader.read()
            writer.close()
            return answer

    async def send(self, content: str, **fields: Any) -> str:
        """Send one message as the CLI does; its id."""
        msg_id = str(uuid.uuid4())
        message = {"role": "user", "content": content}
        token = json.loads(self.key_path.read_bytes())["peerToken"]
        auth = {"type": "auth", "token": token}
        user = {"type": "user", "message": message, "msg_id": msg_id, "msgV": 1, **fields}
        assert await self.wire(*(json.dumps(frame).encode() + b"\n" for frame in (auth, user))) == b""
        return msg_id

    async def control(self, action: str, **fields: Any) -> str:
        msg_id = str(uuid.uuid4())
        frame = {"type": "control", "action": action, "msg_id": msg_id, **fields}
        await self.wire(json.dumps(frame).encode() + b"\n")
        return msg_id

    async def settled(self, turns: int = 1) -> None:
        """Wait until that many turns have come to their end and the session is idle."""
        await self.until(lambda: self.durations() >= turns and self.record()["status"] == "idle")

    async def listen(self, path: Path | None = None) -> Listener:
        listener = await Listener(path or self.socket_path.with_name(f"{os.getpid()}.sock")).open()
        self.listeners.append(listener)
        return listener


@pytest.fixture
async def rehearse(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Callable[..., Any]]:
    """Start a rehearsal session whose scenes take a given share of their time."""
    async with AsyncExitStack() as stack:

        async def start(time_scale: float = 0.05) -> Driver:
            root = tmp_path_factory.mktemp("r")  # short, for the socket's path
            driver = Driver(await stack.enter_async_context(launch(root, time_scale=time_scale)))
            stack.callback(lambda: [listener.server.close() for listener in driver.listeners])
            return driver

        yield start


@pytest.fixture
async def driver(rehearse: Callable[..., Any]) -> Driver:
    return await rehearse()
