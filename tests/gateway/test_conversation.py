"""Asking and hearing over HTTP, with a fake session that has a real record, socket and transcript."""

import asyncio
import json
import os
import random
from typing import Any

import pytest

from tests.gateway.conftest import Client, Running
from tests.gateway.fake_session import (
    FakeSession,
    answer_with,
    deaf,
    enqueue,
    peer,
    silent,
    text,
    tool_result,
    tool_use,
    turn,
    turn_duration,
    user,
    words,
)


class TestAsking:
    async def test_words_arrive_word_for_word_and_the_answer_comes_back(
        self, client: Client, session: FakeSession
    ) -> None:
        given = "rename it to ‘core’ — today\n  /clear @file \U0001f697"
        reply = await client.ask(given)
        assert reply["say"] == "Done."
        assert reply["state"] == "finished"
        assert reply["delivery"] == "answered"
        [content] = session.messages
        assert content.startswith(given + "\n\n--- codriver note ")

    async def test_the_answer_is_that_of_its_own_turn(self, client: Client, session: FakeSession) -> None:
        session.write(*turn("earlier", "Old answer."))
        session.mind = silent
        reply = await client.ask("now deploy", wait=1)
        assert reply["state"] == "working" and "Old answer" not in reply["say"]
        session.write(text("Deployed."), turn_duration())
        assert (await client.reply())["say"] == "Deployed."

    async def test_what_others_type_is_not_our_answer(self, client: Client, session: FakeSession) -> None:
        session.mind = deaf
        asking = asyncio.create_task(client.ask("go", wait=2))
        await asyncio.sleep(0.3)
        session.write(*turn("typed at the computer", "For the human."))
        reply = await asking
        assert reply["state"] == "working" and "For the human" not in reply["say"]

    async def test_an_answer_not_heard_yet_is_mentioned_in_few_words(
        self, client: Client, session: FakeSession
    ) -> None:
        await client.ask("first")
        session.write(*turn("typed", words(40, "old")))
        session.mind = answer_with("New.")
        say = (await client.ask("second"))["say"]
        earlier, _, own = say.rpartition(" ")
        assert own == "New."
        assert earlier.startswith("Earlier answer: old0 old1") and earlier.endswith("…")
        assert len(earlier.removeprefix("Earlier answer: ").split()) <= 25
        assert (await client.reply(wait=0))["say"] == "Nothing new."

    async def test_several_answers_not_heard_yet_share_those_words(
        self, client: Client, session: FakeSession
    ) -> None:
        await client.ask("first")
        session.write(*turn("a", words(40, "a")), *turn("b", words(40, "b")))
        session.mind = answer_with("New.")
        say = (await client.ask("second"))["say"]
        assert "a0" in say and "b0" in say and say.endswith("New.")
        assert len(say.removeprefix("Earlier answer: ").removesuffix(" New.").split()) <= 25

    async def test_a_first_ask_does_not_dig_up_what_was_before_it(
        self, client: Client, session: FakeSession
    ) -> None:
        session.write(*turn("old", "Old answer."))
        assert (await client.ask("go"))["say"] == "Done."

    async def test_a_form_that_was_open_before_the_first_ask_is_read_out(
        self, client: Client, session: FakeSession
    ) -> None:
        questions = [{"question": "Which database?", "options": [{"label": "Postgres"}, {"label": "SQLite"}]}]
        session.write(user("typed"), tool_use("f", "AskUserQuestion", questions=questions))
        session.set(status="waiting", waitingFor="input needed")
        session.mind = deaf
        reply = await client.ask("go", wait=2)
        assert reply["state"] == "needs_answer"
        assert "Which database?" in reply["say"] and "Option two: SQLite." in reply["say"]
        assert reply["question"]["options"] == ["Postgres", "SQLite"]

    async def test_half_of_a_surrogate_pair_in_a_form_is_no_error(
        self, client: Client, session: FakeSession
    ) -> None:
        questions = '[{"question":"Which \\ud83d one?","options":[{"label":"A\\udc00"},{"label":"B"}]}]'
        block = f'{{"type":"tool_use","id":"f","name":"AskUserQuestion","input":{{"questions":{questions}}}}}'
        session.write(user("typed"), f'{{"type":"assistant","message":{{"content":[{block}]}}}}\n'.encode())
        session.set(status="waiting", waitingFor="input needed")
        reply = await client.reply(wait=1)
        assert reply["status"] == 200 and reply["state"] == "needs_answer"


