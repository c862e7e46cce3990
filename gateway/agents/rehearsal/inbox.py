"""The rehearsal's inbox: a unix socket that takes newline-delimited JSON and never answers on it.

Behaves as CLI 2.1.332 does: an auth line first is optional, lines that mean nothing are ignored and
the connection stays good, a last line without its newline counts at half-close, and the session
closes as soon as the sender has. A line over 1 MiB resets the connection. An empty connection is a
probe and means nothing.
"""

import asyncio
import hmac
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from gateway.agents.rehearsal.frames import Auth, Frame, NotifyWhenIdle, Rename, UserFrame, parse
from gateway.agents.rehearsal.message import Incoming, timestamp
from gateway.agents.rehearsal.record import now_ms
from gateway.platform_process import peer_pid, proc_start

LINE_LIMIT_BYTES = 1 << 20
_SILENCE_S = 60.0
_CONNECTIONS_LIMIT = 64


class Sink(Protocol):
    """Where the frames of an inbox go."""

    def message(self, message: Incoming) -> None:
        """A message for the session."""

    def rename(self, name: str) -> None:
        """A name for the session."""

    def notify(self, request: NotifyWhenIdle, pid: int | None) -> None:
        """Process `pid` wants to be told when the session is idle."""


@dataclass(slots=True)
class _Sender:
    pid: int | None
    start: str | None
    is_verified: bool = False


class Inbox:
    """Listens from `open` to `close`; the socket is 0600 in a folder that is 0700."""

    def __init__(self, path: Path, peer_token: str, sink: Sink) -> None:
        self._path = path
        self._token = peer_token
        self._sink = sink
        self._server: asyncio.Server | None = None
        self._open_connections = 0

    async def open(self) -> None:
        self._server = await asyncio.start_unix_server(
            self._connected, path=str(self._path), limit=LINE_LIMIT_BYTES
        )
        self._path.chmod(0o600)

    def close(self) -> None:
        """Take no more connections and remove the socket."""
        if self._server is not None:
            self._server.close()
        self._path.unlink(missing_ok=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._open_connections >= _CONNECTIONS_LIMIT:
            writer.transport.abort()
            return
        self._open_connections += 1
        try:
            await self._serve(reader, writer)
        except asyncio.LimitOverrunError:
            writer.transport.abort()
        except (OSError, TimeoutError):
            pass  # the sender is gone or silent: what it sent in whole lines was taken
        finally:
            self._open_connections -= 1
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        pid = peer_pid(writer.get_extra_info("socket"))
        sender = _Sender(pid, proc_start(pid) if pid else None)
        is_open = True
        while is_open:
            try:
                async with asyncio.timeout(_SILENCE_S):
                    line = await reader.readuntil(b"\n")
            except asyncio.IncompleteReadError as rest:
                line, is_open = rest.partial, False
            self._take(parse(line), sender)

    def _take(self, frame: Frame | None, sender: _Sender) -> None:
        match frame:
            case Auth(token):
                sender.is_verified = hmac.compare_digest(token.encode(errors="replace"), self._token.encode())
            case UserFrame():
                self._sink.message(
                    Incoming(frame, sender.pid, sender.start, sender.is_verified, now_ms(), timestamp())
                )
            case Rename(name):
                self._sink.rename(name)
            case NotifyWhenIdle():
                self._sink.notify(frame, sender.pid)
