"""What comes back: text, JSON, speech, their headers and statuses, over the running door."""

import json
from typing import Any
from urllib.parse import unquote

import pytest

from gateway.doors import replies
from gateway.doors.call import accepted_form
from gateway.errors import BadRequest, Conflict, GatewayError, NotFound
from gateway.model import Process, Reply, Session, State
from gateway.phrases import MARKER, Phrases
from tests.gateway.doors.checks import check_headers, check_sentence
from tests.gateway.doors.conftest import WAV, Door, Doors, FakeEars, FakeMouth, Written
from tests.gateway.doors.wire import Response, connected, request
from tests.gateway.fake_session import FakeSession, answer_with, silent, text, turn_duration, user
from voice.errors import Busy, SynthesisFailed

KEYS = {"state", "session", "say", "heard", "more", "cursor", "delivery", "question", "message_id"}
PHONES = [
    {"X-Voice-Client": "1"},
    {"X-Voice-Client": ""},
    {"User-Agent": "Shortcuts/2302.0.4 CFNetwork/1568.200.51 Darwin/24.1.0"},
    {"User-Agent": "BackgroundShortcutRunner/2302 CFNetwork/1568"},
]
DRIVEN = ["/voice/ask", "/voice/reply", "/voice/sessions", "/voice/ping"]


def check_json(response: Response) -> dict[str, Any]:
    assert response.header("Content-Type") == "application/json; charset=utf-8"
    check_headers(response)
    data = response.json
    assert data.keys() >= KEYS
    assert isinstance(data["say"], str) and data["say"]
    assert isinstance(data["more"], bool)
    assert isinstance(data["cursor"], str)
    assert data["state"] in {state.value for state in State}
    assert response.header("X-Voice-State") == data["state"]
    return data


async def test_json_has_all_its_keys_in_every_state(door: Door, session: FakeSession) -> None:
    finished = check_json(await door.say("POST", "/voice/ask?message=hi&format=json"))
    assert finished["session"] == {"id": session.id, "name": "demo"}
    assert finished["heard"] is None
    assert finished["delivery"] == "answered"
    session.mind = silent
    working = check_json(await door.say("POST", "/voice/ask?message=go&format=json&wait=0"))
    assert working["state"] == "working"
    for path in ("/voice/reply?wait=0", "/voice/sessions", "/voice/ping"):
        check_json(await door.say("GET", path, headers={"Accept": "application/json"}))


@pytest.mark.parametrize(
    ("target", "status", "code"),
    [
        ("/voice/ask", 400, "empty_message"),
        ("/voice/ask?message=a&wait=x", 400, "bad_field"),
        ("/voice/ask?message=a&session=no-such", 404, "no_session"),
        ("/voice/ask?message=a&expect_id=x", 409, "session_moved"),
        ("/voice/reply?id=unknown", 400, "unknown_request"),
        ("/voice/nothing", 404, "not_found"),
    ],
)
async def test_errors_in_json_name_their_code(
    target: str, status: int, code: str, door: Door, session: FakeSession
) -> None:
    mark = "&" if "?" in target else "?"
    response = await door.say("POST", f"{target}{mark}format=json")
    data = check_json(response)
    assert response.status == status
    assert (data["state"], data["code"]) == ("error", code)
    assert ("candidates" in data) is (status in (404, 409))
    assert isinstance(data.get("candidates", []), list)


async def test_an_error_is_json_wherever_json_was_asked_for(door: Door) -> None:
    for body in (b'{"message":["x"],"format":"json"}', b'{"format":"json"}'):
        assert (await door.post("/voice/ask", body, "application/json")).json["state"] == "error"
        stranger = await door.post("/voice/ask", body, "application/json", token="")
        assert (stranger.status, stranger.json["code"]) == (401, "unauthorized")
    plain = await door.say("POST", "/voice/ask?format=yaml&message=x")
    assert plain.status == 400
    check_sentence(plain)


@pytest.mark.parametrize(
    "headers", PHONES, ids=lambda headers: next(iter(headers.items()))[1][:12] or "empty"
)
async def test_voice_clients_get_200_with_the_same_sentence(
    headers: dict[str, str], door: Door, session: FakeSession
) -> None:
    for target in (
        "/voice/ask",
        "/voice/ask?message=a&session=zzz",
        "/voice/reply?wait=x",
        "/voice/ping?delay=x",
        "/voice/sessions?all=x",
    ):
        phone = await door.say("POST", target, headers=headers)
        other = await door.say("POST", target)
        assert phone.status == 200
        assert other.status in (400, 404)
        assert phone.body == other.body
        assert phone.header("X-Voice-State") == "error"
        check_sentence(phone)
    for target in DRIVEN:
        assert (await door.say("DELETE", target, headers=headers)).status == 200
        assert (await door.say("POST", target, headers=headers, token="")).status == 200
        assert (await door.say("POST", target, headers=headers, token="wrong")).status == 200


