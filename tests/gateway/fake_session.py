"""A fake live session: a real registry record, a real inbox socket and a real transcript of this process.

The agent's mind is a function that is called with each message and writes what it wants.
"""

import asyncio
import hashlib
import json
import os
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gateway.platform_process import proc_start

Mind = Callable[["FakeSession", str, dict[str, Any]], None]
Line = dict[str, Any]


def stamp() -> str:
    return "2026-05-04T10:00:01.000Z"


def user(text: str, **more: Any) -> Line:
    return {
        "type": "user",
        "uuid": str(uuid.uuid4()),
        "timestamp": stamp(),
        "message": {"role": "user", "content": text},
        **more,
    }


def peer(frame: dict[str, Any]) -> Line:
    """The line with which a session takes a message in."""
    content = f"Another Claude session sent a message:\n{frame['message']['content']}\n\nA warning."
    origin = {"kind": "peer", "msg_id": frame["msg_id"], "from": frame.get("from")}
    return user(content, isMeta=True, origin=origin)


def text(
    words: str, stop_reason: str | None = "end_turn", message_id: str | None = None, **more: Any
) -> Line:
    message: Line = {
        "role": "assistant",
        "content": [{"type": "text", "text": words}],
        "stop_reason": stop_reason,
    }
    message["id"] = message_id or f"msg_{uuid.uuid4().hex[:12]}"
    return {"type": "assistant", "uuid": str(uuid.uuid4()), "timestamp": stamp(), "message": message, **more}


def tool_use(tool_id: str, name: str, **given: Any) -> Line:
    block = {"type": "tool_use", "id": tool_id, "name": name, "input": given}
    message = {"role": "assistant", "id": f"msg_{tool_id}", "content": [block], "stop_reason": "tool_use"}
    return {"type": "assistant", "uuid": str(uuid.uuid4()), "timestamp": stamp(), "message": message}


def tool_result(tool_id: str, content: str = "ok") -> Line:
    block = {"type": "tool_result", "tool_use_id": tool_id, "content": content}
    return {
        "type": "user",
        "uuid": str(uuid.uuid4()),
        "timestamp": stamp(),
        "message": {"role": "user", "content": [block]},
    }


def turn_duration(pending: int = 0) -> Line:
    line: Line = {"type": "system", "subtype": "turn_duration", "durationMs": 5, "timestamp": stamp()}
    return line | ({"pendingBackgroundAgentCount": pending} if pending else {})


def enqueue(content: str) -> Line:
    return {"type": "queue-operation", "operation": "enqueue", "content": content, "timestamp": stamp()}


def turn(prompt: str, answer: str) -> list[Line]:
    """A whole turn of the human's."""
    return [user(prompt), text(answer), turn_duration()]


def absorbed(content: str, frame: dict[str, Any]) -> Line:
    """The line with which a running turn takes a message in."""
    origin = {"kind": "peer", "msg_id": frame["msg_id"]}
    return {
        "type": "attachment",
        "attachment": {"type": "queued_command", "prompt": content, "origin": origin},
    }


def words(count: int, name: str = "word") -> str:
    return " ".join(f"{name}{i}" for i in range(count)) + "."


