"""Sessions that change their conversation, cannot be reached or end, and cursors into them: over HTTP."""

import asyncio
import json
import uuid

import pytest

from tests.gateway.conftest import Client, Running
from tests.gateway.fake_session import (
    FakeSession,
    Line,
    deaf,
    peer,
    silent,
    text,
    tool_result,
    tool_use,
    turn,
    turn_duration,
    user,
)


class TestCursors:
    async def test_a_client_that_keeps_its_own_cursor_hears_from_there(
        self, client: Client, session: FakeSession
    ) -> None:
        session.write(*turn("a", "One."))
        first = await client.reply()
        session.write(*turn("b", "Two."))
        for _ in range(2):
            again = await client.reply(since=first["cursor"])
            assert again["say"] == "Two."
        assert (await client.reply(since=again["cursor"], wait=0))["say"] == "Nothing new."
        assert (await client.reply())["say"] == "Two.", "the stored cursor was not moved"

    async def test_every_reply_about_a_session_has_one(self, client: Client, session: FakeSession) -> None:
        nothing = await client.reply(wait=0)
        assert nothing["say"] == "Nothing new." and nothing["cursor"]
        session.write(user("typed"), text("Half.", "tool_use"), tool_use("t", "Bash"))
        session.set(status="busy")
        working = await client.reply(wait=0)
        assert working["state"] == "working" and working["cursor"]
        session.write(tool_result("t"), text("Whole."), turn_duration())
        session.set(status="idle")
        for given in (nothing, working):
            assert (await client.reply(since=given["cursor"]))["say"] == "Whole."

    @pytest.mark.parametrize("cursor", ["abc", "2099-01-01T00:00:00Z", "~~~", "x" * 4000])
    async def test_what_is_not_ours_is_refused(
        self, client: Client, session: FakeSession, cursor: str
    ) -> None:
        session.write(*turn("a", "One."))
        reply = await client.reply(since=cursor)
        assert (reply["status"], reply["code"]) == (400, "bad_cursor") and reply["say"]

    async def test_a_cursor_that_was_changed_is_refused(self, client: Client, session: FakeSession) -> None:
        session.write(*turn("a", "One."))
        cursor = (await client.reply())["cursor"]
        session_id, offset, *rest = cursor.split("~")
        moved = "~".join([session_id, str(int(offset) + 10**6), *rest])
        assert (await client.reply(since=moved))["status"] == 400

    async def test_a_cursor_of_another_session_is_refused(self, client: Client, session: FakeSession) -> None:
        session.write(*turn("a", "One."))
        cursor = (await client.reply())["cursor"]
        session.id = str(uuid.uuid4())
        session.set()
        session.write(*turn("b", "Two."))
        assert (await client.reply(since=cursor))["status"] == 400

    async def test_a_cursor_of_a_transcript_that_was_replaced_gives_the_last_answer(
        self, client: Client, session: FakeSession
    ) -> None:
        session.write(*turn("a", "x " * 500), *turn("b", "One."))
        cursor = (await client.reply())["cursor"]
        session.transcript.write_text("")
        session.write(*turn("c", "Fresh."))
        assert (await client.reply(since=cursor))["say"] == "Fresh."


