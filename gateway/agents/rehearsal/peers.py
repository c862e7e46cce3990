"""Tells other processes what became of their message or subscription, on a connection of our own.

A frame goes only to a `.sock` in this session's own socket folder, and only if the process that
listens there is the one that sent. Anyone else is not told, and nobody learns of that: a message
is taken all the same. A peer with a registry record gets an auth line with its token first.
"""

import asyncio
import json
import uuid
from dataclasses import dataclass
from pathlib import Path

from gateway.agents.rehearsal.frames import socket_of
from gateway.agents.rehearsal.record import Identity, key_path
from gateway.agents.rehearsal.scenes import Json
from gateway.platform_process import peer_pid

_TELL_S = 5.0
_RECORD_LIMIT_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Peer:
    """A sender: the address it gave, with its scheme, and the process it was (None: not known)."""

    address: str
    pid: int | None


class Peers:
    """Sends frames in the background; `close` waits for those on their way."""

    def __init__(self, identity: Identity) -> None:
        self._identity = identity
        self._tasks: set[asyncio.Task[None]] = set()

    def tell(self, peer: Peer, fields: dict[str, Json]) -> None:
        """Send one control frame, or nothing where the peer may not get one."""
        task = asyncio.get_running_loop().create_task(self._tell(peer, fields))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def is_registered(self, peer: Peer) -> bool:
        """Whether the registry has a record of this peer with this very socket."""
        return self._token(peer) is not None

    async def close(self) -> None:
        """Let what is on its way arrive; each has a time limit of its own."""
        await asyncio.gather(*self._tasks)

    async def _tell(self, peer: Peer, fields: dict[str, Json]) -> None:
        path = Path(socket_of(peer.address))
        try:
            if path.suffix != ".sock" or path.parent.resolve() != self._identity.socket_path.parent:
                return
            async with asyncio.timeout(_TELL_S):
                await self._send(path, peer, fields)
        except (OSError, TimeoutError):
            return  # a receipt is a courtesy: who does not listen is not told

    async def _send(self, path: Path, peer: Peer, fields: dict[str, Json]) -> None:
        reader, writer = await asyncio.open_unix_connection(str(path))
        try:
            if peer_pid(writer.get_extra_info("socket")) != peer.pid:
                return
            address = f"uds:{self._identity.socket_path}"
            tail: dict[str, Json] = {"from": address, "msgV": 1, "msg_id": str(uuid.uuid4())}
            lines: list[Json] = [{"type": "control", **fields, **tail}]
            if token := self._token(peer):
                lines.insert(0, {"type": "auth", "token": token})
            writer.write("".join(json.dumps(line) + "\n" for line in lines).encode())
            writer.write_eof()
            await reader.read(1)
        finally:
            writer.close()

    def _token(self, peer: Peer) -> str | None:
        if peer.pid is None:
            return None
        path = Path(socket_of(peer.address))
        record = _read(self._identity.config_dir / "sessions" / f"{peer.pid}.json")
        key = _read(key_path(self._identity.config_dir, peer.pid, path))
        token = key.get("peerToken")
        return token if record.get("messagingSocketPath") == str(path) and isinstance(token, str) else None


def _read(path: Path) -> dict[str, object]:
    try:
        with path.open("rb") as file:
            value = json.loads(file.read(_RECORD_LIMIT_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