class FakeSession:
    """One session of the test process itself, under a configuration directory of the test's own."""

    def __init__(
        self, config_dir: Path, socket_dir: Path, name: str = "demo", *, pid: int | None = None
    ) -> None:
        self.config_dir = config_dir
        self.pid = pid or os.getpid()
        self.name = name
        self.id = str(uuid.uuid4())
        self.socket_path = socket_dir / f"{name}-{self.pid}.sock"
        self.token = uuid.uuid4().hex
        self.frames: list[dict[str, Any]] = []
        self.mind: Mind = answer_with("Done.")
        self.record: dict[str, Any] = {}
        self._server: asyncio.Server | None = None

    @property
    def messages(self) -> list[str]:
        """The contents that arrived."""
        return [frame["message"]["content"] for frame in self.frames if frame.get("type") == "user"]

    @property
    def transcript(self) -> Path:
        return self.config_dir / "projects" / "-home-dev-demo" / f"{self.id}.jsonl"

    async def start(self, **fields: Any) -> "FakeSession":
        self.transcript.parent.mkdir(parents=True, exist_ok=True)
        (self.config_dir / "sessions").mkdir(parents=True, exist_ok=True)
        # A killed session leaves its socket behind; since Python 3.13 a closed server would remove it.
        keep: dict[str, Any] = {"cleanup_socket": False} if sys.version_info >= (3, 13) else {}
        self._server = await asyncio.start_unix_server(
            self._connected, path=str(self.socket_path), limit=2**21, **keep
        )
        self.socket_path.chmod(0o600)
        digest = hashlib.sha256(os.path.realpath(self.socket_path).encode()).hexdigest()
        key = {"peerToken": self.token, "procStart": proc_start(self.pid)}
        (self.config_dir / "sessions" / f"{self.pid}.{digest}.key").write_text(json.dumps(key))
        self.set(status="idle", **fields)
        return self

    def set(self, **fields: Any) -> None:
        """Change the registry record."""
        base = {
            "pid": self.pid,
            "procStart": proc_start(self.pid),
            "sessionId": self.id,
            "cwd": "/home/dev/demo",
            "name": self.name,
            "messagingSocketPath": str(self.socket_path),
            "peerProtocol": 1,
            "kind": "interactive",
        }
        self.record = base | {k: v for k, v in self.record.items() if k not in base} | fields
        path = self.config_dir / "sessions" / f"{self.pid}.json"
        other = path.with_suffix(".new")
        other.write_text(json.dumps(self.record))
        other.replace(path)

    def write(self, *lines: Line | bytes) -> None:
        """Append to the transcript; bytes go in as they are."""
        with self.transcript.open("ab") as file:
            for line in lines:
                file.write(
                    line if isinstance(line, bytes) else json.dumps(line, ensure_ascii=False).encode() + b"\n"
                )

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()
        (self.config_dir / "sessions" / f"{self.pid}.json").unlink(missing_ok=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                frame = json.loads(line)
                self.frames.append(frame)
                if frame.get("type") == "user":
                    self.mind(self, frame["message"]["content"], frame)
        finally:
            writer.close()


def answer_with(*texts: str, ends: bool = True) -> Mind:
    """A mind that answers every message at once with these texts."""

    def mind(session: FakeSession, content: str, frame: dict[str, Any]) -> None:
        session.write(enqueue(content), peer(frame), *(text(words) for words in texts))
        if ends:
            session.write(turn_duration())

    return mind


def silent(session: FakeSession, content: str, frame: dict[str, Any]) -> None:
    """A mind that takes a message in and says nothing yet."""
    session.write(enqueue(content), peer(frame))
    session.set(status="busy")


def deaf(session: FakeSession, content: str, frame: dict[str, Any]) -> None:
    """A mind that leaves no trace of a message."""


async def until(claim: Callable[[], bool]) -> None:
    """Wait for something that is about to become true."""
    async with asyncio.timeout(10):
        while not claim():
            await asyncio.sleep(0.01)


async def send_receipt(session: FakeSession, status: str, **more: Any) -> None:
    """What the session itself reports about the last message, on a connection of its own."""
    await until(lambda: bool(session.frames))
    frame = next(frame for frame in session.frames if frame.get("type") == "user")
    reader, writer = await asyncio.open_unix_connection(frame["from"].removeprefix("uds:"))
    fields = {
        "type": "control",
        "action": "peer_message_status",
        "status": status,
        "orig_msg_id": frame["msg_id"],
        **more,
    }
    writer.write(json.dumps(fields).encode() + b"\n")
    writer.write_eof()
    await reader.read()
    writer.close()
