"""Puts one message into a session's inbox socket, the way the CLI's own sessions do.

Connect, an auth line, one frame, half-close, read until the session closes. The
session never answers on this connection. A refused connection means a dead session
and that nothing was sent; no end of file within two seconds means a busy machine,
not a failure; anything that breaks after the first byte is not known to have arrived.
"""

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path

from gateway.agents.protocol import Message, Sent

_CONNECT_S = 2.0
_CLOSE_S = 2.0
_READ_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Address:
    """A session's inbox: its socket, its peer token if there is one, and where receipts may go."""

    socket_path: Path
    peer_token: str | None
    reply_to: Path | None


def frames(message: Message, address: Address) -> bytes:
    """What is written, newline-delimited JSON: the auth line (with a token) and the user frame."""
    user: dict[str, object] = {
        "type": "user",
        "message": {"role": "user", "content": message.content},
        "msg_id": message.id,
        "msgV": 1,
        "priority": message.priority.value,
    }
    if address.reply_to is not None:
        user["from"] = f"uds:{address.reply_to}"
    lines: list[dict[str, object]] = [user]
    if address.peer_token is not None:
        lines.insert(0, {"type": "auth", "token": address.peer_token})
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()


async def send(message: Message, address: Address) -> Sent:
    """Send one message, once."""
    try:
        async with asyncio.timeout(_CONNECT_S):
            reader, writer = await asyncio.open_unix_connection(str(address.socket_path))
    except (OSError, TimeoutError):
        return Sent.NOT_WRITTEN
    try:
        async with asyncio.timeout(_CLOSE_S):
            writer.write(frames(message, address))
            await writer.drain()
            writer.write_eof()
            while await reader.read(_READ_BYTES):
                pass
    except TimeoutError:
        # All of it left us and the session is slow to close; or it stopped reading halfway.
        return Sent.BROKEN if writer.transport.get_write_buffer_size() else Sent.WRITTEN
    except OSError:
        return Sent.BROKEN
    finally:
        writer.close()
    return Sent.WRITTEN
