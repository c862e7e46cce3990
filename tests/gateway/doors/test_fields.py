"""The fields of a request: how each is read, and what counts as absent."""

import asyncio
import time

import pytest

from gateway.errors import BadRequest
from gateway.fields import FIELDS, Fields
from tests.gateway.doors.checks import check_sentence
from tests.gateway.doors.conftest import Door
from tests.gateway.fake_session import FakeSession, answer_with, silent


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("5", 5.0), (" 2.5 ", 2.5), ("-3", -3.0), ("1e2", 100.0), ("0", 0.0), ("", 7.0), (" ", 7.0)],
)
def test_seconds_are_read(text: str, seconds: float) -> None:
    assert Fields([("wait", text)]).number("wait", 7.0) == seconds


@pytest.mark.parametrize(
    "text", ["soon", "nan", "inf", "-inf", "1_0", "2,5", "5 s", "0x5", "--1", "\0", "\r\n5\r\nx"]
)
def test_what_is_no_number_is_refused(text: str) -> None:
    for name in ("wait", "delay"):
        with pytest.raises(BadRequest) as caught:
            Fields([(name, text)])
        assert caught.value.code == "bad_field"


@pytest.mark.parametrize("name", [name for name, field in FIELDS.items() if field.is_switch])
def test_switches_are_read_in_any_case_and_nothing_else_is_one(name: str) -> None:
    for text, value in (
        ("1", True),
        ("TRUE", True),
        ("yes", True),
        ("On", True),
        ("0", False),
        ("False", False),
        ("off", False),
    ):
        assert Fields([(name, text)]).flag(name, not value) is value
    assert Fields([(name, "")]).flag(name, True) is True
    for text in ("2", "ja", "\0", "1\r\n0"):
        with pytest.raises(BadRequest):
            Fields([(name, text)])


@pytest.mark.parametrize(
    "same",
    ["123456", "123,456", "123.456", "123 456", "123’456", "123'456", "123\u202f456", "123_456", " 123456 "],
)
def test_ids_of_digits_are_compared_by_their_digits(same: str) -> None:
    assert Fields([("id", same), ("id", "123456")]).text("id") == "123456"


@pytest.mark.parametrize(("one", "other"), [("7c1d", "7C1D"), ("12-34", "1234"), ("a1", "1")])
def test_other_ids_are_compared_as_they_are(one: str, other: str) -> None:
    with pytest.raises(BadRequest):
        Fields([("id", one), ("id", other)])


@pytest.mark.parametrize("name", ["id", "client"])
@pytest.mark.parametrize("text", ["a\nb", "a\0", "a\x7f", "x" * 201, "\ud800", "a\u2028b"])
def test_names_that_could_forge_a_line_are_refused(name: str, text: str) -> None:
    with pytest.raises(BadRequest):
        Fields([(name, text)])


def test_an_id_of_marks_alone_is_none() -> None:
    with pytest.raises(BadRequest):
        Fields([("id", ",.")])


def test_one_field_twice_is_refused_by_what_it_means() -> None:
    assert Fields([("wait", "5"), ("wait", "5.0")]).number("wait", 0.0) == 5.0
    assert Fields([("literal", "1"), ("literal", "true")]).flag("literal", False)
    for name, one, other in (
        ("session", "a", "b"),
        ("message", "a", "a "),
        ("wait", "1", "2"),
        ("literal", "1", "0"),
        ("session", "", "a"),
        ("format", "json", "text"),
        ("client", "a", "b"),
    ):
        with pytest.raises(BadRequest) as caught:
            Fields([(name, one), (name, other)])
        assert caught.value.code == "duplicate_field"


def test_unknown_fields_are_ignored_whatever_they_hold() -> None:
    assert Fields([("x", "1"), ("x", "2"), ("Message", "a"), ("message", "b")]).text("message") == "b"


def test_tokens_do_not_contradict_each_other() -> None:
    Fields([("token", "right"), ("token", "wrong")])


async def test_the_client_and_the_id_may_be_headers(door: Door, session: FakeSession) -> None:
    for i in range(2):
        headers = {"Idempotency-Key": "7c1d", "X-Codriver-Client": f"phone{i}"}
        assert (await door.post("/voice/ask", b"hi", "text/plain", headers=headers)).status == 200
        assert (await door.post("/voice/ask", b"hi", "text/plain", headers=headers)).status == 200
    assert len(session.messages) == 2


@pytest.mark.parametrize(
    ("query", "headers"), [("client=b", {"X-Codriver-Client": "a"}), ("id=2", {"Idempotency-Key": "1"})]
)
async def test_a_header_and_a_field_that_differ_are_refused(
    query: str, headers: dict[str, str], door: Door, session: FakeSession
) -> None:
    response = await door.post(f"/voice/ask?{query}", b"hi", "text/plain", headers=headers)
    assert response.status == 400
    check_sentence(response)
    assert session.messages == []


@pytest.mark.parametrize("value", [b"caf\xe9", "\N{AUTOMOBILE}".encode(), b"x" * 65, b"a\tb"])
async def test_odd_client_headers_are_no_500(value: bytes, door: Door) -> None:
    response = await door.say("GET", "/voice/reply?wait=0", headers={"X-Codriver-Client": value})
    assert response.status in (200, 400, 404)


