"""Who gets in: contract 4.1, over real sockets wherever a socket can tell."""

import asyncio
import hashlib
import itertools
import json
import socket
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import pytest

from gateway.clock import SystemClock
from gateway.doors import bodies
from gateway.doors.access import Access
from gateway.settings import load
from tests.gateway.conftest import TOKEN
from tests.gateway.doors.checks import check_sentence
from tests.gateway.doors.conftest import WAV, Door, Doors, FakeEars
from tests.gateway.doors.wire import Response, connected, request, said
from tests.gateway.fake_session import FakeSession

FORM = "application/x-www-form-urlencoded"
WRONG = "wr0ng"


@dataclass(frozen=True)
class Where:
    """A place for a token: what it does to the parts of a request."""

    name: str

    def put(self, token: str, parts: dict[str, Any]) -> None:
        match self.name:
            case "bearer":
                parts["headers"]["Authorization"] = f"bEARER  {token}"
            case "query":
                parts["query"].append(f"token={quote(token, safe='')}")
            case "path":
                parts["path"] = f"/voice/{quote(token, safe='')}/ask"
            case "path in front":
                parts["path"] = f"/{quote(token, safe='')}/voice/ask"
            case "json":
                parts["body"] = json.dumps({"message": "hi", "token": token}).encode()
                parts["headers"]["Content-Type"] = "application/json"
            case "form":
                parts["body"] = f"message=hi&token={quote(token, safe='')}".encode()
                parts["headers"]["Content-Type"] = FORM
            case "multipart":
                parts["body"] = (
                    b'--B\r\nContent-Disposition: form-data; name="message"\r\n\r\nhi\r\n'
                    b'--B\r\nContent-Disposition: form-data; name="token"\r\n\r\n'
                    + token.encode()
                    + b"\r\n--B--\r\n"
                )
                parts["headers"]["Content-Type"] = "multipart/form-data; boundary=B"


PLACES = [Where(name) for name in ("bearer", "query", "path", "path in front", "json", "form", "multipart")]
BODIES = {"json", "form", "multipart"}
PATHS = {"path", "path in front"}
PAIRS = [
    (right, wrong)
    for right, wrong in itertools.permutations(PLACES, 2)
    # A request has one path and one body.
    if not {right.name, wrong.name} <= BODIES and not {right.name, wrong.name} <= PATHS
]


async def ask(door: Door, tokens: dict[Where, str]) -> Response:
    parts: dict[str, Any] = {
        "headers": {"Content-Type": "text/plain"},
        "query": [],
        "path": "/voice/ask",
        "body": b"hi",
    }
    for place, token in tokens.items():
        place.put(token, parts)
    target = parts["path"] + ("?" + "&".join(parts["query"]) if parts["query"] else "")
    return await said(door.port, request("POST", target, parts["body"], headers=parts["headers"]))


@pytest.fixture
async def patient(doors: Doors) -> Door:
    """A gateway that does not run out of patience in a test of many wrong tokens."""
    return await doors.open(auth_failures_per_minute="1000")


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)
async def test_a_right_token_is_found_in_every_place_and_a_wrong_one_is_not(
    place: Where, patient: Door, session: FakeSession
) -> None:
    for wrong in (WRONG, TOKEN[:-1], TOKEN + "x", TOKEN.upper(), f" {TOKEN} x", "café", "“abc”", "\0", "0"):
        if wrong == "\0" and place.name == "bearer":
            continue  # no header may hold it
        assert (await ask(patient, {place: wrong})).status == 401, wrong
    assert session.messages == []
    assert (await ask(patient, {place: TOKEN})).status == 200
    assert len(session.messages) == 1


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair[0].name}-{pair[1].name}")
async def test_a_right_token_passes_beside_a_wrong_one(
    pair: tuple[Where, Where], patient: Door, session: FakeSession
) -> None:
    right, wrong = pair
    assert (await ask(patient, {wrong: WRONG, right: TOKEN})).status == 200


