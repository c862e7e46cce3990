"""Fields and recordings out of whatever a client sends: contract 4.2, through the running door."""

import json
import tracemalloc
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from gateway.doors.bodies import TEXT_LIMIT_BYTES, parse
from tests.gateway.doors.checks import check_sentence, told
from tests.gateway.doors.conftest import WAV, Door, Doors, FakeEars
from tests.gateway.doors.wire import connected, request
from tests.gateway.fake_session import FakeSession

_TABLE = Path(__file__).parents[2] / "corpus" / "http_bodies.yaml"
CASES: list[dict[str, str]] = yaml.safe_load(_TABLE.read_text("utf-8"))
HEARD = "what was heard"


def as_bytes(text: str) -> bytes:
    """The notation of the table: a backslash, an x and two digits stand for one byte."""
    if text == "$WAV":
        return WAV
    data = b""
    first, *rest = text.split("\\x")
    data += first.encode()
    for piece in rest:
        data += bytes.fromhex(piece[:2]) + piece[2:].encode()
    return data


@pytest.fixture
def ears() -> FakeEars:
    return FakeEars(HEARD)


@pytest.fixture
async def hearing(doors: Doors, ears: FakeEars) -> Door:
    return await doors.open(ears=ears)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
async def test_bodies(case: dict[str, Any], hearing: Door, ears: FakeEars, session: FakeSession) -> None:
    target = "/voice/ask" + (f"?{case['query']}" if "query" in case else "")
    response = await hearing.post(target, as_bytes(case["body"]), case.get("type"))
    words = [told(content) for content in session.messages]
    if "status" in case:
        assert response.status == case["status"], response.text
        assert words == []
        assert ears.recordings == []
        check_sentence(response)
        return
    assert response.status == 200, response.text
    assert words == [case.get("forwarded", HEARD)]
    assert ears.recordings == ([as_bytes(case["heard"])] if "heard" in case else [])


def multipart(
    *parts: tuple[str, bytes], boundary: str = "B", end: str = "\r\n", closes: bool = True
) -> bytes:
    """A body of parts, each a header without its line ends and the bytes."""
    data = b""
    for head, body in parts:
        data += (
            f"--{boundary}{end}".encode()
            + head.replace("\n", end).encode()
            + f"{end}{end}".encode()
            + body
            + end.encode()
        )
    return data + (f"--{boundary}--{end}".encode() if closes else b"")


def field(name: str, more: str = "") -> str:
    return f'Content-Disposition: form-data; name="{name}"{more}'


SOUNDS = {
    "audio": field("audio", '; filename="a.wav"') + "\nContent-Type: audio/wav",
    "file": field("file", '; filename="a.wav"'),
    "another name": field("voice memo", '; filename="a.wav"'),
    "capitals": 'CONTENT-DISPOSITION: FORM-DATA; NAME="AUDIO"; FILENAME="a.wav"',
    "no file name": field("audio") + "\nContent-Type: audio/mp4",
    "no quotes": "Content-Disposition: form-data; name=audio; filename=a.wav",
    "no disposition": "Content-Type: audio/wav",
    "no name": "Content-Disposition: form-data; filename=x",
    "the words' name": field("message"),
    "accents and both forms": field(
        "audio", "; filename=\"Récord “1”.m4a\"; filename*=UTF-8''R%C3%A9cord.m4a"
    ),
    "a quoted quote": field("audio", r'; filename="a \"b\"; name=\"message\".wav"'),
    "a bare quote": field("audio", '; filename="a "b".wav"'),
    "a path": field("audio", '; filename="../../../etc/passwd"'),
    "a broken percent": field("audio", "; filename*=UTF-8''%E9%zz"),
    "a trailing semicolon": field("audio") + ";",
    "a folded header": field("audio", ";\n  filename=a.wav"),
    "a wrong type": field("audio") + "\nContent-Type: text/plain; charset=utf-8",
    "type multipart": field("audio") + "\nContent-Type: multipart/mixed; boundary=C",
    "extended name": "Content-Disposition: form-data; name*=UTF-8''audio",
}