class TestFlushing:
    """The status is written before the transcript's last lines are: no answer may come of that."""

    @pytest.mark.parametrize("seed", range(6))
    async def test_lines_that_come_late_and_in_pieces_give_the_whole_answer(
        self, client: Client, session: FakeSession, seed: int
    ) -> None:
        chance = random.Random(seed)
        writing: list[asyncio.Task[None]] = []

        def mind(fake: FakeSession, content: str, frame: dict[str, Any]) -> None:
            lines = [
                *(enqueue(content), peer(frame), text("Let me look.", "tool_use"), tool_use("t", "Bash")),
                *(tool_result("t"), text("It is fixed.", "end_turn"), turn_duration()),
            ]
            data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
            fake.set(status="idle")
            writing.append(asyncio.create_task(self.flush(fake, data, chance)))

        session.write(*turn("earlier", "Old answer."))
        session.mind = mind
        replies = [await client.ask("go", wait=chance.choice([0, 0.3, 9]))]
        while replies[-1]["state"] == "working":
            replies.append(await client.reply(wait=9))
        assert replies[-1]["say"] == "It is fixed."
        assert all(
            "Let me look" not in reply["say"] and "Old answer" not in reply["say"] for reply in replies
        )
        assert (await client.reply(wait=0))["say"] == "Nothing new."
        await asyncio.gather(*writing)

    async def flush(self, fake: FakeSession, data: bytes, chance: random.Random) -> None:
        at = 0
        while at < len(data):
            await asyncio.sleep(chance.choice([0, 0.05, 0.6]))
            step = chance.randint(1, len(data))
            fake.write(data[at : at + step])
            at += step

    async def test_a_text_whose_last_line_comes_late_is_told_when_it_is_quiet(
        self, client: Client, session: FakeSession
    ) -> None:
        session.mind = answer_with("Done.", ends=False)
        assert (await client.ask("go", wait=4))["say"] == "Done."
        session.write(turn_duration())
        assert (await client.reply(wait=0))["say"] == "Nothing new."

    async def test_an_old_text_without_a_last_line_is_told_at_once(
        self, client: Client, session: FakeSession
    ) -> None:
        session.write(user("a"), text("Long done."))
        os.utime(session.transcript, (0, 0))
        assert (await client.reply(wait=0))["say"] == "Long done."

    async def test_a_text_that_was_just_written_is_not(self, client: Client, session: FakeSession) -> None:
        session.write(user("a"), text("Just now."))
        os.utime(session.transcript, (2e9 * 2, 2e9 * 2))
        assert (await client.reply(wait=0))["state"] == "working"

    async def test_an_answer_that_went_on_after_all_is_told_on(
        self, client: Client, session: FakeSession
    ) -> None:
        session.mind = answer_with("Part one.", ends=False)
        assert (await client.ask("go", wait=4))["say"] == "Part one."
        session.write(text("Part two."), turn_duration())
        assert (await client.reply())["say"] == "Part two."


