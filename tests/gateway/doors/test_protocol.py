"""What a connection does with bytes that no well-behaved client sends."""

import asyncio
import gc

import pytest
from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.web_protocol import RequestHandler

from gateway.doors.protocol import CarefulHandler
from tests.gateway.conftest import TOKEN
from tests.gateway.doors.checks import SECRET, UNREADABLE, check_headers, check_sentence
from tests.gateway.doors.conftest import Door, Doors, Written
from tests.gateway.doors.wire import connected, request, said
from tests.gateway.fake_session import FakeSession


@pytest.mark.parametrize("data", UNREADABLE.values(), ids=UNREADABLE.keys())
async def test_what_does_not_parse_is_refused_without_an_echo(
    data: str, door: Door, written: Written
) -> None:
    async with connected(door.port) as wire:
        await wire.send(data.encode("latin-1"))
        response = await wire.response()
        rest = await wire.rest()
    assert response.status in (400, 401, 403)
    assert rest == b""
    check_sentence(response)
    assert response.header("X-Voice-State") == "error"
    assert SECRET.encode() not in response.raw
    assert SECRET not in written.text


async def test_pipelined_requests_are_answered_in_order(door: Door) -> None:
    async with connected(door.port) as wire:
        targets = ["/voice/ping", "/healthz", "/voice/nothing", "/voice/ping"]
        await wire.send(b"".join(request("GET", target, token=TOKEN) for target in targets))
        assert [(await wire.response()).status for _ in targets] == [200, 200, 404, 200]


async def test_garbage_behind_a_request_does_not_spoil_its_answer(door: Door, written: Written) -> None:
    async with connected(door.port) as wire:
        await wire.send(request("GET", "/voice/ping?delay=0.2", token=TOKEN))
        await asyncio.sleep(0.05)
        await wire.send(f"{SECRET}\r\n\r\n".encode())
        first, second = await wire.response(), await wire.response()
        assert await wire.rest() == b""
    assert (first.status, second.status) == (200, 400)
    check_sentence(second)
    assert SECRET not in written.text


@pytest.mark.parametrize(
    "target", ["/voice/ask", "/voice/reply", "/voice/sessions", "/voice/ping", "/healthz", "/x"]
)
@pytest.mark.parametrize("token", ["", TOKEN])
async def test_head_has_no_body_and_no_effect(
    target: str, token: str, door: Door, session: FakeSession
) -> None:
    async with connected(door.port) as wire:
        await wire.send(request("HEAD", f"{target}?message=hi&wait=0", token=token))
        response = await wire.response(has_body=False)
        await wire.send(request("GET", "/healthz"))
        assert (await wire.response()).body == b"ok\n", "a HEAD was answered with a body"
    wanted = {"/voice/ask": 405, "/x": 404}.get(target, 200)
    assert response.status == (wanted if token or target == "/healthz" else 401)
    assert session.messages == []
    if response.status == 405:
        assert response.header("Allow") == "GET, OPTIONS, POST"


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "TRACE", "PROPFIND", "CONNECT"])
async def test_other_methods_are_405_with_a_sentence(method: str, door: Door) -> None:
    response = await door.say(method, "/voice/ask")
    assert response.status == 405
    check_sentence(response)


async def test_a_tunnel_is_not_opened(door: Door) -> None:
    response = await door.say("CONNECT", "example.org:443")
    assert response.status == 404


async def test_a_switch_to_another_protocol_is_not_made(door: Door, session: FakeSession) -> None:
    headers = {"Connection": "Upgrade", "Upgrade": "websocket"}
    assert (await door.say("GET", "/voice/ping", headers=headers)).status == 200
    headers = {
        "Connection": "Upgrade, HTTP2-Settings",
        "Upgrade": "h2c",
        "HTTP2-Settings": "AAMAAABkAARAAAAAAAIAAAAA",
    }
    response = await door.post("/voice/ask", b"run the tests", "text/plain", headers=headers)
    assert response.status == 200
    assert len(session.messages) == 1