async def test_voice_clients_hear_about_too_many_tokens_and_faults_of_ours_with_200(
    doors: Doors, monkeypatch: pytest.MonkeyPatch
) -> None:
    door = await doors.open(auth_failures_per_minute="1")
    phone = {"X-Voice-Client": "1"}
    texts = [(await door.say("GET", "/voice/ping", token="wrong", headers=phone)).text for _ in range(2)]
    assert texts[0] != texts[1]
    assert (await door.say("GET", "/voice/ping", token="wrong")).status == 429

    def broken(*args: object) -> None:
        raise RuntimeError("planted")

    monkeypatch.setattr(door.service.sessions, "live", broken)
    assert (await door.say("GET", "/voice/sessions", headers=phone)).status == 200
    assert (await door.say("GET", "/voice/sessions")).status == 500


async def test_refusals_by_a_rule_or_for_size_keep_their_status(doors: Doors, session: FakeSession) -> None:
    door = await doors.open(server_body_limit_bytes="100000", ears=FakeEars())
    for more, status in (
        ({"headers": {"Tailscale-Funnel-Request": "?1"}}, 403),
        ({"headers": {"Origin": "https://evil.example"}}, 403),
        ({"headers": {"Sec-Fetch-Site": "cross-site"}}, 403),
        ({"host": "evil.example"}, 403),
        ({"body": bytes(100_001)}, 413),
        ({"body": b"x" * 70_000}, 413),
    ):
        more.setdefault("headers", {})["X-Voice-Client"] = "1"  # type: ignore[index]
        response = await door.say("POST", "/voice/ask", more.pop("body", b"hi"), **more)  # type: ignore[arg-type]
        assert response.status == status
        check_sentence(response)
    assert session.messages == []


async def test_other_paths_keep_their_status_for_everybody(door: Door) -> None:
    phone = {"X-Voice-Client": "1"}
    assert (await door.say("GET", "/voice/nothing", headers=phone)).status == 404
    assert (await door.say("POST", "/healthz", headers=phone)).status == 405
    assert (await door.say("GET", "/readyz", headers=phone, token="")).status == 401


async def test_names_and_words_in_headers_are_percent_encoded(
    doors: Doors, home: Any, socket_dir: Any
) -> None:
    words = "fährt „los“\r\nX-Evil: 1 \N{AUTOMOBILE} 100%/"
    door = await doors.open(ears=FakeEars(words))
    name = "zahlung €\r\nX-Evil: 1"
    session = await FakeSession(home / ".claude", socket_dir, "demo").start(name=name)
    session.mind = answer_with("Done.")
    try:
        response = await door.post("/voice/ask", WAV)
    finally:
        await session.stop()
    assert response.status == 200, response.text
    assert response.header("X-Evil") is None
    for header in ("X-Voice-State", "X-Voice-Session", "X-Voice-Cursor", "X-Voice-Heard"):
        assert (response.header(header) or "").isascii()
    assert response.decoded("X-Voice-Heard") == words
    assert response.decoded("X-Voice-Session").startswith("zahlung €")
    assert response.decoded("X-Voice-Cursor")


@pytest.mark.parametrize("word", ["ab ", "é", "\N{AUTOMOBILE}", "\ud83d", "%"])
def test_long_headers_are_cut_between_characters(word: str) -> None:
    session = Session("x", "id", word * 3000, "/", Process(1, "1"))
    answer = replies.of_reply(Reply(State.FINISHED, "x", session, heard=word * 3000, cursor="c"))
    for name in ("X-Voice-Heard", "X-Voice-Session"):
        value = answer.headers[name]
        assert 0 < len(value) <= 2048
        assert len(value) > 2000
        assert unquote(value, errors="strict") == (word * 3000)[: len(unquote(value))].replace("\ud83d", "?")


