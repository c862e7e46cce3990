"""Listens for what sessions report about our messages: held, denied, expired, refused, dropped.

A session reports on a connection of its own, to a socket that we own in its socket
folder, and only if the process that listens is the one that sent. A report counts
only if it names one of our messages and comes from the process that the message
went to. In ordinary modes there is no report at all, so none means nothing.
"""

import asyncio
import json
import os
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path

from gateway.model import Outcome
from gateway.platform_process import peer_pid, proc_start

_LIMIT_BYTES = 64 * 1024
_READ_S = 5.0
_KEPT = 512
# A name of our own: a session may have the socket that is named after its pid alone.
_NAME_END = "-cd.sock"
_STATUSES = {
    "held": Outcome.HELD,
    "delivered": Outcome.ACCEPTED,
    "denied": Outcome.DENIED,
    "expired": Outcome.EXPIRED,
    "dropped": Outcome.DROPPED,
}


class Receipts:
    """One listening socket per socket folder."""

    def __init__(self) -> None:
        self._servers: dict[Path, asyncio.Server] = {}
        self._expected: OrderedDict[str, int] = OrderedDict()
        self._outcomes: dict[str, Outcome] = {}
        self._opening = asyncio.Lock()

    async def listen_in(self, folder: Path) -> Path | None:
        """Our socket's path in this folder; None where none can be had (then nothing reports)."""
        async with self._opening:
            return await self._listen_in(folder)

    async def _listen_in(self, folder: Path) -> Path | None:
        path = folder / f"{os.getpid()}{_NAME_END}"
        if folder in self._servers and path.is_socket():
            return path
        if (lost := self._servers.pop(folder, None)) is not None:
            lost.close()
        with suppress(OSError):
            _clear(folder)
            server = await asyncio.start_unix_server(self._connected, path=str(path), limit=_LIMIT_BYTES)
            path.chmod(0o600)
            self._servers[folder] = server
            return path
        return None

    def expect(self, message_id: str, pid: int) -> None:
        """A message is about to go to the process `pid`."""
        self._expected[message_id] = pid
        while len(self._expected) > _KEPT:
            forgotten, _ = self._expected.popitem(last=False)
            self._outcomes.pop(forgotten, None)

    def outcome(self, message_id: str) -> Outcome | None:
        """The latest report about this message."""
        return self._outcomes.get(message_id)

    async def close(self) -> None:
        """Stop listening and remove the sockets."""
        servers, self._servers = self._servers, {}
        for folder, server in servers.items():
            server.close()
            await server.wait_closed()
            with suppress(OSError):
                (folder / f"{os.getpid()}{_NAME_END}").unlink(missing_ok=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # The CLI waits five seconds for us to close, and probes with empty connections.
        try:
            pid = peer_pid(writer.get_extra_info("socket"))
            async with asyncio.timeout(_READ_S):
                while line := await reader.readline():
                    self._take(line, pid)
        except (OSError, TimeoutError, ValueError):
            return
        finally:
            writer.close()

    def _take(self, line: bytes, pid: int | None) -> None:
        try:
            frame = json.loads(line)
        except (ValueError, RecursionError):
            return
        if not isinstance(frame, dict) or frame.get("action") != "peer_message_status":
            return
        message_id = frame.get("orig_msg_id")
        if not isinstance(message_id, str) or message_id not in self._expected:
            return
        if pid is not None and pid != self._expected[message_id]:
            return
        outcome = _STATUSES.get(str(frame.get("status")))
        if outcome is Outcome.EXPIRED and frame.get("status_detail") == "refused":
            outcome = Outcome.REFUSED
        known = self._outcomes.get(message_id)
        if outcome is not None and (known is None or not known.is_final):
            self._outcomes[message_id] = outcome


def _clear(folder: Path) -> None:
    """Remove sockets that we, or gateways that were killed, left in this folder."""
    for path in folder.glob(f"*{_NAME_END}"):
        pid = path.name.removesuffix(_NAME_END)
        if pid.isascii() and pid.isdigit() and (int(pid) == os.getpid() or proc_start(int(pid)) is None):
            path.unlink(missing_ok=True)
