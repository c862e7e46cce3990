"""From a spoken name to one session: exact before alike, and a question instead of a guess."""

import pytest

from gateway import routing
from gateway.errors import Conflict, NotFound
from gateway.model import Process, Session


def session(
    name: str, session_id: str = "", directory: str = "/w", pid: int = 1, registry_name: str = ""
) -> Session:
    return Session(
        "x", session_id or f"{name}-id", name, directory, Process(pid, "1"), registry_name=registry_name
    )


API = session("payments-api", "1f2e3d4c-0000", "/home/dev/pay", 4711)
WEB = session("web_front 2", "1f2e3d99-0000", "/home/dev/Web-Front", 4712)
CAFE = session("café", "abcdef12-0000", "/home/dev/x", 4713)
ALL = [API, WEB, CAFE]
ALIASES = {"pay": "payments-api", "the shop": "web_front 2"}


@pytest.mark.parametrize(
    ("spoken", "meant"),
    [
        ("payments-api", API),
        ("PAYMENTS API", API),
        ("payments dash api", API),
        ("the payments api session please", API),
        ("Payments, API.", API),
        ("pay", API),
        ("Pay!", API),
        ("shop", WEB),
        ("web front two", WEB),
        ("cafe", CAFE),
        ("Café", CAFE),
        ("/home/dev/pay", API),
        ("web-front", WEB),
        ("1f2e3d4c-0000", API),
        ("1f2e3d4c", API),
        ("abcdef", CAFE),
        ("4711", API),
        ("  web_front 2  ", WEB),
    ],
)
def test_each_way_of_naming_finds_its_session(spoken: str, meant: Session) -> None:
    assert routing.resolve(spoken, ALL, ALIASES) is meant


@pytest.mark.parametrize(
    "spoken", ["payments", "abcde", "47", "xyz", "payment-api", "it", "????", "4711 4712", "9" * 400]
)
def test_what_is_no_name_is_asked_back_with_names_to_say(spoken: str) -> None:
    with pytest.raises(NotFound) as refused:
        routing.resolve(spoken, ALL, ALIASES)
    assert refused.value.code == "no_session" and len(refused.value.candidates) == 3


def test_a_prefix_of_several_ids_is_asked_back() -> None:
    with pytest.raises(Conflict) as refused:
        routing.resolve("1f2e3d", ALL, ALIASES)
    assert set(refused.value.candidates) == {"payments-api", "web_front 2"}


def test_an_exact_name_comes_before_everything_else() -> None:
    exact, alike = session("api"), session("API")
    by_folder, by_id, by_pid = session("a", directory="/api"), session("b", "api"), session("12345", pid=7)
    sessions = [alike, by_folder, by_id, exact]
    assert routing.resolve("api", sessions, {"api": "a"}) is exact
    assert routing.resolve("12345", [session("x", pid=12345), by_pid], {}) is by_pid


def test_a_different_number_is_a_different_name() -> None:
    with pytest.raises(NotFound):
        routing.resolve("worker three", [session("worker-1"), session("worker-2")], {})
    two = session("demo-2")
    assert routing.resolve("demo two", [two, session("demo-12"), session("demo-20")], {}) is two


def test_sessions_of_one_name_are_told_apart_by_folder_and_can_be_named_so() -> None:
    one, two = session("twin", "1", "/w/left"), session("twin", "2", "/w/right")
    with pytest.raises(Conflict) as refused:
        routing.resolve("twin", [one, two], {})
    assert refused.value.candidates == ("twin in left", "twin in right")
    assert routing.resolve("twin in right", [one, two], {}) is two


def test_the_name_in_the_registry_counts_beside_our_own() -> None:
    renamed = session("shop", registry_name="store-front")
    assert routing.resolve("store front", [renamed, API], {}) is renamed


def test_at_most_three_candidates_are_named() -> None:
    with pytest.raises(NotFound) as refused:
        routing.resolve("nothing", [session(f"s{i}") for i in range(9)], {})
    assert len(refused.value.candidates) == 3


def test_without_sessions_that_is_said() -> None:
    with pytest.raises(NotFound) as refused:
        routing.resolve("api", [], {})
    assert refused.value.code == "no_sessions"


@pytest.mark.parametrize(
    ("spoken", "is_absent"), [("", True), ("  ", True), ("last", True), ("Current", True), ("api", False)]
)
def test_when_no_session_was_named(spoken: str, is_absent: bool) -> None:
    assert routing.is_absent(spoken, [API]) is is_absent


def test_a_session_may_be_called_last() -> None:
    assert not routing.is_absent("last", [session("Last")])


@pytest.mark.parametrize(
    ("said", "names"), [("motor", ("motor-a", "motor-b")), ("api", ("my-api", "the-api-session"))]
)
def test_words_are_left_out_of_what_was_said_only(said: str, names: tuple[str, ...]) -> None:
    with pytest.raises(NotFound) as asked:
        routing.resolve(said, [session(name) for name in names], {})
    assert asked.value.candidates == names