@pytest.mark.parametrize("end", ["\r\n", "\n"], ids=["CRLF", "LF"])
@pytest.mark.parametrize("head", SOUNDS.values(), ids=SOUNDS.keys())
async def test_a_recording_in_a_part_is_heard(
    head: str,
    end: str,
    hearing: Door,
    ears: FakeEars,
    session: FakeSession,
    capfd: pytest.CaptureFixture[str],
) -> None:
    sound = WAV + b"\r\n--\r\n--A\n--Bx\r\n-B\x00\xff\r\n"
    body = multipart((head, sound), (field("session"), b"demo"), end=end)
    response = await hearing.post("/voice/ask", body, "multipart/form-data; boundary=B")
    assert response.status == 200, response.text
    assert ears.recordings == [sound]
    assert [told(content) for content in session.messages] == [HEARD]
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("boundary", ["B", "----WebKitFormBoundary7MA4YWxk", "a'()+_,-./:=?", "x" * 70])
@pytest.mark.parametrize("kind", ["multipart/form-data", "Multipart/Form-Data", "multipart/mixed"])
async def test_words_in_parts_arrive(kind: str, boundary: str, hearing: Door, session: FakeSession) -> None:
    words = "fix R&D, “now”\r\n\r\nthen --B the rest\r\n"
    parts = [
        (field("message") + "\nContent-Type: text/plain", words.encode()),
        (field("session"), b"demo"),
        (field("x"), b"\xff"),
    ]
    for data in (
        multipart(*parts, boundary=boundary),
        b"a preamble\r\n" + multipart(*parts, boundary=boundary) + b"epilogue",
    ):
        session.frames.clear()
        response = await hearing.post(
            "/voice/ask?join=0", data, f'{kind}; charset=utf-8; boundary="{boundary}"'
        )
        assert response.status == 200, response.text
        assert [told(content) for content in session.messages] == [words]


TEXT = field("message")
AUDIO = field("audio")
REFUSED: dict[str, tuple[int, bytes]] = {
    "a recording and words": (400, multipart((AUDIO, WAV), (TEXT, b"deploy"))),
    "two recordings": (400, multipart((AUDIO, WAV), (field("file"), WAV + b"x"))),
    "two recordings of other names": (400, multipart((field("a"), WAV), (field("b"), WAV + b"x"))),
    "two messages": (400, multipart((TEXT, b"deploy"), (TEXT, b"stop"))),
    "Latin words": (400, multipart((TEXT, b"caf\xe9"))),
    "no words": (400, multipart((field("session"), b"demo"))),
    "empty words": (400, multipart((TEXT, b""))),
    "no parts": (400, b"--B--\r\n"),
    "no boundary in the body": (400, b"x\r\n" * 50),
    "cut before its end": (400, multipart((TEXT, b"deploy"), closes=False)),
    "cut in its last boundary": (400, multipart((TEXT, b"deploy"), closes=False) + b"--B-"),
    "cut after a boundary": (400, multipart((TEXT, b"deploy"), closes=False) + b"--B"),
    "too many parts": (400, multipart(*[(field(f"x{i}"), b"") for i in range(200)], (TEXT, b"deploy"))),
    "a header without end": (400, b"--B\r\nX: " + b"y" * 40_000 + b"\r\n\r\nhi\r\n--B--\r\n"),
    "an audio part that is text": (422, multipart((AUDIO, b"run the tests"))),
    "an audio part that is text, and words": (422, multipart((AUDIO, b"noise"), (TEXT, b"deploy"))),
    "an empty audio part": (422, multipart((AUDIO, b""))),
    "declared sound that is none": (422, multipart((field("x") + "\nContent-Type: audio/mp4", b"noise"))),
}


@pytest.mark.parametrize(("status", "body"), REFUSED.values(), ids=REFUSED.keys())
async def test_parts_that_cannot_be_meant_send_nothing(
    status: int, body: bytes, hearing: Door, ears: FakeEars, session: FakeSession
) -> None:
    response = await hearing.post("/voice/ask", body, "multipart/form-data; boundary=B")
    assert response.status == status, response.text
    check_sentence(response)
    assert session.messages == []
    assert ears.recordings == []


@pytest.mark.parametrize(
    "kind",
    [
        "multipart/form-data",
        "multipart/form-data; boundary=",
        "multipart/form-data; boundary=C",
        f"multipart/form-data; boundary={'x' * 500}",
        "multipart/form-data; boundary=\xff",
    ],
)
async def test_a_boundary_that_is_not_there_is_a_400(kind: str, hearing: Door, session: FakeSession) -> None:
    response = await hearing.post("/voice/ask", multipart((TEXT, b"deploy")), kind)
    assert response.status == 400
    assert session.messages == []


async def test_a_file_that_was_not_chosen_does_not_stand_in_the_way_of_words(
    hearing: Door, session: FakeSession
) -> None:
    body = multipart(
        (field("audio", '; filename=""') + "\nContent-Type: application/octet-stream", b""), (TEXT, b"hi")
    )
    assert (await hearing.post("/voice/ask", body, "multipart/form-data; boundary=B")).status == 200
    assert [told(content) for content in session.messages] == ["hi"]