async def test_half_a_character_in_an_answer_is_no_fault(door: Door, session: FakeSession) -> None:
    session.write(user("x"))
    line = json.dumps(text("It is HALF ready.")).replace("HALF", "\\ud83d").encode() + b"\n"
    session.write(line, turn_duration())
    for form in ("text", "json"):
        response = await door.say("GET", f"/voice/reply?client={form}&format={form}&wait=1")
        assert response.status == 200
        assert "ready" in response.text


async def test_no_words_can_forge_the_marker(door: Door, session: FakeSession) -> None:
    session.write(user("x"), text("I am STILL  working on it."), turn_duration())
    response = await door.say("GET", "/voice/reply")
    assert MARKER.casefold() not in " ".join(response.text.split(" ")).casefold()
    missing = await door.say("GET", "/voice/reply?session=still%20working")
    assert missing.status == 404
    assert "still working" not in missing.text.casefold()


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", "text"),
        ("*/*", "text"),
        ("text/plain", "text"),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "text"),
        ("application/json", "json"),
        ("APPLICATION/JSON; charset=utf-8", "json"),
        ("application/json, text/plain, */*", "json"),
        ("text/plain, application/json;q=0.5", "text"),
        ("text/plain;q=0.2, application/json;q=0.5", "json"),
        ("*/*, application/json", "json"),
        ("application/json;q=0", "text"),
        ("application/json;q=x", "text"),
        ("audio/mpeg", "audio"),
        (
            "audio/webm,audio/ogg,audio/wav,audio/*;q=0.9,application/ogg;q=0.7,video/*;q=0.6,*/*;q=0.5",
            "audio",
        ),
        ("application/json, audio/mpeg;q=0.9", "json"),
        ("image/png", "text"),
        (",;=,q=", "text"),
    ],
)
def test_the_accept_header_says_how_the_reply_comes(accept: str, form: str) -> None:
    assert accepted_form(accept) == form


@pytest.fixture
def mouth() -> FakeMouth:
    return FakeMouth()


@pytest.fixture
async def speaking(doors: Doors, mouth: FakeMouth) -> Door:
    return await doors.open(mouth=mouth, ears=FakeEars())


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        (None, "audio/mpeg"),
        ("*/*", "audio/mpeg"),
        ("audio/mpeg", "audio/mpeg"),
        ("audio/mp4", "audio/mp4"),
        ("audio/ogg", "audio/ogg"),
        ("audio/wav", "audio/wav"),
        ("audio/wav;q=0.5, audio/ogg", "audio/ogg"),
        ("application/json", "audio/mpeg"),
    ],
)
async def test_speech_comes_in_the_container_that_is_accepted(
    accept: str | None, media_type: str, speaking: Door, mouth: FakeMouth, session: FakeSession
) -> None:
    session.mind = answer_with("It is done. All tests pass.")
    headers = {} if accept is None else {"Accept": accept}
    response = await speaking.post("/voice/ask?format=audio", b"hi", "text/plain", headers=headers)
    assert response.status == 200
    assert response.header("Content-Type") == media_type
    assert mouth.media_types == [media_type]
    assert response.header("Transfer-Encoding") == "chunked"
    assert response.body == b"[It is done.][All tests pass.]"
    assert response.header("X-Voice-State") == "finished"
    assert response.decoded("X-Voice-Session") == "demo"
    check_headers(response)


async def test_the_accept_header_alone_asks_for_speech(speaking: Door) -> None:
    response = await speaking.say("GET", "/voice/ping", headers={"Accept": "audio/wav"})
    assert response.header("Content-Type") == "audio/wav"


async def test_speech_over_the_older_http_ends_with_the_connection(speaking: Door) -> None:
    async with connected(speaking.port) as wire:
        data = request("GET", "/voice/ping?format=audio", token=speaking.token)
        await wire.send(data.replace(b"HTTP/1.1", b"HTTP/1.0", 1))
        assert (await wire.response()).body == b"[Codriver is ready.]"


async def test_a_probe_is_not_spoken_to(speaking: Door, mouth: FakeMouth) -> None:
    response = await speaking.say("HEAD", "/voice/ping?format=audio")
    assert response.status == 200
    assert mouth.spoken == []


async def test_errors_are_spoken_after_authentication_and_only_then(
    speaking: Door, mouth: FakeMouth, session: FakeSession
) -> None:
    for target, status in (("/voice/ask?format=audio", 400), ("/voice/reply?session=zzz&format=audio", 404)):
        response = await speaking.say("GET", target)
        assert response.status == status
        assert response.header("Content-Type") == "audio/mpeg"
        assert response.header("X-Voice-State") == "error"
        assert response.body.startswith(b"[")
    count = len(mouth.spoken)
    stranger = await speaking.say("GET", "/voice/ask?format=audio", token="")
    assert stranger.status == 401
    check_sentence(stranger)
    assert len(mouth.spoken) == count