class TestSessionsThatCannotBeReached:
    async def test_a_dead_session_takes_nothing_but_its_last_answer_is_there(
        self, client: Client, session: FakeSession
    ) -> None:
        await client.ask("go")
        session.write(*turn("typed", "Last words."))
        await session.stop()
        asked = await client.ask("more work please")
        assert (asked["status"], asked["code"]) == (404, "session_dead")
        assert (await client.reply(session="demo"))["say"] == "Last words."
        assert (await client.reply())["say"] == "Nothing new."

    async def test_a_session_without_a_socket_can_only_be_heard(
        self, client: Client, session: FakeSession
    ) -> None:
        session.set(messagingSocketPath=None)
        record = session.config_dir / "sessions" / f"{session.pid}.json"
        data = json.loads(record.read_text())
        del data["messagingSocketPath"]
        record.write_text(json.dumps(data))
        session.write(*turn("typed", "Heard."))
        assert (await client.reply())["say"] == "Heard."
        asked = await client.ask("go")
        assert (asked["status"], asked["code"]) == (503, "session_unreachable")

    async def test_a_session_that_dies_while_we_wait_is_said_to_have(
        self, client: Client, session: FakeSession
    ) -> None:
        session.mind = silent
        asking = asyncio.create_task(client.ask("go", wait=9))
        await asyncio.sleep(0.3)
        await session.stop()
        reply = await asking
        assert reply["state"] == "error" and "ended before it answered" in reply["say"]
        assert reply["status"] == 200

    async def test_readonly_hears_and_sends_nothing(self, running: Running, session: FakeSession) -> None:
        running.environ["CODRIVER_READONLY"] = "1"
        client = await running.start()
        session.write(*turn("typed", "Heard."))
        assert (await client.reply())["say"] == "Heard."
        asked = await client.ask("go")
        assert (asked["status"], asked["code"]) == (403, "session_readonly")
        assert session.frames == []


class TestConversationsThatMove:
    """The session id changes while the process stays."""

    def move(self, session: FakeSession, *lines: Line) -> None:
        session.id = str(uuid.uuid4())
        session.write(*lines)
        session.set()

    async def test_after_clear_the_new_conversation_is_heard(
        self, client: Client, session: FakeSession
    ) -> None:
        await client.ask("go")
        self.move(session, user("<command-name>/clear</command-name>"), *turn("a", "New one."))
        assert (await client.reply())["say"] == "New one."
        assert (await client.reply(wait=0))["say"] == "Nothing new."
        assert (await client.ask("and"))["say"] == "Done."

    async def test_a_copy_of_the_conversation_is_not_told_again(
        self, client: Client, session: FakeSession
    ) -> None:
        old = [line for i in range(5) for line in turn(f"{i}", f"Old {i}.")]
        session.write(*old)
        await client.reply()
        self.move(session, *old)
        assert (await client.reply(wait=0))["say"] == "Nothing new."
        session.write(*turn("x", "Fresh."))
        assert (await client.reply())["say"] == "Fresh."

    async def test_a_copy_made_while_we_waited_tells_our_answer_only(
        self, client: Client, session: FakeSession
    ) -> None:
        old = [line for i in range(5) for line in turn(f"{i}", f"Old {i}.")]
        session.write(*old)
        await client.reply()
        session.mind = deaf
        asking = asyncio.create_task(client.ask("go", wait=9))
        while not session.messages:
            await asyncio.sleep(0.01)
        frame = next(frame for frame in session.frames if frame["type"] == "user")
        self.move(session, *old, peer(frame), text("Ours."), turn_duration())
        assert (await asking)["say"] == "Ours."
        assert (await client.reply(wait=0))["say"] == "Nothing new."

    async def test_a_first_asks_answer_in_another_old_conversation_brings_nothing_old_along(
        self, client: Client, session: FakeSession
    ) -> None:
        session.mind = deaf
        await client.ask("go", wait=0)
        frame = next(frame for frame in session.frames if frame["type"] == "user")
        old = [line for i in range(40) for line in turn(f"{i}", f"Old {i}.")]
        self.move(session, *old, peer(frame), text("Ours."), turn_duration())
        assert (await client.reply())["say"] == "Ours."

    async def test_a_throw_away_id_at_the_start_loses_nothing(
        self, client: Client, session: FakeSession
    ) -> None:
        real = session.id
        session.write(*turn("yesterday", "Old."))
        session.id = str(uuid.uuid4())
        session.set()
        assert (await client.reply(wait=0))["say"] == "Nothing new."
        session.id = real
        session.set()
        assert (await client.ask("go"))["say"] == "Done."

    async def test_a_message_is_not_sent_into_a_conversation_that_was_not_meant(
        self, client: Client, session: FakeSession
    ) -> None:
        first = session.id
        reply = await client.ask("go", expect_id=first)
        assert reply["say"] == "Done."
        self.move(session)
        refused = await client.ask("go on", expect_id=first)
        assert (refused["status"], refused["code"]) == (409, "session_moved")
        assert len(session.messages) == 1
