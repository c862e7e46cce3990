"""An answer is heard at least once: what could not be written whole stays new, and a prompt is sent once."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.conftest import TOKEN
from tests.gateway.doors.conftest import Door, Doors, FakeMouth
from tests.gateway.doors.wire import Wire, connected, request
from tests.gateway.fake_session import FakeSession, answer_with, enqueue, peer, text, turn_duration, user

HANG_UPS = {"reset": Wire.abort, "close": lambda wire: wire.writer.close()}


class Later:
    """A mind that takes a message in at once and answers when it is told to."""

    def __init__(self, session: FakeSession) -> None:
        self.session = session
        session.mind = self

    def __call__(self, session: FakeSession, content: str, frame: dict[str, Any]) -> None:
        session.write(enqueue(content), peer(frame))

    def answer(self, words: str) -> None:
        self.session.write(text(words), turn_duration())


async def until(is_so: Any, what: str) -> None:
    for _ in range(200):
        if is_so():
            return
        await asyncio.sleep(0.02)
    raise AssertionError(what)


@pytest.mark.parametrize("hang_up", HANG_UPS.values(), ids=HANG_UPS.keys())
async def test_who_leaves_while_waiting_for_a_reply_hears_it_next_time(
    hang_up: Any, door: Door, session: FakeSession
) -> None:
    mind = Later(session)
    await door.say("POST", "/voice/ask?message=hi&wait=0")
    async with connected(door.port) as wire:
        await wire.send(request("GET", "/voice/reply?wait=20", token=TOKEN))
        await asyncio.sleep(0.1)
        hang_up(wire)
        await asyncio.sleep(0.1)
        mind.answer("All tests pass.")
        await asyncio.sleep(1.0)
    assert (await door.say("GET", "/voice/reply?wait=5")).text == "All tests pass."
    assert (await door.say("GET", "/voice/reply?wait=0")).text == "Nothing new."
    assert len(session.messages) == 1


@pytest.mark.parametrize("hang_up", HANG_UPS.values(), ids=HANG_UPS.keys())
@pytest.mark.parametrize("pause_s", [0, 0.001, 0.02, 0.2])
async def test_who_leaves_after_asking_was_heard_once_or_not_at_all(
    pause_s: float, hang_up: Any, door: Door, session: FakeSession
) -> None:
    session.mind = answer_with("Done.")
    async with connected(door.port) as wire:
        await wire.send(request("POST", "/voice/ask?id=7c1d", b"run the tests", token=TOKEN))
        await asyncio.sleep(pause_s)
        hang_up(wire)
    again = await door.say("POST", "/voice/ask?id=7c1d&wait=10", b"run the tests")
    assert again.text == "Done."
    await asyncio.sleep(0.2)
    assert len(session.messages) == 1
    assert session.messages[0].startswith("run the tests\n\n---")


@pytest.mark.parametrize("cut_at", [5, 40, 120, 180])
async def test_a_request_that_breaks_off_sends_nothing(cut_at: int, door: Door, session: FakeSession) -> None:
    data = request("POST", "/voice/ask", b"run the tests " * 10, token=TOKEN)
    async with connected(door.port) as wire:
        await wire.send(data[:cut_at])
        await asyncio.sleep(0.05)
        wire.abort()
    await asyncio.sleep(0.2)
    assert session.messages == []


async def test_a_phone_that_repeats_its_request_sends_one_prompt(door: Door, session: FakeSession) -> None:
    mind = Later(session)
    headers = {"Idempotency-Key": "7c1d"}
    first = asyncio.create_task(door.post("/voice/ask?wait=10", b"hi", "text/plain", headers=headers))
    await until(lambda: session.messages, "nothing was sent")
    second = asyncio.create_task(door.post("/voice/ask?wait=10", b"hi", "text/plain", headers=headers))
    await asyncio.sleep(0.1)
    mind.answer("Done.")
    assert {(await first).text, (await second).text} == {"Done."}
    assert len(session.messages) == 1


async def test_a_spoken_answer_that_nobody_takes_to_its_end_stays_new(
    doors: Doors, session: FakeSession
) -> None:
    class Slow(FakeMouth):
        async def speak(self, sentences: Any, media_type: str) -> Any:
            for sentence in sentences:
                yield sentence.encode()
                await asyncio.sleep(0.2)

    door = await doors.open(mouth=Slow())
    session.write(user("x"), text("One. Two. Three."), turn_duration())
    async with connected(door.port) as wire:
        await wire.send(request("GET", "/voice/reply?format=audio", token=TOKEN))
        assert b"200" in await wire.reader.readline()
        await asyncio.sleep(0.1)
        wire.abort()
        await asyncio.sleep(0.8)
    assert (await door.say("GET", "/voice/reply?wait=1")).text == "One. Two. Three."


async def test_a_client_gone_at_the_last_moment_did_not_hear_it(door: Door, session: FakeSession) -> None:
    """The loss shows only in the writing itself; that it was tried proves nothing."""
    session.write(user("x"), text("All tests pass."), turn_duration())
    connection = socket.create_connection(("127.0.0.1", door.port))
    dialog = door.service.dialog
    handing_over = dialog.handing_over

    @asynccontextmanager
    async def gone_by_now(heard: Any) -> AsyncIterator[None]:
        async with handing_over(heard):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()
            yield

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dialog, "handing_over", gone_by_now)
        connection.sendall(request("GET", "/voice/reply", token=TOKEN))
        await until(lambda: connection.fileno() < 0, "nothing was answered")
        await asyncio.sleep(0.2)
    assert (await door.say("GET", "/voice/reply?wait=1")).text == "All tests pass."


async def test_a_client_that_is_quick_cannot_hear_an_answer_twice(door: Door, session: FakeSession) -> None:
    """The next request waits for the records of the one before, even on a connection of its own."""
    heard = door.service.store.heard

    async def slowly(told: Any) -> None:
        await asyncio.sleep(0.2)
        await heard(told)

    door.service.store.heard = slowly  # type: ignore[method-assign]
    for i in range(5):
        session.write(user(f"prompt {i}"), text(f"Answer {i}."), turn_duration())
        first = await door.say("GET", "/voice/reply?wait=1")
        second = await door.say("GET", "/voice/reply?wait=0")
        assert (first.text, second.text) == (f"Answer {i}.", "Nothing new.")


async def test_two_clients_each_hear_every_answer(door: Door, session: FakeSession) -> None:
    session.write(user("x"), text("All tests pass."), turn_duration())
    for client in ("phone", "watch"):
        assert (await door.say("GET", f"/voice/reply?client={client}")).text == "All tests pass."


async def test_a_probe_does_not_use_an_answer_up(door: Door, session: FakeSession) -> None:
    session.write(user("x"), text("All tests pass."), turn_duration())
    for _ in range(3):
        assert (await door.say("HEAD", "/voice/reply?session=demo")).status == 200
    assert (await door.say("GET", "/voice/reply?session=demo")).text == "All tests pass."


async def test_a_refused_preflight_or_method_does_not_use_an_answer_up(
    door: Door, session: FakeSession
) -> None:
    session.write(user("x"), text("All tests pass."), turn_duration())
    for method in ("OPTIONS", "PUT", "DELETE", "HEAD"):
        await door.say(method, "/voice/reply")
    assert (await door.say("GET", "/voice/reply")).text == "All tests pass."


async def test_an_answer_is_one_write_that_no_proxy_has_to_wait_for(door: Door, session: FakeSession) -> None:
    """Header and body of a text answer leave together, with a length, before the default wait is over."""
    session.mind = answer_with("Done.")
    response = await door.say("POST", "/voice/ask?message=hi")
    assert response.header("Content-Length") == str(len(response.body))
    assert response.header("Transfer-Encoding") is None


def test_this_folder_holds_no_recordings() -> None:
    assert not [path for path in Path(__file__).parent.iterdir() if path.suffix in (".wav", ".mp3", ".m4a")]