async def test_every_bearer_is_looked_at(door: Door) -> None:
    head = request("GET", "/voice/ping", token=WRONG)
    for extra in (f"Authorization: Bearer {TOKEN}", f"AUTHORIZATION: bearer {TOKEN}"):
        data = head.replace(b"\r\n\r\n", f"\r\n{extra}\r\n\r\n".encode())
        assert (await said(door.port, data)).status == 200


@pytest.mark.parametrize(
    "header", ["Basic {}", "{}", "Bearer", "Bearer ", "Token {}", "Bearer{}", "Bearer {} {}"]
)
async def test_other_schemes_do_not_count(header: str, door: Door) -> None:
    value = header.format(TOKEN, TOKEN)
    data = request("GET", "/voice/ping", headers={"Authorization": value})
    assert (await said(door.port, data)).status == 401


@pytest.mark.parametrize(
    "value", ["“abc”".encode(), b"\xe9", "café".encode("latin-1"), "\N{AUTOMOBILE}".encode()]
)
async def test_bearers_that_are_not_ascii_are_merely_wrong(value: bytes, door: Door) -> None:
    response = await said(
        door.port, request("GET", "/voice/ping", headers={"Authorization": b"Bearer " + value})
    )
    assert response.status == 401
    check_sentence(response)


@pytest.mark.parametrize("token", ["caf%C3%A9", "%E9", "%", "%zz", "%00", "%0d%0a", "", "%ED%A0%80"])
async def test_odd_tokens_in_query_and_path_are_merely_wrong(token: str, door: Door) -> None:
    for target in (f"/voice/ping?token={token}", f"/voice/{token}/ping", f"/{token}/voice/ping"):
        response = await door.say("GET", target, token="")
        assert response.status == 401
        check_sentence(response)


@pytest.mark.parametrize(
    "body", [b'{"message":"hi","token":"\\ud800"}', b'{"message":"hi","token":5}', b'{"token":["a"]}']
)
async def test_odd_tokens_in_json_are_merely_wrong(body: bytes, door: Door) -> None:
    assert (await door.post("/voice/ask", body, "application/json", token="")).status == 401


async def test_an_empty_token_never_matches(environ: dict[str, str]) -> None:
    """Not even where none is set, which `serve` refuses and the demo never does."""
    access = Access(load(None, environ | {"CODRIVER_TOKEN": ""}), SystemClock())
    assert not access.is_right(["", "x", "sha256:"])


async def test_a_token_may_be_configured_as_its_hash(doors: Doors) -> None:
    digest = hashlib.sha256(TOKEN.encode()).hexdigest()
    for spelt in (digest, digest.upper()):
        door = await doors.open(token=f"sha256:{spelt}")
        assert (await door.say("GET", "/voice/ping")).status == 200
        assert (await door.say("GET", "/voice/ping", token=f"sha256:{digest}")).status == 401
        assert (await door.say("GET", "/voice/ping", token=digest)).status == 401


async def test_a_token_in_the_path_can_be_switched_off(doors: Doors) -> None:
    door = await doors.open(auth_path_token="0")
    for target in (f"/voice/{TOKEN}/ping", f"/{TOKEN}/voice/ping"):
        assert (await door.say("GET", target, token="")).status == 401
        assert (await door.say("GET", target)).status == 404


@pytest.mark.parametrize(
    "target",
    ["/", "/nothing", "/voice", "/voice/ask", "/voice/history", "/readyz", "/metrics", "/openapi.json"],
)
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
async def test_without_a_token_nothing_is_told_apart(method: str, target: str, door: Door) -> None:
    response = await door.say(method, target, token="")
    assert response.status == 401
    assert response.header("WWW-Authenticate") == "Bearer"
    check_sentence(response)


