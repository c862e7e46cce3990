"""A message goes out at most once, whoever repeats it, and what it shares its turn with is said."""

import asyncio
from typing import Any

import pytest

from tests.gateway.conftest import Client, Running
from tests.gateway.fake_session import (
    FakeSession,
    absorbed,
    answer_with,
    enqueue,
    peer,
    silent,
    text,
    tool_result,
    tool_use,
    turn_duration,
    until,
    user,
)


class TestTheSameRequestAgain:
    async def test_with_an_id_it_joins_and_tells_the_same_answer_again(
        self, client: Client, session: FakeSession
    ) -> None:
        first = await client.ask("go", id="r-1")
        again = await client.ask("go", id="r-1")
        assert first["say"] == again["say"] == "Done."
        assert first["message_id"] == again["message_id"]
        assert len(session.messages) == 1

    async def test_with_other_words_it_is_refused(self, client: Client, session: FakeSession) -> None:
        await client.ask("go", id="r-1")
        other = await client.ask("stop", id="r-1")
        assert (other["status"], other["code"]) == (409, "id_clash")
        assert len(session.messages) == 1

    @pytest.mark.parametrize("words", ["Go.", "go", " GO! "])
    async def test_words_that_are_said_alike_are_the_same(
        self, client: Client, session: FakeSession, words: str
    ) -> None:
        await client.ask("go", id="r-1")
        assert (await client.ask(words, id="r-1"))["status"] == 200
        assert len(session.messages) == 1

    async def test_ids_belong_to_their_client(self, client: Client, session: FakeSession) -> None:
        await client.ask("go", id="r-1", client="a")
        await client.ask("stay", id="r-1", client="b")
        assert len(session.messages) == 2

    async def test_an_id_holds_over_a_restart(self, running: Running, session: FakeSession) -> None:
        client = await running.start()
        await client.ask("go", id="r-1")
        client = await running.restart()
        assert (await client.ask("go", id="r-1"))["say"] == "Done."
        assert len(session.messages) == 1

    async def test_an_id_joins_a_request_that_failed_without_sending(
        self, client: Client, session: FakeSession
    ) -> None:
        assert session._server is not None
        session._server.close()
        first = await client.ask("go", id="r-1")
        assert (first["status"], first["code"]) == (503, "session_unreachable")
        session.socket_path.unlink(missing_ok=True)
        await session.start()
        assert (await client.ask("go", id="r-1"))["status"] == 503
        assert (await client.ask("go", id="r-2"))["say"] == "Done."
        assert len(session.messages) == 1

    @pytest.mark.parametrize("ids", [True, False], ids=["one id", "no id"])
    async def test_twenty_at_once_send_once(self, client: Client, session: FakeSession, ids: bool) -> None:
        replies = await asyncio.gather(
            *(client.ask("go", **({"id": "r-1"} if ids else {})) for _ in range(20))
        )
        assert len(session.messages) == 1
        assert {reply["message_id"] for reply in replies} == {replies[0]["message_id"]}
        assert {reply["say"] for reply in replies} == {"Done."}


class TestTheSameWordsAgain:
    async def test_they_join_while_there_is_no_answer(self, client: Client, session: FakeSession) -> None:
        session.mind = silent
        await client.ask("go", wait=0)
        await client.ask("Go!", wait=0)
        await client.ask("go", id="later-id", wait=0)
        assert len(session.messages) == 1

    async def test_they_are_a_new_prompt_once_the_answer_was_heard(
        self, client: Client, session: FakeSession
    ) -> None:
        await client.ask("yes")
        await client.ask("yes")
        assert len(session.messages) == 2
        assert session.messages[0] != session.messages[1], "the CLI drops what is identical"

    async def test_join_off_sends_them_again(self, client: Client, session: FakeSession) -> None:
        session.mind = silent
        await client.ask("go", wait=0)
        session.write(text("One."), turn_duration())
        session.mind = answer_with("Two.")
        assert (await client.ask("go", join=0))["say"].endswith("Two.")
        assert len(session.messages) == 2

    async def test_after_the_time_in_the_settings_they_are_new(
        self, running: Running, session: FakeSession
    ) -> None:
        running.environ["CODRIVER_DIALOG_JOIN_S"] = "0"
        client = await running.start()
        session.mind = silent
        await client.ask("go", wait=0)
        session.set(status="idle")
        session.write(text("One."), turn_duration())
        session.mind = answer_with("Two.")
        await client.ask("go")
        assert len(session.messages) == 2

    async def test_marks_inside_words_make_other_words(self, client: Client, session: FakeSession) -> None:
        session.mind = silent
        await client.ask("use C++", wait=0)
        session.write(text("One."), turn_duration())
        session.mind = answer_with("Two.")
        await client.ask("use C")
        assert len(session.messages) == 2

    async def test_another_client_is_somebody_else(self, client: Client, session: FakeSession) -> None:
        await client.ask("go", client="a")
        await client.ask("go", client="b")
        assert len(session.messages) == 2


