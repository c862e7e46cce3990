"""What no token makes good: proxies, the public internet, host names, other websites, no authentication."""

import pytest

from tests.gateway.conftest import TOKEN
from tests.gateway.doors.checks import check_headers, check_sentence
from tests.gateway.doors.conftest import Door, Doors
from tests.gateway.doors.wire import request, said
from tests.gateway.fake_session import FakeSession

PROXIED = [
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Forwarded-Proto",
    "X-Forwarded-Port",
    "Forwarded",
    "Via",
    "X-Real-IP",
    "Tailscale-User-Login",
    "Tailscale-User-Name",
    "CF-Connecting-IP",
    "True-Client-IP",
]


@pytest.mark.parametrize("header", PROXIED)
async def test_what_tells_of_the_machine_is_not_there_for_anything_proxied(header: str, door: Door) -> None:
    for path in ("/healthz", "/readyz", "/metrics", "/openapi.json"):
        response = await door.say("GET", path, headers={header: "100.64.0.1"})
        assert response.status == 404
        check_sentence(response)
    assert (await door.say("GET", "/voice/ping", headers={header: "100.64.0.1"})).status == 200


async def test_health_tells_nothing_and_readiness_needs_a_token(door: Door) -> None:
    health = await door.say("GET", "/healthz", token="")
    assert (health.status, health.body) == (200, b"ok\n")
    check_headers(health)
    assert (await door.say("GET", "/readyz", token="")).status == 401
    assert (await door.say("GET", "/readyz")).status == 200


@pytest.mark.parametrize("value", ["", "?1", "anything"])
async def test_the_public_internet_is_refused(value: str, door: Door, session: FakeSession) -> None:
    for path in ("/healthz", "/voice/ask?message=hi", "/nothing"):
        response = await door.say(
            "GET", path, headers={"Tailscale-Funnel-Request": value, "X-Voice-Client": "1"}
        )
        assert response.status == 403
        check_sentence(response)
    assert session.messages == []


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8787",
        "127.0.0.1.evil.example",
        "127.0.0.1@evil.example",
        "evil.example@127.0.0.1",
        "",
        "127.0.0.1/x",
        "[::1",
        "localhost:x",
        "localhost, evil.example",
        "0x7f.1",
        "192.0.2.1",
        "loc\xe4lhost",
    ],
)
async def test_a_foreign_host_name_is_refused(host: str, door: Door, session: FakeSession) -> None:
    for path in ("/voice/ask?message=hi", "/healthz"):
        data = request(
            "GET", path, token=TOKEN, headers={"Host": host.encode("latin-1"), "X-Voice-Client": "1"}
        )
        response = await said(door.port, data)
        assert response.status in (400, 403)
        check_sentence(response)
    assert session.messages == []


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.0.0.1:8787",
        "LOCALHOST",
        "localhost:1",
        "[::1]",
        "[::1]:8787",
        "127.9.9.9",
        "car.tail1234.ts.net",
        "CAR.tail1234.ts.net:443",
    ],
)
async def test_own_host_names_are_served(host: str, doors: Doors) -> None:
    door = await doors.open(server_allowed_hosts='["Car.tail1234.ts.net"]')
    assert (await door.say("GET", "/voice/ping", host=host)).status == 200


async def test_two_hosts_or_none_are_refused(door: Door) -> None:
    data = request("GET", "/voice/ping", token=TOKEN)
    double = data.replace(b"\r\n\r\n", b"\r\nHost: 127.0.0.1\r\n\r\n")
    for odd in (double, request("GET", "/voice/ping", token=TOKEN, host="")):
        assert (await said(door.port, odd)).status in (400, 403)


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        "",
        "http://127.0.0.1:1",
        "http://localhost.evil.example",
        "file://",
        "https://phone.example.evil",
        "http://phone.example",
    ],
)
async def test_a_foreign_origin_is_refused(origin: str, doors: Doors, session: FakeSession) -> None:
    door = await doors.open(server_allowed_origins='["https://phone.example"]')
    for method in ("POST", "GET", "OPTIONS"):
        response = await door.say(
            method, "/voice/ask?message=deploy", headers={"Origin": origin, "X-Voice-Client": "1"}
        )
        assert response.status == 403
        assert response.header("Access-Control-Allow-Origin") is None
    assert session.messages == []


