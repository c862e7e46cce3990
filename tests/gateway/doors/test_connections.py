"""How long a connection may take, and how many there may be."""

import asyncio
import socket

from gateway.doors.protocol import ConnectionLimits
from tests.gateway.conftest import TOKEN
from tests.gateway.doors.checks import check_sentence
from tests.gateway.doors.conftest import Doors
from tests.gateway.doors.wire import connected, request
from tests.gateway.fake_session import FakeSession, silent


async def test_a_header_that_does_not_end_is_given_up(doors: Doors) -> None:
    door = await doors.open(limits=ConnectionLimits(256, header_s=0.3))
    loop = asyncio.get_running_loop()
    async with connected(door.port) as quiet, connected(door.port) as slow:
        began = loop.time()
        await slow.send(b"GET /voice/ping HTTP/1.1\r\n")
        trickle = asyncio.create_task(_trickle(slow.writer))
        assert await quiet.rest() == b""
        assert await slow.rest() == b""
        assert loop.time() - began < 10
        trickle.cancel()


async def test_a_second_header_that_does_not_end_is_given_up_too(doors: Doors) -> None:
    door = await doors.open(limits=ConnectionLimits(256, header_s=0.3, keepalive_s=60))
    async with connected(door.port) as wire:
        await wire.send(request("GET", "/healthz"))
        assert (await wire.response()).status == 200
        await asyncio.sleep(0.05)
        await wire.send(b"GET /healthz HTTP/1.1\r\n")
        assert await wire.rest() == b""


async def test_an_idle_connection_is_kept_longer_than_a_header_may_take(doors: Doors) -> None:
    door = await doors.open(limits=ConnectionLimits(256, header_s=0.2, keepalive_s=60))
    async with connected(door.port) as wire:
        for _ in range(2):
            await wire.send(request("GET", "/healthz"))
            assert (await wire.response()).status == 200
            await asyncio.sleep(0.4)


async def test_a_body_that_comes_apart_from_its_header_does_not_end_the_wait(
    doors: Doors, session: FakeSession
) -> None:
    """The time for a header is over with the header, in whatever pieces the body follows."""
    door = await doors.open(limits=ConnectionLimits(256, header_s=0.3))
    session.mind = silent
    data = request("POST", "/voice/ask?wait=1", b"run the tests", token=TOKEN)
    head, _, body = data.partition(b"\r\n\r\n")
    for pause_s in (None, 0, 0.02):
        async with connected(door.port) as wire:
            wire.writer.transport.get_extra_info("socket").setsockopt(
                socket.IPPROTO_TCP, socket.TCP_NODELAY, 1
            )
            await wire.send(head + b"\r\n\r\n")
            if pause_s is not None:
                await asyncio.sleep(pause_s)
            await wire.send(body[:4])
            await asyncio.sleep(0)
            await wire.send(body[4:])
            response = await wire.response()
        assert response.status == 200
        assert response.text.startswith("Still working")


async def test_slow_connections_keep_nobody_out(doors: Doors) -> None:
    door = await doors.open(limits=ConnectionLimits(256, header_s=30))
    slow = [await asyncio.open_connection("127.0.0.1", door.port) for _ in range(200)]
    for _, writer in slow[:100]:
        writer.write(b"GET /voice/reply HTTP/1.1\r\nX: a")
    declared = request("POST", "/voice/ask", token=TOKEN, headers={"Content-Length": "1000000"})
    for _, writer in slow[100:]:
        writer.write(declared + b"x")
    assert (await door.say("GET", "/voice/ping")).status == 200
    for _, writer in slow:
        writer.transport.abort()


async def test_more_connections_than_are_served_push_out_the_idle_ones(doors: Doors) -> None:
    door = await doors.open(limits=ConnectionLimits(8, header_s=30))
    idle = [await asyncio.open_connection("127.0.0.1", door.port) for _ in range(30)]
    for _ in range(5):
        assert (await door.say("GET", "/voice/ping")).status == 200
    for _, writer in idle:
        writer.transport.abort()


async def test_who_finds_no_room_is_told_to_come_back(doors: Doors) -> None:
    door = await doors.open(limits=ConnectionLimits(4, header_s=30))
    busy = [await asyncio.open_connection("127.0.0.1", door.port) for _ in range(4)]
    for _, writer in busy:
        writer.write(request("GET", "/voice/ping?delay=1.5", token=TOKEN))
    await asyncio.sleep(0.1)
    response = await door.say("GET", "/voice/ping")
    assert response.status == 429
    assert response.header("Retry-After")
    assert response.header("X-Voice-State") == "error"
    check_sentence(response)
    for _, writer in busy:
        writer.transport.abort()


async def test_a_body_that_trickles_is_given_up(doors: Doors) -> None:
    door = await doors.open(server_body_timeout_s="1")
    async with connected(door.port) as wire:
        await wire.send(request("POST", "/voice/ask", token=TOKEN, headers={"Content-Length": "1000"}) + b"x")
        trickle = asyncio.create_task(_trickle(wire.writer))
        response = await wire.response()
        trickle.cancel()
    assert response.status == 400
    assert "too slowly" in response.text
    check_sentence(response)


async def _trickle(writer: asyncio.StreamWriter) -> None:
    while True:
        await asyncio.sleep(0.1)
        writer.write(b"X")
