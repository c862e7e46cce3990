"""When something goes wrong nobody learns more than a sentence: no log, no body, no stream has a secret."""

import asyncio
import gc
import json
import logging
import re
import warnings
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from gateway.doors.protocol import ConnectionLimits
from gateway.errors import GatewayError
from tests.gateway.conftest import TOKEN
from tests.gateway.doors.checks import UNREADABLE, check_sentence
from tests.gateway.doors.conftest import WAV, Door, Doors, FakeEars, FakeMouth, Written
from tests.gateway.doors.wire import Response, connected, request, said
from tests.gateway.fake_session import FakeSession, answer_with

WORDS = "PlantedWords4711"
ANSWER = "PlantedAnswer4711"
NAME = "PlantedName4711"
GUESS = "PlantedToken4711"
SECRETS = (WORDS, ANSWER, NAME, GUESS, TOKEN)
REFUSALS = (400, 401, 403, 404, 405, 409, 413, 422, 429, 500, 503)


@pytest.fixture
async def open_door(doors: Doors, session: FakeSession) -> AsyncIterator[Callable[..., Any]]:
    """Opens a gateway whose session, voice and ears are full of secrets."""
    session.mind = answer_with(f"{ANSWER} is done.")
    session.set(name=NAME)
    with warnings.catch_warnings():
        # What would be printed must be caught, not raised on its way.
        warnings.simplefilter("always")
        yield lambda **more: doors.open(ears=FakeEars(WORDS), **more)


def check_silence(response: Response, *, own: str = "") -> None:
    """A refusal holds no secret, but for what the client itself is asked about."""
    for secret in SECRETS:
        if secret != own:
            assert secret.encode() not in response.raw