class TestHearing:
    async def test_an_answer_is_heard_once_and_then_nothing_is_new(
        self, client: Client, session: FakeSession
    ) -> None:
        session.write(*turn("run the tests", "Tests pass."))
        assert (await client.reply())["say"] == "Tests pass."
        assert (await client.reply())["say"] == "Nothing new."

    async def test_all_answers_not_heard_yet_are_told_in_order(
        self, client: Client, session: FakeSession
    ) -> None:
        session.write(*turn("a", "One."))
        await client.reply()
        session.write(
            *turn("b", "Two."),
            *turn("c", "Three."),
            user("<task-notification>"),
            text("Four."),
            turn_duration(),
        )
        assert (await client.reply())["say"] == "Two. Three. Four."
        assert (await client.reply(wait=0))["say"] == "Nothing new."

    async def test_a_turn_that_still_runs_does_not_hold_back_one_that_ended(
        self, client: Client, session: FakeSession
    ) -> None:
        session.mind = silent
        await client.ask("one", wait=0)
        session.write(text("One."), turn_duration(), user("typed"), tool_use("t", "Bash"))
        reply = await client.reply()
        assert (reply["state"], reply["say"]) == ("finished", "One.")
        assert (await client.reply(wait=0.3))["state"] == "working"

    async def test_more_turns_than_are_kept_in_memory_are_told_all(
        self, running: Running, session: FakeSession
    ) -> None:
        running.environ["CODRIVER_SPEECH_MAX_WORDS"] = "200"
        client = await running.start()
        session.write(*turn("a", "Zero."))
        await client.reply()
        for i in range(40):
            session.write(*turn("x", f"number{i}."))
        client = await running.restart()
        say = (await client.reply())["say"]
        assert [word.strip(".") for word in say.split()] == [f"number{i}" for i in range(40)]

    async def test_clients_do_not_hear_for_each_other(self, client: Client, session: FakeSession) -> None:
        session.write(*turn("a", "One."))
        assert (await client.reply(client="car"))["say"] == "One."
        assert (await client.reply(client="desk"))["say"] == "One."
        assert (await client.reply(client="car", wait=0))["say"] == "Nothing new."

    async def test_a_cursor_survives_a_restart(self, running: Running, session: FakeSession) -> None:
        client = await running.start()
        session.write(*turn("run the tests", "Tests pass."))
        assert (await client.reply())["say"] == "Tests pass."
        client = await running.restart()
        assert (await client.reply())["say"] == "Nothing new."
        session.mind = answer_with("All green.")
        assert (await client.ask("and now"))["say"] == "All green."

    async def test_while_the_transcript_is_away_nothing_is_new_and_then_it_is_read_again(
        self, client: Client, session: FakeSession
    ) -> None:
        session.write(*turn("a", "One."))
        await client.reply()
        session.transcript.unlink()
        assert (await client.reply(wait=0.2))["say"] == "Nothing new."
        session.write(*turn("b", "Two."))
        assert (await client.reply(wait=1))["say"] == "Two."


class TestNamedReplies:
    async def test_a_reply_can_name_the_ask_whose_answer_it_wants(
        self, client: Client, session: FakeSession
    ) -> None:
        session.mind = silent
        await client.ask("one", id="1", wait=0)
        session.write(text("One."), turn_duration(), *turn("typed", "Other."))
        session.set(status="idle")
        reply = await client.reply(id="1")
        assert reply["say"] == "One." and reply["delivery"] == "answered"
        assert (await client.reply())["say"] == "Other."
        assert (await client.reply(wait=0))["say"] == "Nothing new."

    async def test_also_after_it_was_heard(self, client: Client, session: FakeSession) -> None:
        await client.ask("one", id="1")
        session.write(*turn("typed", "Other."))
        assert (await client.reply(id="1"))["say"] == "Done."
        assert (await client.reply())["say"] == "Other."

    async def test_hearing_it_by_name_does_not_skip_what_was_before_it(
        self, client: Client, session: FakeSession
    ) -> None:
        session.write(*turn("a", "Zero."))
        await client.reply()
        session.write(*turn("b", "Before."))
        session.mind = silent
        await client.ask("one", id="1", wait=0)
        session.write(text("One."), turn_duration())
        assert (await client.reply(id="1"))["say"] == "One."
        assert (await client.reply())["say"] == "Before. One."

    async def test_an_id_that_is_not_known_is_refused(self, client: Client, session: FakeSession) -> None:
        reply = await client.reply(id="never")
        assert (reply["status"], reply["code"]) == (400, "unknown_request")


class TestManyAtOnce:
    async def test_two_hundred_waiting_polls_share_one_watch_and_all_hear_it(
        self, running: Running, session: FakeSession
    ) -> None:
        client = await running.start()
        session.write(*turn("a", "One."))
        session.set(status="busy")
        names = [f"client{i}" for i in range(200)]
        await asyncio.gather(*(client.reply(client=name) for name in names))
        session.write(user("b"), tool_use("t", "Bash"))
        polls = [asyncio.create_task(client.reply(client=name, wait=30)) for name in names]
        await asyncio.sleep(1)
        watching = [task for task in asyncio.all_tasks() if task.get_name().startswith("watch-")]
        assert len(watching) == 2, "the folder of records and that of transcripts"
        session.write(tool_result("t"), text("Two."), turn_duration())
        session.set(status="idle")
        assert {reply["say"] for reply in await asyncio.gather(*polls)} == {"Two."}