async def test_without_a_voice_there_is_text(door: Door) -> None:
    response = await door.say("GET", "/voice/ping?format=audio")
    assert response.header("Content-Type") == "text/plain; charset=utf-8"
    assert response.text == "Codriver is ready."


@pytest.mark.parametrize("error", [SynthesisFailed("planted"), Busy("planted")])
async def test_a_voice_that_fails_leaves_the_answer_as_text_and_new(
    error: Exception, doors: Doors, session: FakeSession
) -> None:
    door = await doors.open(mouth=FakeMouth(fails_after=0, error=error))
    session.write(user("x"), text("All tests pass."), turn_duration())
    first = await door.say("GET", "/voice/reply?format=audio")
    assert first.status == 200
    assert first.header("Content-Type") == "text/plain; charset=utf-8"
    assert first.text == "All tests pass."
    assert (await door.say("GET", "/voice/reply")).text == "All tests pass."
    assert (await door.say("GET", "/voice/reply?wait=0")).text == "Nothing new."


@pytest.mark.parametrize("error", [SynthesisFailed("planted"), RuntimeError("planted")])
async def test_a_voice_that_fails_on_the_way_cuts_the_connection_and_the_answer_stays_new(
    error: Exception, doors: Doors, session: FakeSession, written: Written
) -> None:
    door = await doors.open(mouth=FakeMouth(fails_after=1, error=error))
    session.write(user("x"), text("It is done. All tests pass."), turn_duration())
    async with connected(door.port) as wire:
        await wire.send(request("GET", "/voice/reply?format=audio", token=door.token))
        received = await wire.rest()
    assert received.count(b"HTTP/1.1") <= 1, "a second response was written into the first"
    assert not received.endswith(b"0\r\n\r\n"), "a cut answer looked whole"
    assert (await door.say("GET", "/voice/reply")).text == "It is done. All tests pass."
    assert "planted" not in written.text


async def test_a_voice_with_a_fault_of_its_own_gets_a_sentence_as_text(
    doors: Doors, session: FakeSession
) -> None:
    door = await doors.open(mouth=FakeMouth(fails_after=0))
    session.write(user("x"), text("All tests pass."), turn_duration())
    response = await door.say("GET", "/voice/reply?format=audio")
    assert response.status == 500
    check_sentence(response)
    assert (await door.say("GET", "/voice/reply")).text == "All tests pass."


def _errors() -> list[GatewayError]:
    names = ("payments {x} <b>/etc/passwd</b>\r\nX", "b" * 300, "c|`d`")
    return [
        BadRequest("bad_field", {"field": "wait", "expected": "a number of seconds"}),
        BadRequest("stray_key", {"key": "D page {<script>} /etc/passwd"}),
        NotFound("no_session", {"name": names[0]}, names),
        NotFound("which_session", candidates=names),
        Conflict("ambiguous_session", candidates=names),
        Conflict("session_moved", {"name": names[1]}),
    ]


@pytest.mark.parametrize("error", _errors(), ids=lambda error: error.code)
def test_an_errors_sentence_is_short_and_speakable_whatever_fills_it(error: GatewayError) -> None:
    answer = replies.of_error(error, Phrases.load("en"))
    assert 0 < len(answer.say) <= 200
    assert not set("<>{}|`\\/\r\n\0") & set(answer.say)


async def test_a_list_of_sessions_is_one_line_and_a_list(door: Door, session: FakeSession) -> None:
    spoken = await door.say("GET", "/voice/sessions")
    assert "\n" not in spoken.text
    data = check_json(await door.say("GET", "/voice/sessions?format=json&all=1"))
    assert data["sessions"]
    assert {"id", "name", "state", "directory", "can_be_driven", "why_not"} <= data["sessions"][0].keys()


async def test_a_ping_may_be_answered_late(door: Door) -> None:
    assert (await door.say("GET", "/voice/ping?delay=0.05")).text == "Codriver is ready."
    assert (await door.say("GET", "/voice/ping?delay=-5")).text == "Codriver is ready."
    assert (await door.say("GET", "/voice/ping?delay=x")).status == 400