@pytest.mark.parametrize(
    "name",
    [
        "../../../../etc/passwd",
        "..%2f..%2fsecret",
        "%2e%2e/%2e%2e/x",
        "/etc/passwd",
        "..",
        ".",
        "~",
        "demo/../x",
        "x%0d%0aSet-Cookie:%20a=b",
        "x%00",
        "%1b%5b2J",
        "%3Cscript%3E",
        "{candidates}",
        "%25s",
        "a" * 3000,
    ],
)
async def test_session_names_are_never_paths_nor_headers(name: str, door: Door, session: FakeSession) -> None:
    for path in ("/voice/reply", "/voice/ask"):
        response = await door.say("GET", f"{path}?session={name}&message=hi&wait=0")
        assert response.status == 404
        check_sentence(response)
        assert response.header("Set-Cookie") is None
    assert session.messages == []


async def test_a_planted_transcript_outside_is_not_read(door: Door, session: FakeSession) -> None:
    planted = session.config_dir.parent / "planted.jsonl"
    planted.write_text('{"type":"assistant","message":{"content":[{"type":"text","text":"PLANTED"}]}}\n')
    for name in ("../../planted", "../planted.jsonl", str(planted), str(planted.with_suffix(""))):
        response = await door.post("/voice/reply", f'{{"session":"{name}"}}'.encode(), "application/json")
        assert response.status == 404
        assert "PLANTED" not in response.text


@pytest.mark.parametrize("value", ["x%00", "x%0d%0ay", "caf%C3%A9", "a" * 3000])
@pytest.mark.parametrize(("name", "status"), [("since", 400), ("expect_id", 409)])
async def test_odd_cursors_and_ids_are_refused(
    name: str, status: int, value: str, door: Door, session: FakeSession
) -> None:
    response = await door.say("GET", f"/voice/reply?{name}={value}&wait=0")
    assert response.status == status
    check_sentence(response)


async def test_a_message_with_a_nul_arrives_as_it_is(door: Door, session: FakeSession) -> None:
    assert (
        await door.post("/voice/ask", b'{"message":"a\\u0000b\\r\\nc"}', "application/json")
    ).status == 200
    assert session.messages[0].startswith("a\0b\r\nc\n")


async def test_the_wait_is_clamped_for_voice_clients_and_never_negative(
    door: Door, session: FakeSession
) -> None:
    session.mind = silent
    loop = asyncio.get_running_loop()
    began = loop.time()
    for wait in ("-5", "0", "-1e9"):
        response = await door.say("POST", f"/voice/ask?message=hi&wait={wait}")
        assert response.text.startswith("Still working")
    assert loop.time() - began < 10


@pytest.mark.parametrize(
    ("given", "is_voice", "seconds"),
    [
        ("600", False, 45.0),
        ("1e300", False, 45.0),
        ("45", False, 45.0),
        ("600", True, 10.0),
        ("9", True, 9.0),
        ("-2", True, 0.0),
    ],
)
async def test_the_wait_that_the_dialog_gets_is_within_its_bounds(
    given: str, is_voice: bool, seconds: float, door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    converse = door.service.dialog.converse

    def remembered(utterance):  # type: ignore[no-untyped-def]
        waits.append(utterance.wait_s)
        return converse(utterance)

    monkeypatch.setattr(door.service.dialog, "converse", remembered)
    headers = {"User-Agent": "BackgroundShortcutRunner/3 CFNetwork"} if is_voice else {}
    await door.say("GET", f"/voice/reply?wait={given}", headers=headers)
    assert waits == [seconds]


async def test_without_a_wait_the_settings_say_it(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    async def converse(utterance):  # type: ignore[no-untyped-def]
        waits.append(utterance.wait_s)
        raise BadRequest("empty_message")
        yield

    monkeypatch.setattr(door.service.dialog, "converse", converse)
    for path in ("/voice/ask?message=hi", "/voice/reply", "/voice/reply?message=hi"):
        for headers in ({}, {"X-Voice-Client": "1"}):
            await door.say("GET", path, headers=headers)
    assert waits == [8, 8, 15, 10, 8, 8]


@pytest.mark.parametrize("jump_s", [3600, -3600])
async def test_a_wall_clock_that_jumps_does_not_change_a_wait(
    jump_s: float, door: Door, session: FakeSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.mind = silent
    loop, wall = asyncio.get_running_loop(), time.time
    began = loop.time()
    waiting = asyncio.create_task(door.say("POST", "/voice/ask?message=hi&wait=1.5"))
    await asyncio.sleep(0.4)
    monkeypatch.setattr(time, "time", lambda: wall() + jump_s)
    response = await waiting
    assert response.text.startswith("Still working")
    assert 1.4 < loop.time() - began < 10


async def test_an_answer_during_the_wait_ends_it(door: Door, session: FakeSession) -> None:
    session.mind = answer_with("Done.")
    began = asyncio.get_running_loop().time()
    assert (await door.say("POST", "/voice/ask?message=hi&wait=45")).text == "Done."
    assert asyncio.get_running_loop().time() - began < 20