@pytest.mark.parametrize(
    "body", [b"a=%E9&message=x&token=", b'{"message":["x"],"wait":"z","token":"', b"message=a&b&token="]
)
async def test_only_who_may_come_in_hears_what_is_wrong(
    body: bytes, door: Door, session: FakeSession
) -> None:
    end = b'"}' if body.startswith(b"{") else b""
    for token, status in ((WRONG, 401), (TOKEN, 400)):
        response = await door.post("/voice/ask", body + token.encode() + end, FORM, token="")
        assert response.status == status
        check_sentence(response)
    assert session.messages == []


async def test_a_broken_query_does_not_hide_its_token(door: Door) -> None:
    for query in ("message=fix%20R&D%20page", "message=%E9", "wait=soon", "session=a&session=b"):
        assert (await door.say("GET", f"/voice/ask?{query}&token={TOKEN}", token="")).status == 400
        assert (await door.say("GET", f"/voice/ask?{query}&token={WRONG}", token="")).status == 401


async def test_a_large_body_is_not_read_without_a_right_token(doors: Doors) -> None:
    """What goes into the connection before the refusal is what the kernel buffers, far from all of it."""
    door = await doors.open()
    size = 24 * 1024 * 1024
    for token in ("", WRONG):
        async with connected(door.port) as wire:
            await wire.send(request("POST", "/voice/ask", token=token, headers={"Content-Length": str(size)}))
            response = await wire.response()
            assert response.status == 401
            assert response.header("Connection") == "close"
            sent = 0
            try:
                while sent < size:
                    await wire.send(bytes(65536))
                    sent += 65536
            except ConnectionError:
                pass
            assert sent < size


async def test_of_a_large_chunked_body_only_what_may_hold_a_token_is_read(
    doors: Doors, monkeypatch: pytest.MonkeyPatch
) -> None:
    readers: list[bodies.BodyReader] = []
    make = bodies.BodyReader.__init__

    def remembered(self: bodies.BodyReader, *args: Any) -> None:
        make(self, *args)
        readers.append(self)

    monkeypatch.setattr(bodies.BodyReader, "__init__", remembered)
    door = await doors.open()
    chunk = b"10000\r\n" + bytes(65536) + b"\r\n"
    async with connected(door.port) as wire:
        await wire.send(request("POST", "/voice/ask", headers={"Transfer-Encoding": "chunked"}))
        try:
            for _ in range(8):
                await wire.send(chunk)
        except ConnectionError:
            pass
        assert (await wire.response()).status == 401
    [reader] = readers
    assert reader.read_bytes == bodies.TOKEN_BODY_LIMIT_BYTES + 1


async def test_a_refused_upload_of_usual_size_still_hears_the_answer(door: Door) -> None:
    """Who sends all of a recording before listening must not find a reset in place of the sentence."""
    body = WAV + bytes(150_000)
    async with connected(door.port) as wire:
        await wire.send(
            request("POST", "/voice/ask", body, token=WRONG, headers={"Content-Type": "audio/wav"})
        )
        assert (await wire.response()).status == 401


async def test_who_may_come_in_can_send_all_of_a_large_upload_before_the_refusal(door: Door) -> None:
    """Such a client does not listen while it sends; a connection that is cut under it tells it nothing."""
    data = request("POST", "/voice/nothing", bytes(8_000_000), token=TOKEN)

    def all_then_listen() -> bytes:
        with socket.create_connection(("127.0.0.1", door.port)) as connection:
            connection.sendall(data)
            return connection.recv(65536)

    assert b" 404 " in await asyncio.to_thread(all_then_listen)


async def test_open_paths_read_nothing(door: Door) -> None:
    async with connected(door.port) as wire:
        await wire.send(request("GET", "/healthz?wait=x&message=a&b", headers={"Content-Length": "20000000"}))
        response = await wire.response()
    assert response.body == b"ok\n"


async def test_a_large_body_is_read_with_a_right_token(doors: Doors, session: FakeSession) -> None:
    ears = FakeEars()
    door = await doors.open(ears=ears)
    body = WAV + bytes(3_000_000)
    assert (await door.post("/voice/ask", body, "audio/wav")).status == 200
    assert ears.recordings == [body]