async def test_one_good_origin_does_not_cover_for_another(doors: Doors) -> None:
    door = await doors.open(server_allowed_origins='["https://phone.example"]')
    data = request("GET", "/voice/ping", token=TOKEN, headers={"Origin": "https://phone.example"})
    double = data.replace(b"\r\n\r\n", b"\r\nOrigin: https://evil.example\r\n\r\n")
    assert (await said(door.port, double)).status in (400, 403)


async def test_own_and_allowed_origins_are_served(doors: Doors) -> None:
    door = await doors.open(server_allowed_origins='["https://phone.example"]')
    own = await door.say(
        "GET",
        "/voice/ping",
        host=f"127.0.0.1:{door.port}",
        headers={"Origin": f"http://127.0.0.1:{door.port}"},
    )
    assert own.status == 200
    assert own.header("Access-Control-Allow-Origin") is None
    headers = {"Origin": "https://Phone.example", "Sec-Fetch-Site": "cross-site"}
    for target, status in (("/voice/ping", 200), ("/voice/nothing", 404), ("/voice/ask", 400)):
        response = await door.say("POST", target, headers=headers)
        assert response.status == status
        assert response.header("Access-Control-Allow-Origin") == "https://Phone.example"
        assert response.header("Vary") == "Origin"
        exposed = (response.header("Access-Control-Expose-Headers") or "").split(", ")
        assert {"X-Voice-State", "X-Voice-Session", "X-Voice-Cursor", "X-Voice-Heard"} == set(exposed)
        assert response.header("Access-Control-Allow-Credentials") is None


@pytest.mark.parametrize("site", ["cross-site", "Cross-Site"])
async def test_another_website_without_an_origin_is_refused(
    site: str, door: Door, session: FakeSession
) -> None:
    response = await door.say("GET", "/voice/ask?message=hi", headers={"Sec-Fetch-Site": site})
    assert response.status == 403
    assert session.messages == []
    for fine in ("none", "same-origin"):
        assert (await door.say("GET", "/voice/ping", headers={"Sec-Fetch-Site": fine})).status == 200


async def test_a_preflight_is_answered_exactly_and_runs_nothing(doors: Doors, session: FakeSession) -> None:
    door = await doors.open(server_allowed_origins='["https://phone.example"]')
    asked = {
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,content-type",
    }
    response = await door.say(
        "OPTIONS", "/voice/ask?message=hi", token="", headers={"Origin": "https://phone.example", **asked}
    )
    assert response.status == 204
    assert response.header("Access-Control-Allow-Origin") == "https://phone.example"
    assert response.header("Access-Control-Allow-Methods") == "GET, POST"
    allowed = {
        name.strip().lower() for name in (response.header("Access-Control-Allow-Headers") or "").split(",")
    }
    assert allowed == {
        "authorization",
        "content-type",
        "idempotency-key",
        "x-codriver-client",
        "x-voice-client",
    }
    check_headers(response)
    plain = await door.say("OPTIONS", "/voice/ask", token="")
    assert plain.status == 204
    assert plain.header("Access-Control-Allow-Headers") is None
    foreign = await door.say(
        "OPTIONS", "/voice/ask", token="", headers={"Origin": "https://evil.example", **asked}
    )
    assert foreign.status == 403
    assert not [name for name in foreign.headers if name.startswith("access-control")]
    assert session.messages == []


async def test_without_authentication_only_what_no_page_can_send_is_let_in(
    doors: Doors, session: FakeSession
) -> None:
    door = await doors.open(no_auth=True)
    client = {"X-Codriver-Client": "shell"}
    assert (await door.post("/voice/ask", b"hi", "text/plain", headers=client)).status == 200
    assert (await door.post("/voice/ping", b"", headers={"X-Voice-Client": "1"})).status == 200
    assert len(session.messages) == 1
    refused = [
        ("POST", {}),
        ("POST", {"Authorization": f"Bearer {TOKEN}"}),
        ("GET", client),
        ("HEAD", client),
        ("POST", {**client, "X-Forwarded-For": "127.0.0.1"}),
        ("POST", {**client, "Via": "1.1 proxy"}),
        ("POST", {**client, "Tailscale-User-Login": "me"}),
    ]
    for method, headers in refused:
        assert (await door.say(method, "/voice/ask?message=deploy", headers=headers)).status == 401, headers
    for headers in ({"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
        assert (
            await door.post("/voice/ask", b"deploy", "text/plain", headers={**client, **headers})
        ).status == 403
    assert len(session.messages) == 1