async def test_no_secret_is_logged_whatever_the_outcome(
    open_door: Callable[..., Any],
    session: FakeSession,
    written: Written,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    door: Door = await open_door(
        auth_failures_per_minute="4", server_body_limit_bytes="100000", mouth=FakeMouth()
    )
    seen: dict[int, Response] = {}

    async def play(method: str, target: str, body: bytes | None = None, **more: Any) -> Response:
        response = await door.say(method, target, body, **more)
        seen.setdefault(response.status, response)
        return response

    jsoned = {"Content-Type": "application/json"}
    quoted = {"Referer": f"https://gw.example/?token={TOKEN}", "X-Odd": WORDS, "User-Agent": GUESS}
    ok = await play(
        "POST", "/voice/ask?wait=10", json.dumps({"message": WORDS, "session": NAME}).encode(), headers=jsoned
    )
    assert (ok.status, ok.text) == (200, f"{ANSWER} is done.")
    assert (await play("POST", "/voice/ask?join=0&wait=10", WAV, headers=quoted)).status == 200
    assert (await play("POST", "/voice/ask?format=audio&join=0&wait=10", WORDS.encode())).status == 200
    await play("GET", f"/voice/ask?message={WORDS}&D&token={TOKEN}")
    await play("GET", f"/voice/{GUESS}/ask?token={GUESS}&message={WORDS}", token=GUESS)
    await play("GET", f"/{TOKEN}/voice/{WORDS}", token="", headers=quoted)
    await play("GET", f"/voice/reply?session={NAME}x&token={TOKEN}", token="")
    await play("GET", f"/{WORDS}/{NAME}")
    await play("DELETE", f"/voice/ask?message={WORDS}")
    await play("GET", f"/voice/ping?{WORDS}", host=f"{WORDS}.example")
    await play("GET", "/voice/ping", headers={"Origin": f"https://{WORDS}.example"})
    await play("POST", f"/voice/ask?id=1&session={NAME}", WORDS.encode())
    await play("POST", f"/voice/ask?id=1&session={NAME}", b"other " + WORDS.encode())
    await play("POST", f"/voice/ask?expect_id={WORDS}&session={NAME}", WORDS.encode())
    await play("POST", f"/voice/ask?session={NAME}", WORDS.encode() * 10_000)
    await play("POST", "/voice/ask", WORDS.encode(), headers={"Content-Type": "audio/wav"})
    for _ in range(8):
        await play("GET", "/voice/ping", token=GUESS)
    session.set(name=NAME, messagingSocketPath=None)
    await play("POST", f"/voice/ask?session={NAME}&join=0", WORDS.encode())

    async def broken(*args: object, **more: object) -> None:
        raise RuntimeError(f"{WORDS} {TOKEN}")

    monkeypatch.setattr(door.service.sessions, "choose", broken)
    await play("POST", f"/voice/ask?session={NAME}", WORDS.encode())

    assert set(REFUSALS) - set(seen) == set(), "an outcome was not provoked"
    for status in REFUSALS:
        check_silence(seen[status], own=NAME)
    for secret in SECRETS:
        assert secret not in written.text
        assert secret not in "".join(capfd.readouterr())


@pytest.mark.parametrize("data", UNREADABLE.values(), ids=UNREADABLE.keys())
async def test_no_secret_is_logged_of_what_does_not_parse(
    data: str, open_door: Callable[..., Any], written: Written, capfd: pytest.CaptureFixture[str]
) -> None:
    door: Door = await open_door()
    planted = data.replace("S3CRET-0815", TOKEN).encode("latin-1")
    check_silence(await said(door.port, planted))
    async with connected(door.port) as wire:
        await wire.send(request("GET", "/voice/ping", token=TOKEN) + planted)
        await wire.rest() if b"Content-Length" in planted else await wire.response()
    assert TOKEN not in written.text
    assert TOKEN not in "".join(capfd.readouterr())


MULTIPARTS = {
    "a file name": f'--B\r\nContent-Disposition: form-data; filename="{WORDS}\r\n\r\nx\r\n--B--\r\n',
    "a disposition": f"--B\r\nContent-Disposition: {WORDS} {TOKEN};;=\r\n\r\nx\r\n--B--\r\n",
    "a header": f"--B\r\n{WORDS}\r\n\r\nx\r\n--B--\r\n",
    "an encoding": f"--B\r\nContent-Transfer-Encoding: {WORDS}\r\n\r\nx\r\n--B--\r\n",
    "a charset": f'--B\r\nContent-Disposition: form-data; name="_charset_"\r\n\r\n{WORDS * 9}\r\n--B--\r\n',
}


@pytest.mark.parametrize("body", MULTIPARTS.values(), ids=MULTIPARTS.keys())
async def test_odd_parts_are_not_warned_about_by_name(
    body: str, open_door: Callable[..., Any], written: Written, capfd: pytest.CaptureFixture[str]
) -> None:
    door: Door = await open_door()
    response = await door.post("/voice/ask", body, "multipart/form-data; boundary=B")
    assert response.status in (400, 422)
    assert WORDS not in written.text
    assert WORDS not in "".join(capfd.readouterr())


async def test_one_line_tells_of_a_request_and_nothing_in_it_can_make_a_second(
    door: Door, written: Written
) -> None:
    written.clear()
    await door.say("GET", "/voice/ask?session=x%0d%0a2026-01-01%20INFO%20auth%20ok&message=hi%0aERROR")
    await door.say("GET", "/voice/x%0aINFO%20auth%20ok", token="a\tb")
    lines = [line for line in written.lines if " codriver.http " in line]
    assert len(lines) == 2
    assert "auth ok" not in written.text
    assert re.match(r"INFO codriver\.http GET /voice/ask status=404 state=error ms=\d+ ", lines[0])
    assert re.match(r"INFO codriver\.http GET - status=401 state=error ms=\d+ ", lines[1])


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError,
        KeyError,
        ValueError,
        UnicodeEncodeError,
        AssertionError,
        TimeoutError,
        OSError,
        StopAsyncIteration,
        RecursionError,
        MemoryError,
    ],
)
async def test_a_fault_of_ours_is_one_sentence(
    error: type[Exception], door: Door, monkeypatch: pytest.MonkeyPatch, written: Written
) -> None:
    args = ("utf-8", WORDS, 0, 1, WORDS) if error is UnicodeEncodeError else (WORDS,)

    async def broken(*_: object, **more: object) -> None:
        raise error(*args)

    monkeypatch.setattr(door.service.sessions, "choose", broken)
    monkeypatch.setattr(door.service.sessions, "live", broken)
    for target in (
        "/voice/ask?message=hi",
        "/voice/reply",
        "/voice/sessions",
        "/voice/sessions?format=audio",
    ):
        response = await door.say("GET", target)
        assert response.status == 500
        check_sentence(response)
    assert WORDS not in written.text
    assert f"error={error.__name__}" in written.text or error is StopAsyncIteration