async def test_words_up_to_64_kib_arrive_in_every_way_and_more_is_said(
    hearing: Door, session: FakeSession
) -> None:
    most = "é" * (32 * 1024)
    escaped = json.dumps({"message": most}).encode()
    for body, kind in (
        (most.encode(), "text/plain"),
        (escaped, "application/json"),
        (multipart((TEXT, most.encode())), "multipart/form-data; boundary=B"),
        (b"message=" + b"%C3%A9" * (32 * 1024), "application/x-www-form-urlencoded"),
    ):
        session.frames.clear()
        assert (await hearing.post("/voice/ask?join=0", body, kind)).status == 200
        assert [told(content) for content in session.messages] == [most]
    session.frames.clear()
    for over in ((most + "x").encode(), b"x" * (TEXT_LIMIT_BYTES + 1), b"x" * 5_000_000):
        for body, kind in (
            (over, "text/plain"),
            (multipart((TEXT, over)), "multipart/form-data; boundary=B"),
            (over, None),
        ):
            response = await hearing.post("/voice/ask", body, kind, headers={"X-Voice-Client": "1"})
            assert response.status == 413
            check_sentence(response)
    assert session.messages == []


async def test_a_body_that_never_ends_is_stopped_at_the_limit(doors: Doors, session: FakeSession) -> None:
    door = await doors.open(server_body_limit_bytes="200000")
    kind = {"Content-Type": "multipart/form-data; boundary=AAA", "Transfer-Encoding": "chunked"}
    async with connected(door.port) as wire:
        await wire.send(request("POST", "/voice/ask", token=door.token, headers=kind))
        sent = 0
        try:
            while sent < 50_000_000:
                await wire.send(b"3000\r\n" + b"x\r\n" * 4096 + b"\r\n")
                sent += 3 * 4096
                if sent == 12288 * 40:
                    assert (await door.say("GET", "/voice/ping")).status == 200
        except ConnectionError:
            pass
        assert sent < 50_000_000
    assert session.messages == []


async def test_memory_stays_near_the_limit_however_much_is_sent(doors: Doors) -> None:
    limit_bytes = 2_000_000
    door = await doors.open(server_body_limit_bytes=str(limit_bytes))
    chunk = b"10000\r\n" + bytes(65536) + b"\r\n"
    async with connected(door.port) as wire:
        await wire.send(
            request("POST", "/voice/ask", token=door.token, headers={"Transfer-Encoding": "chunked"})
        )
        tracemalloc.start()
        try:
            with suppress(ConnectionError):
                for _ in range(1000):
                    await wire.send(chunk)
            peak_bytes = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak_bytes < 5 * limit_bytes


async def test_over_the_limit_is_413_at_once_and_for_voice_clients_too(doors: Doors) -> None:
    door = await doors.open(server_body_limit_bytes="100000")
    for headers in ({}, {"X-Voice-Client": "1"}):
        async with connected(door.port) as wire:
            more = {"Content-Length": "100001", "Expect": "100-continue", **headers}
            await wire.send(request("POST", "/voice/ask", token=door.token, headers=more))
            response = await wire.response()
        assert response.status == 413
        check_sentence(response)
    whole = await door.post("/voice/ask", WAV + bytes(200_000), "audio/wav")
    assert whole.status == 413


async def test_a_body_is_read_on_get_too(hearing: Door, session: FakeSession) -> None:
    response = await hearing.say("GET", "/voice/ask", b'{"message":"hi"}')
    assert response.status == 200
    assert [told(content) for content in session.messages] == ["hi"]


@pytest.mark.parametrize("depth", [1000, 100_000])
def test_deep_json_is_no_object(depth: int) -> None:
    body = b'{"message":' + b"[" * depth + b"]" * depth + b"}"
    assert parse(body, "application/json").problem is not None


def test_a_large_multipart_body_without_a_boundary_is_searched_once() -> None:
    body = b"--A\r\n" * 4_000_000
    assert parse(body, "multipart/form-data; boundary=AAA").problem is not None


@pytest.mark.parametrize(
    ("limit_bytes", "said"),
    [("26214400", "25 megabytes"), ("104857600", "100 megabytes"), ("100000", "0.1 megabytes")],
)
async def test_the_limit_that_is_said_is_the_one_that_is_set(
    limit_bytes: str, said: str, doors: Doors
) -> None:
    door = await doors.open(server_body_limit_bytes=limit_bytes)
    response = await door.say("POST", "/voice/ask", headers={"Content-Length": "999999999"})
    assert said in response.text
