"""What survives a restart: private on disk, whole or not at all, forgotten in time."""

import asyncio
import os
import sqlite3
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.agents.protocol import Mark, Position
from gateway.errors import Conflict
from gateway.model import Outcome, Process, Question, QuestionKind, Session, State
from gateway.store import Claim, Heard, LastReply, Store
from gateway.store.database import StateUnusableError
from gateway.store.schema import STEPS
from gateway.store.store import words_hash

SECRET = "the secret words of the driver"
SESSION = Session("claude_code", "s-1", "demo", "/w", Process(77, "5"))


class Clock:
    now = 1_000_000.0

    def wall(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def store(tmp_path: Path, clock: Clock) -> AsyncIterator[Store]:
    store = Store(tmp_path / "state", clock)
    yield store
    store.close()


def claim(words: str = SECRET, number: int = 0, **more: object) -> Claim:
    place = Mark(Position("s-1", 0, ""), "")
    base = Claim("car", None, SESSION, f"m-{number}", f"{number:016x}", words, place, 30.0)
    return replace(base, **more)  # type: ignore[arg-type]


@pytest.fixture
def no_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


class TestOnDisk:
    async def test_it_is_private_also_under_a_lax_umask(self, tmp_path: Path, no_umask: None) -> None:
        store = Store(tmp_path / "above" / "state")
        await store.claim(claim())
        folder = tmp_path / "above" / "state"
        assert [stat.S_IMODE(one.stat().st_mode) for one in (folder.parent, folder)] == [0o700, 0o700]
        files = sorted(folder.iterdir())
        assert len(files) == 3
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
        store.close()

    async def test_modes_that_were_loosened_are_closed_again(self, tmp_path: Path) -> None:
        Store(tmp_path).close()
        tmp_path.chmod(0o755)
        (tmp_path / "codriver.sqlite3").chmod(0o644)
        Store(tmp_path).close()
        assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700
        assert stat.S_IMODE((tmp_path / "codriver.sqlite3").stat().st_mode) == 0o600

    @pytest.mark.parametrize("suffix", ["", "-wal", "-shm"])
    def test_a_link_in_its_place_is_refused_and_nothing_written_through_it(
        self, tmp_path: Path, suffix: str
    ) -> None:
        target = tmp_path / "target"
        target.write_text("precious")
        state = tmp_path / "state"
        state.mkdir()
        (state / f"codriver.sqlite3{suffix}").symlink_to(target)
        with pytest.raises(StateUnusableError, match="symbolic link"):
            Store(state)
        assert target.read_text() == "precious"

    def test_a_later_versions_database_is_refused(self, tmp_path: Path) -> None:
        Store(tmp_path).close()
        with closing(sqlite3.connect(tmp_path / "codriver.sqlite3")) as db:
            db.execute(f"PRAGMA user_version = {len(STEPS) + 1}")
        with pytest.raises(StateUnusableError, match="later version"):
            Store(tmp_path)

    @pytest.mark.parametrize("data", [b"not a database at all" * 100, b"SQLite format 3\0" + b"\xff" * 4096])
    def test_a_damaged_file_is_one_clear_sentence(self, tmp_path: Path, data: bytes) -> None:
        (tmp_path / "codriver.sqlite3").write_bytes(data)
        with pytest.raises(StateUnusableError, match="move it away"):
            Store(tmp_path)
        assert (tmp_path / "codriver.sqlite3").read_bytes() == data

    def test_a_folder_that_is_a_file_is_one_clear_sentence(self, tmp_path: Path) -> None:
        (tmp_path / "state").touch()
        with pytest.raises(StateUnusableError, match="cannot be used"):
            Store(tmp_path / "state")

    async def test_two_processes_may_make_it_at_the_same_time(self, tmp_path: Path) -> None:
        stores = await asyncio.gather(*(asyncio.to_thread(Store, tmp_path) for _ in range(4)))
        for store in stores:
            store.close()

    async def test_a_database_of_the_first_step_is_taken_on(self, tmp_path: Path) -> None:
        store = Store(tmp_path)
        await store.claim(claim(request_id="r"))
        store.close()
        store = Store(tmp_path)
        assert await store.delivery("car", "r")
        store.close()


class TestClaims:
    async def test_a_claim_starts_as_unknown(self, store: Store) -> None:
        delivery, is_new = await store.claim(claim())
        assert is_new and delivery.outcome is Outcome.UNKNOWN

    async def test_twenty_claims_at_once_are_one_delivery(self, store: Store) -> None:
        claims = [claim(number=i) for i in range(20)]
        found = await asyncio.gather(*(store.claim(one) for one in claims))
        assert len({delivery.id for delivery, _ in found}) == 1 and sum(is_new for _, is_new in found) == 1

    async def test_same_words_join_for_thirty_seconds_only(self, store: Store, clock: Clock) -> None:
        await store.claim(claim(number=1))
        clock.now += 29
        assert not (await store.claim(claim(number=2)))[1]
        clock.now += 2
        assert (await store.claim(claim(number=3)))[1]

    async def test_a_clock_set_back_joins_nothing_from_the_future(self, store: Store, clock: Clock) -> None:
        await store.claim(claim(number=1))
        clock.now -= 3600
        assert (await store.claim(claim(number=2)))[1]

    @pytest.mark.parametrize(
        "outcome", [Outcome.FAILED, Outcome.DENIED, Outcome.EXPIRED, Outcome.REFUSED, Outcome.DROPPED]
    )
    async def test_words_that_were_not_taken_can_be_said_again(self, store: Store, outcome: Outcome) -> None:
        first, _ = await store.claim(claim(number=1, request_id="r"))
        await store.record(first.id, outcome)
        assert (await store.claim(claim(number=2)))[1]
        joined, is_new = await store.claim(claim(number=3, request_id="r"))
        assert joined.id == first.id and not is_new, "the same id joins whatever became of it"

    async def test_an_id_with_other_words_or_another_session_is_a_clash(self, store: Store) -> None:
        await store.claim(claim(request_id="r"))
        with pytest.raises(Conflict):
            await store.claim(claim("other words", number=1, request_id="r"))
        other = replace(SESSION, id="s-2", process=Process(78, "5"))
        with pytest.raises(Conflict):
            await store.claim(claim(number=2, request_id="r", session=other))

    async def test_a_conversation_that_moved_in_its_process_is_the_same_session(self, store: Store) -> None:
        first, _ = await store.claim(claim(request_id="r"))
        again, is_new = await store.claim(claim(number=1, request_id="r", session=replace(SESSION, id="s-2")))
        assert again.id == first.id and not is_new

    async def test_what_is_final_stays(self, store: Store) -> None:
        delivery, _ = await store.claim(claim(request_id="r"))
        await store.record(delivery.id, Outcome.ACCEPTED)
        await store.record(delivery.id, Outcome.ANSWERED)
        await store.record(delivery.id, Outcome.UNKNOWN)
        found = await store.delivery("car", "r")
        assert found is not None and found.outcome is Outcome.ANSWERED

    @pytest.mark.parametrize(
        ("one", "other", "is_same"),
        [
            ("Go on.", "go on", True),
            ("go,  on!", "Go on", True),
            ("use C++", "use C", False),
            ("v1.2", "v12", False),
            ("-1", "1", False),
            ("?", "!", False),
            ("…", "", False),
            ("Straße", "STRASSE", True),
        ],
    )
    def test_which_words_are_the_same(self, one: str, other: str, is_same: bool) -> None:
        assert (words_hash(one) == words_hash(other)) is is_same


class TestForgetting:
    async def test_words_and_answers_go_after_the_days_in_the_settings_and_hashes_stay(
        self, tmp_path: Path, clock: Clock
    ) -> None:
        store = Store(tmp_path, clock)
        delivery, _ = await store.claim(claim(request_id="r"))
        question = Question(QuestionKind.TEXT, SECRET)
        reply = LastReply("s-1", (SECRET,), (SECRET,), State.NEEDS_ANSWER, question)
        await store.heard(Heard("car", SESSION, None, reply, (delivery.id,), is_answer=True))
        await store.forget(2)
        assert (await store.last_reply("car")) == reply
        clock.now += 3 * 86400
        await store.forget(2)
        assert await store.last_reply("car") is None
        found = await store.delivery("car", "r")
        assert found is not None and found.words is None and found.words_hash == words_hash(SECRET)
        with pytest.raises(Conflict):
            await store.claim(claim("other", number=1, request_id="r"))
        store.close()
        with closing(sqlite3.connect(tmp_path / "codriver.sqlite3")) as db:
            assert SECRET not in "".join(db.iterdump())
        assert all(SECRET.encode() not in file.read_bytes() for file in tmp_path.iterdir())

    async def test_ids_are_kept_seven_days_whatever_the_settings_say(
        self, store: Store, clock: Clock
    ) -> None:
        await store.claim(claim(request_id="r"))
        clock.now += 6 * 86400
        await store.forget(1)
        assert await store.delivery("car", "r")
        clock.now += 2 * 86400
        await store.forget(1)
        assert await store.delivery("car", "r") is None


class TestHearing:
    async def test_a_place_is_kept_for_each_client_and_session(self, store: Store) -> None:
        place = Mark(Position("s-1", 10, "ab"), "u1")
        await store.set_mark("car", SESSION, place)
        await store.set_mark("car", SESSION, Mark(Position("s-1", 99, "cd"), "u9"))
        assert await store.mark("car", SESSION) == place
        assert await store.mark("desk", SESSION) is None

    async def test_a_new_conversation_goes_on_from_the_place_in_the_one_before(self, store: Store) -> None:
        place = Mark(Position("s-1", 10, "ab"), "u1")
        await store.heard(Heard("car", SESSION, place))
        assert await store.mark("car", replace(SESSION, id="s-2")) == place
        by_name = replace(SESSION, id="s-3", process=Process(99, "1"))
        assert await store.mark("car", by_name) == place

    async def test_who_spoke_last_is_remembered(self, store: Store) -> None:
        await store.choose("car", SESSION)
        other = replace(SESSION, id="s-2", process=Process(78, "5"))
        await store.heard(Heard("car", other, is_answer=True))
        state = await store.client("car")
        assert (state.session_id, state.spoke_session_id) == ("s-1", "s-2")

    async def test_rules_once_decided_stay_decided(self, store: Store) -> None:
        await store.bind([("77:5", "allow:demo", True)])
        assert await store.bind([("77:5", "allow:demo", False)]) == {("77:5", "allow:demo"): True}

    async def test_the_key_of_cursors_is_made_once(self, tmp_path: Path) -> None:
        store = Store(tmp_path)
        key = await store.cursor_key()
        store.close()
        store = Store(tmp_path)
        assert await store.cursor_key() == key and len(key) >= 16
        store.close()

    async def test_a_transaction_that_fails_leaves_nothing_behind(self, store: Store) -> None:
        await store.claim(claim(number=1))
        with pytest.raises(sqlite3.IntegrityError):
            await store.claim(claim("other", number=1, request_id="r"))
        assert await store.delivery("car", "r") is None
        assert (await store.claim(claim("another", number=2)))[1]
