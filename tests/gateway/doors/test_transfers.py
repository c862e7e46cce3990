"""How a body travels: invited, in chunks, cut short, too long, compressed."""

import pytest

from tests.gateway.conftest import TOKEN
from tests.gateway.doors.checks import SECRET, check_headers, check_sentence
from tests.gateway.doors.conftest import Door
from tests.gateway.doors.wire import connected, request
from tests.gateway.fake_session import FakeSession


async def test_a_body_is_invited_only_once_it_is_wanted(door: Door, session: FakeSession) -> None:
    for token, path in (("", "/voice/ask"), ("wrong", "/voice/ask"), (TOKEN, "/voice/nothing")):
        async with connected(door.port) as wire:
            head = request(
                "POST", path, token=token, headers={"Expect": "100-continue", "Content-Length": "200000"}
            )
            await wire.send(head)
            response = await wire.response()
        assert response.status == (404 if token == TOKEN else 401)
    async with connected(door.port) as wire:
        head = request(
            "POST", "/voice/ask", token=TOKEN, headers={"Expect": "100-Continue", "Content-Length": "13"}
        )
        await wire.send(head)
        assert (await wire.response()).status == 100
        await wire.send(b"run the tests")
        assert (await wire.response()).text == "Done."
    assert len(session.messages) == 1


async def test_an_unknown_expectation_is_neither_echoed_nor_served_by_the_library(door: Door) -> None:
    response = await door.say("GET", "/voice/ping", headers={"Expect": SECRET})
    assert response.status == 200
    check_headers(response)
    stranger = await door.say("GET", "/voice/ping", headers={"Expect": SECRET}, token="")
    assert stranger.status == 401
    assert SECRET.encode() not in stranger.raw


async def test_a_body_in_chunks_of_one_byte_is_one_message(door: Door, session: FakeSession) -> None:
    words = "run the tests, please"
    async with connected(door.port) as wire:
        head = request("POST", "/voice/ask", token=TOKEN, headers={"Transfer-Encoding": "chunked"})
        await wire.send(head)
        for byte in words.encode():
            await wire.send(b"1\r\n" + bytes([byte]) + b"\r\n")
        await wire.send(b"0\r\n\r\n")
        assert (await wire.response()).status == 200
    assert session.messages[0].startswith(words + "\n")


@pytest.mark.parametrize(
    "broken", [b"zz\r\nabc\r\n", b"5\r\nabcdefgh\r\n", b"-1\r\n", b"FFFFFFFFFFFFFFFFFF\r\n"]
)
async def test_broken_chunks_send_nothing(broken: bytes, door: Door, session: FakeSession) -> None:
    async with connected(door.port) as wire:
        head = request("POST", "/voice/ask", token=TOKEN, headers={"Transfer-Encoding": "chunked"})
        await wire.send(head + b"3\r\nrun\r\n" + broken)
        response = await wire.response()
        await wire.rest()
    assert response.status == 400
    check_sentence(response)
    assert session.messages == []


async def test_a_body_shorter_than_its_length_sends_nothing(door: Door, session: FakeSession) -> None:
    async with connected(door.port) as wire:
        await wire.send(
            request("POST", "/voice/ask", b"run the", token=TOKEN, headers={"Content-Length": "13"})
        )
        wire.writer.write_eof()
        await wire.rest()
    assert session.messages == []


async def test_a_body_longer_than_its_length_sends_nothing_and_says_so(
    door: Door, session: FakeSession
) -> None:
    async with connected(door.port) as wire:
        await wire.send(
            request("POST", "/voice/ask", b"run the tests", token=TOKEN, headers={"Content-Length": "7"})
        )
        response = await wire.response()
        assert await wire.rest() == b""
    assert response.status == 400
    assert "Nothing was sent" in response.text
    assert session.messages == []


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "gzip, identity"])
async def test_a_compressed_body_is_refused_in_words(encoding: str, door: Door, session: FakeSession) -> None:
    response = await door.post(
        "/voice/ask", b"\x1f\x8b\x08\x00abc", "text/plain", headers={"Content-Encoding": encoding}
    )
    assert response.status == 400
    assert "compressed" in response.text
    check_sentence(response)
    assert session.messages == []


async def test_identity_is_no_compression(door: Door, session: FakeSession) -> None:
    response = await door.post("/voice/ask", b"hi", "text/plain", headers={"Content-Encoding": "identity"})
    assert response.status == 200