class TestTurnsThatAreShared:
    async def test_a_message_that_joined_a_running_turn_is_said_to_have(
        self, client: Client, session: FakeSession
    ) -> None:
        session.write(user("typed there"), tool_use("t", "Bash"))
        session.set(status="busy")

        def mind(fake: FakeSession, content: str, frame: dict[str, Any]) -> None:
            fake.write(enqueue(content), tool_result("t"), absorbed(content, frame))

        session.mind = mind
        reply = await client.ask("go", wait=1)
        assert (reply["state"], reply["delivery"]) == ("working", "joined_running_turn")
        session.write(text("Both done."), turn_duration())
        session.set(status="idle")
        reply = await client.reply()
        assert reply["delivery"] == "answered"
        assert reply["say"].startswith("Your message went into the work") and reply["say"].endswith(
            "Both done."
        )
        assert (await client.reply(wait=0))["say"] == "Nothing new."

    async def test_an_answer_to_several_messages_is_said_to_be(
        self, client: Client, session: FakeSession
    ) -> None:
        def mind(fake: FakeSession, content: str, frame: dict[str, Any]) -> None:
            fake.write(user("typed there"), peer(frame), text("Both done."), turn_duration())

        session.mind = mind
        assert (await client.ask("go"))["say"] == "This answer is for more than one message. Both done."

    async def test_a_second_message_waits_here_for_the_first_ones_turn(
        self, client: Client, session: FakeSession
    ) -> None:
        session.mind = silent
        await client.ask("one", wait=0)
        reply = await client.ask("two", wait=0.5)
        assert reply["state"] == "working" and "comes first" in reply["say"]
        assert len(session.messages) == 1
        session.mind = answer_with("Two.")
        session.set(status="idle")
        session.write(text("One."), turn_duration())
        reply = await client.ask("two", wait=5)
        assert reply["say"] == "Earlier answer: One. Two."
        assert (await client.reply(wait=0))["say"] == "Nothing new."

    async def test_an_answer_that_was_mentioned_before_another_counts_as_heard(
        self, client: Client, session: FakeSession
    ) -> None:
        session.mind = silent
        await client.ask("one", wait=0)
        session.set(status="idle")
        session.write(text("One."), turn_duration())
        session.mind = answer_with("Two.")
        assert (await client.ask("two"))["say"] == "Earlier answer: One. Two."
        await client.ask("one")
        assert len(session.messages) == 3, "these words are a new prompt"

    async def test_it_waits_also_while_the_first_ones_turn_is_silent_or_not_begun(
        self, client: Client, session: FakeSession
    ) -> None:
        session.mind = silent
        await client.ask("one", wait=1)
        await client.ask("two", wait=1)
        await client.ask("three", wait=1)
        assert len(session.messages) == 1
        session.write(text("One."), turn_duration())
        await until(lambda: len(session.messages) == 2)
        assert session.messages[1].startswith("two")

    async def test_what_is_held_back_at_the_end_is_not_sent_and_not_called_unknown(
        self, running: Running, session: FakeSession
    ) -> None:
        client = await running.start()
        session.mind = silent
        await client.ask("one", wait=0)
        await client.ask("two", id="2", wait=0.3)
        client = await running.restart()
        session.write(text("One."), turn_duration())
        session.set(status="idle")
        assert (await client.ask("two", id="2", wait=0))["status"] == 503
        assert (await client.reply())["say"] == "One."
        assert len(session.messages) == 1

    async def test_what_could_not_be_sent_when_its_turn_came_is_said_once(
        self, client: Client, session: FakeSession
    ) -> None:
        session.mind = silent
        await client.ask("one", wait=0)
        await client.ask("two", wait=0.3)
        session.set(messagingSocketPath=str(session.socket_path.with_name("gone.sock")))
        session.write(text("One."), turn_duration())
        session.set(status="idle", messagingSocketPath=str(session.socket_path.with_name("gone.sock")))
        heard = [await client.reply(wait=2) for _ in range(3)]
        assert heard[0]["say"] == "One."
        assert heard[1]["state"] == "error" and "Nothing was sent" in heard[1]["say"]
        assert heard[2]["say"] == "Nothing new."