@pytest.mark.parametrize("error", [RuntimeError(WORDS), GatewayError("internal"), OSError(WORDS)])
async def test_a_fault_of_the_records_after_a_whole_answer_writes_no_second_one(
    error: Exception, door: Door, session: FakeSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer is whole, its bookkeeping failed: it stays new, and the connection says no more."""

    async def broken(*_: object, **more: object) -> None:
        raise error

    session.mind = answer_with("All tests pass.")
    with monkeypatch.context() as patch:
        patch.setattr(door.service.store, "heard", broken)
        async with connected(door.port) as wire:
            await wire.send(request("POST", "/voice/ask?wait=10", b"hi", token=TOKEN))
            assert (await wire.response()).text == "All tests pass."
            assert await wire.rest() == b""
    assert (await door.say("GET", "/voice/reply")).text == "All tests pass."
    assert len(session.messages) == 1


async def test_an_error_without_a_sentence_is_still_no_traceback(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object, **more: object) -> None:
        raise GatewayError("no_such_code")

    monkeypatch.setattr(door.service.sessions, "choose", broken)
    response = await door.say("GET", "/voice/reply")
    assert response.status == 500
    check_sentence(response)


async def test_every_refusal_is_plain_speakable_and_complete(doors: Doors, session: FakeSession) -> None:
    door = await doors.open(
        ears=FakeEars("", verdict="silent"), auth_failures_per_minute="1", server_body_limit_bytes="100000"
    )
    seen = {
        (await door.say("POST", "/voice/ask")).status: 400,
        (await door.say("GET", "/voice/ask", token="x")).status: 401,
        (await door.say("GET", "/voice/ask", token="x")).status: 429,
        (await door.say("GET", "/voice/ask", host="x")).status: 403,
        (await door.say("GET", "/voice/x")).status: 404,
        (await door.say("PUT", "/voice/ask")).status: 405,
        (await door.say("POST", "/voice/ask", bytes(200_000))).status: 413,
        (await door.say("POST", "/voice/ask", WAV)).status: 422,
    }
    assert all(given == wanted for given, wanted in seen.items())


async def test_fifty_clients_that_hang_up_leave_nothing_behind(doors: Doors, session: FakeSession) -> None:
    door = await doors.open(limits=ConnectionLimits(256))

    def left() -> tuple[int, int]:
        gc.collect()
        return len(asyncio.all_tasks()), len(list(Path("/proc/self/fd").iterdir()))

    session.mind = answer_with("Done.")
    await door.say("POST", "/voice/ask?message=first&wait=5")
    await asyncio.sleep(0.3)
    tasks, descriptors = left()
    for i in range(50):
        _, writer = await asyncio.open_connection("127.0.0.1", door.port)
        kind = i % 5 if i % 10 < 5 else i % 4
        if kind == 1:
            writer.write(b"POST /voice/ask HTTP/1.1\r\nHost: 127")
        elif kind == 2:
            writer.write(
                request("POST", "/voice/ask", token=TOKEN, headers={"Content-Length": "1000"}) + b"part"
            )
        elif kind == 3:
            writer.write(request("GET", "/voice/reply?wait=0.2", token=TOKEN))
        elif kind == 4:
            writer.write(request("POST", "/voice/ask?wait=0.2", f"number {i}".encode(), token=TOKEN))
        await writer.drain()
        if i % 2:
            await asyncio.sleep(0.01)
        writer.transport.abort()
    for _ in range(100):
        await asyncio.sleep(0.1)
        now = left()
        if now[0] <= tasks and now[1] <= descriptors:
            break
    assert now[0] <= tasks
    assert now[1] <= descriptors
    words = [content.split("\n")[0] for content in session.messages]
    assert len(words) == len(set(words)), "a message was sent twice"
    assert set(words) <= {"first", *(f"number {i}" for i in range(50))}, "a message was torn"


def test_the_log_is_not_set_up_by_the_door() -> None:
    """The level is the operator's; a library that lowers it would show what it must not."""
    assert logging.getLogger("codriver.http").level == logging.NOTSET
