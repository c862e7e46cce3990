"""How often a wrong token may be tried, and who counts as the one who tried."""

from types import SimpleNamespace
from typing import Any

import pytest
from multidict import CIMultiDict

from gateway.clock import SystemClock
from gateway.doors.access import Access
from gateway.errors import TooMany, Unauthorized
from gateway.settings import load
from tests.gateway.conftest import TOKEN
from tests.gateway.doors.conftest import Door, Doors

WRONG = "wr0ng"


class Attempts:
    """Wrong and right tokens from an address that a proxy on this machine names."""

    def __init__(self, door: Door) -> None:
        self.door = door

    async def status(self, token: str, forwarded: str = "", **headers: str) -> int:
        more = {"X-Forwarded-For": forwarded} if forwarded else {}
        return (await self.door.say("GET", "/voice/ping", token=token, headers={**more, **headers})).status


async def test_too_many_wrong_tokens_are_answered_with_429_and_a_right_one_still_passes(doors: Doors) -> None:
    attempts = Attempts(await doors.open(auth_failures_per_minute="3"))
    assert [await attempts.status(WRONG) for _ in range(5)] == [401, 401, 401, 429, 429]
    assert await attempts.status(TOKEN) == 200
    assert await attempts.status("") == 401


async def test_the_limit_is_that_of_the_address_that_the_proxy_saw(doors: Doors) -> None:
    attempts = Attempts(await doors.open(auth_failures_per_minute="2"))
    phone, other = "100.64.0.1", "100.64.0.2"
    assert [await attempts.status(WRONG, phone) for _ in range(3)] == [401, 401, 429]
    assert await attempts.status(WRONG, other) == 401
    assert await attempts.status(WRONG) == 401


@pytest.mark.parametrize(
    "made_up",
    ["10.0.0.{}, 100.64.0.1", "10.0.0.{}, 10.1.1.{}, 100.64.0.1", "x{},100.64.0.1", "{}, 100.64.0.1:4{}"],
)
async def test_a_longer_list_does_not_make_another_address(made_up: str, doors: Doors) -> None:
    attempts = Attempts(await doors.open(auth_failures_per_minute="2"))
    statuses = [await attempts.status(WRONG, made_up.format(i, i)) for i in range(4)]
    assert statuses == [401, 401, 429, 429]


async def test_addresses_of_one_ipv6_network_count_together(doors: Doors) -> None:
    attempts = Attempts(await doors.open(auth_failures_per_minute="2"))
    statuses = [await attempts.status(WRONG, f"2001:db8:1:2::{i:x}") for i in range(1, 5)]
    assert statuses == [401, 401, 429, 429]


async def test_an_address_that_is_none_is_the_proxy_itself(doors: Doors) -> None:
    attempts = Attempts(await doors.open(auth_failures_per_minute="2"))
    statuses = [await attempts.status(WRONG, f"unknown-{i}") for i in range(4)]
    assert statuses == [401, 401, 429, 429]


def fake_request(peer: str, **headers: str) -> Any:
    """A request from an address that no test may connect from."""
    transport = SimpleNamespace(get_extra_info=lambda name: (peer, 4711) if name == "peername" else None)
    named = CIMultiDict((name.replace("_", "-"), value) for name, value in headers.items())
    return SimpleNamespace(headers=named, transport=transport, method="GET")


def test_a_peer_that_is_not_this_machine_cannot_name_another_address(environ: dict[str, str]) -> None:
    access = Access(load(None, environ | {"CODRIVER_AUTH_FAILURES_PER_MINUTE": "2"}), SystemClock())
    raised: list[type[Exception]] = []
    for i in range(4):
        forged = fake_request("192.0.2.7", X_Forwarded_For=f"10.0.0.{i}")
        try:
            access.authorise(forged, [WRONG], access.caller(forged))
        except (Unauthorized, TooMany) as error:
            raised.append(type(error))
    assert raised == [Unauthorized, Unauthorized, TooMany, TooMany]


@pytest.mark.parametrize("peer", ["127.0.0.1", "::1", "::ffff:127.0.0.1"])
def test_a_proxy_on_this_machine_is_believed_in_every_spelling(peer: str, environ: dict[str, str]) -> None:
    access = Access(load(None, environ), SystemClock())
    assert access.caller(fake_request(peer, X_Forwarded_For="100.64.0.9")).address == "100.64.0.9"


class Minutes(SystemClock):
    """A clock that a test moves."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now


def test_after_a_minute_wrong_tokens_are_forgotten(environ: dict[str, str]) -> None:
    clock = Minutes()
    access = Access(load(None, environ | {"CODRIVER_AUTH_FAILURES_PER_MINUTE": "1"}), clock)
    one = fake_request("127.0.0.1")
    for error in (Unauthorized, TooMany):
        with pytest.raises(error):
            access.authorise(one, [WRONG], access.caller(one))
    clock.now += 61
    with pytest.raises(Unauthorized):
        access.authorise(one, [WRONG], access.caller(one))