@pytest.mark.parametrize("version", ["1.0", "1.1"])
async def test_both_versions_of_http_are_spoken(version: str, door: Door) -> None:
    async with connected(door.port) as wire:
        await wire.send(
            request("GET", "/voice/ping", token=TOKEN).replace(b"HTTP/1.1", f"HTTP/{version}".encode(), 1)
        )
        response = await wire.response()
        assert response.status == 200
        assert response.text == "Codriver is ready."
        check_headers(response)


async def test_targets_in_absolute_form_are_served_and_their_host_is_checked(door: Door) -> None:
    own = f"http://127.0.0.1:{door.port}/voice/ping"
    assert (await door.say("GET", own)).status == 200
    assert (await door.say("GET", "HTTP://localhost/voice/ping")).status == 200
    assert (await door.say("GET", "http://evil.example/voice/ping")).status == 403
    assert (await door.say("GET", f"http://{TOKEN}@127.0.0.1/voice/ping")).status in (400, 403)


@pytest.mark.parametrize(
    "target", ["/voice/ask%0a", "/%0d%0aX:%20y", "/a%00b", "//voice//ping%0A", "/voice/%2e%2e/%2e%2e/ask"]
)
async def test_odd_paths_get_our_own_refusal(target: str, door: Door) -> None:
    for token, status in (("", 401), (TOKEN, 404)):
        response = await door.say("GET", target, token=token)
        assert response.status == status
        check_sentence(response)


@pytest.mark.parametrize("target", ["/voice/ping/", "//voice/ping", "/voice//ping", "/voice/%70ing"])
async def test_slashes_and_encoding_do_not_matter(target: str, door: Door) -> None:
    assert (await door.say("GET", target)).text == "Codriver is ready."


async def test_raw_bytes_in_the_query_are_refused_or_read_as_utf8(door: Door, session: FakeSession) -> None:
    async with connected(door.port) as wire:
        head = request("GET", "/voice/ask?message=", token=TOKEN).partition(b"\r\n")
        await wire.send(head[0].replace(b"message=", b"message=caf\xe9") + head[1] + head[2])
        response = await wire.response()
    assert response.status == 400
    check_sentence(response)
    assert session.messages == []


RELIED_ON = {
    RequestHandler: (
        *("_loop", "_request_count", "_waiter", "transport", "force_close", "connection_made"),
        *("connection_lost", "data_received", "handle_error", "log_debug", "log_exception"),
    ),
    web.Server: ("connections",),
    web.StreamResponse: ("_prepare_headers", "force_close"),
    AbstractStreamWriter: ("output_size",),
}


@pytest.mark.parametrize("made", RELIED_ON, ids=lambda made: made.__name__)
def test_the_names_that_are_relied_on_are_there(made: type) -> None:
    """What aiohttp promises to nobody and the handler needs; a release without them fails here first."""
    assert [name for name in RELIED_ON[made] if not hasattr(made, name)] == []


async def test_the_waiting_of_a_connection_is_still_seen(doors: Doors) -> None:
    """`_waiter` and `_request_count` mean what they meant: idle before, counted after a request."""
    door = await doors.open()
    async with connected(door.port) as wire:
        await wire.send(request("GET", "/healthz"))
        await wire.response()
        await asyncio.sleep(0.05)
        [handler] = await _handlers()
        assert handler.is_waiting
        assert handler._request_count == 1


async def _handlers() -> list[CarefulHandler]:
    return [one for one in gc.get_objects() if isinstance(one, CarefulHandler) and one.transport is not None]


async def test_an_unparsable_answer_closes_its_connection_only(door: Door) -> None:
    async with connected(door.port) as good:
        bad = await said(door.port, b"nonsense\r\n\r\n")
        assert bad.status == 400
        await good.send(request("GET", "/voice/ping", token=TOKEN))
        assert (await good.response()).status == 200
