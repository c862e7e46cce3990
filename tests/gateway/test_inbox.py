"""One message goes into an inbox once; what is known about it afterwards is no more than what was seen."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gateway.agents.claude_code import inbox
from gateway.agents.claude_code.inbox import Address
from gateway.agents.protocol import Message, Priority, Sent

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
MESSAGE = Message("6f000000-0000-4000-8000-000000000000", "say “hi”\u2028\n/clear", "ab" * 8)


@asynccontextmanager
async def listening(path: Path, handler: Handler) -> AsyncIterator[Address]:
    server = await asyncio.start_unix_server(handler, path=str(path), limit=2**22)
    yield Address(path, "t0ken", path.with_name("1-cd.sock"))
    server.close()
    await server.wait_closed()


async def test_the_frames_are_those_the_cli_sends_itself(socket_dir: Path) -> None:
    lines: list[dict[str, object]] = []

    async def session(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lines.extend([json.loads(line) async for line in reader])
        writer.close()

    async with listening(socket_dir / "s.sock", session) as address:
        assert await inbox.send(MESSAGE, address) is Sent.WRITTEN
    assert lines == [
        {"type": "auth", "token": "t0ken"},
        {
            "type": "user",
            "message": {"role": "user", "content": MESSAGE.content},
            "msg_id": MESSAGE.id,
            "msgV": 1,
            "priority": "later",
            "from": f"uds:{socket_dir / '1-cd.sock'}",
        },
    ]


def test_without_a_token_and_a_socket_of_ours_both_are_left_out() -> None:
    message = Message("id", "x", "nonce", Priority.NOW)
    [line] = inbox.frames(message, Address(Path("/s.sock"), None, None)).splitlines()
    frame = json.loads(line)
    assert "from" not in frame and frame["priority"] == "now"


@pytest.mark.parametrize("is_there", [False, True], ids=["no socket", "nobody listens"])
async def test_a_dead_session_was_sent_nothing(socket_dir: Path, is_there: bool) -> None:
    path = socket_dir / "s.sock"
    if is_there:
        with socket.socket(socket.AF_UNIX) as left_over:
            left_over.bind(str(path))
    assert await inbox.send(MESSAGE, Address(path, None, None)) is Sent.NOT_WRITTEN


async def test_a_connection_that_broke_is_not_known_to_have_delivered(socket_dir: Path) -> None:
    async def session(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.transport.abort()

    big = Message("id", "x" * 900_000, "nonce")
    async with listening(socket_dir / "s.sock", session) as address:
        assert await inbox.send(big, address) is Sent.BROKEN


async def test_a_slow_close_is_a_busy_machine_not_a_failure(
    socket_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox, "_CLOSE_S", 0.05)
    done = asyncio.Event()

    async def session(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        await done.wait()
        writer.close()

    async with listening(socket_dir / "s.sock", session) as address:
        assert await inbox.send(MESSAGE, address) is Sent.WRITTEN
        done.set()


async def test_a_session_that_stops_reading_halfway_is_not_known_to_have_it(
    socket_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox, "_CLOSE_S", 0.1)
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(str(socket_dir / "s.sock"))
        deaf.listen()
        big = Message("id", "x" * 4_000_000, "nonce")
        assert await inbox.send(big, Address(socket_dir / "s.sock", None, None)) is Sent.BROKEN
