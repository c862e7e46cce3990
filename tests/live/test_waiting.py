"""Turns that wait for the user: told as a question, and answered where they can be."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from tests.live.model_standin import ModelStandin
from tests.live.script import Step, say, text, tool
from tests.live.service import Client, Reply
from tests.live.stage import Stage
from tests.live.terminal import Session

pytestmark = [pytest.mark.live, pytest.mark.asyncio(loop_scope="session")]

DATABASES = {
    "question": "Which database should we use?",
    "header": "Database",
    "multiSelect": False,
    "options": [
        {"label": "Postgres", "description": "Relational"},
        {"label": "SQLite", "description": "Embedded"},
    ],
}


async def test_plain_text_question_is_told_as_one_and_answered_by_voice(
    model: ModelStandin, client: Client, amber: Session
) -> None:
    model.answer("marble", "I looked at both. Should I take the red marble or the blue one?")
    model.answer("azure", "Taken.")

    asked = await client.answer("amber", "Choose a marble.")
    answered = await client.answer("amber", "The azure one.")

    assert asked.state == "needs_answer"
    assert asked.body["question"]["kind"] == "text"
    assert "Should I take the red marble or the blue one?" in asked.say
    assert (answered.state, answered.say, answered.body["question"]) == ("finished", "Taken.", None)
    assert model.words("azure") == ["The azure one."]


async def test_form_is_spoken_with_its_options_and_sent_to_the_computer(
    stage: Stage, model: ModelStandin, client: Client, amber: Session
) -> None:
    form = Step(blocks=(text("I need a decision."), tool("AskUserQuestion", questions=[DATABASES])))
    model.script("flint", form, say("Then it is settled."))

    asked = await client.answer("amber", "Ask me about flint.")

    assert (amber.status, asked.state) == ("waiting", "needs_answer")
    question = asked.body["question"]
    assert (question["kind"], question["options"]) == ("form", ["Postgres", "SQLite"])
    assert question["text"] == "Which database should we use?"
    assert all(part in asked.say for part in ("Which database should we use?", "Postgres", "SQLite"))
    assert _sends_to_the_computer(asked.say)

    await stage.terminal.press(amber, "Enter")
    last = await _once_answered(client, asked)
    assert (last.state, last.say) == ("finished", "Then it is settled.")


async def test_permission_is_told_and_not_given(
    stage: Stage, model: ModelStandin, client: Client, amber: Session
) -> None:
    target = amber.directory / "notes.txt"
    target.unlink(missing_ok=True)
    model.script(
        "granite", Step(blocks=(tool("Write", file_path=str(target), content="x"),)), say("Written.")
    )

    asked = await client.answer("amber", "Write the granite down.")

    assert (amber.status, asked.state) == ("waiting", "needs_answer")
    assert asked.body["question"]["kind"] == "permission"
    assert _sends_to_the_computer(asked.say)
    assert not target.exists()

    await stage.terminal.press(amber, "Enter")
    last = await _once_answered(client, asked)
    assert (last.state, last.say, target.exists()) == ("finished", "Written.", True)


async def test_dismissed_form_ends_the_turn_as_interrupted(
    stage: Stage, model: ModelStandin, client: Client, amber: Session
) -> None:
    model.script("chert", Step(blocks=(tool("AskUserQuestion", questions=[DATABASES]),)), say("Unheard."))

    asked = await client.answer("amber", "Ask me about chert.")
    await stage.terminal.press(amber, "Escape")
    after = await _once_answered(client, asked)

    assert (asked.state, after.state, after.status) == ("needs_answer", "error", 200)


async def test_session_that_holds_messages_says_that_ours_waits_for_approval(
    model: ModelStandin, client: Client, passing: Callable[..., Awaitable[Session]]
) -> None:
    await passing("holly", crossSessionInbound="hold")

    reply = await client.answer("holly", "Please hold this umbrella.")

    assert reply.state == "needs_answer"
    assert model.words("umbrella") == []


async def test_session_that_refuses_messages_is_told_as_an_error(
    model: ModelStandin, client: Client, passing: Callable[..., Awaitable[Session]]
) -> None:
    await passing("rowan", crossSessionInbound="refuse")

    reply = await client.answer("rowan", "Please take this parasol.")

    assert (reply.status, reply.state) == (200, "error")
    assert model.words("parasol") == []


async def _once_answered(client: Client, asked: Reply) -> Reply:
    """The end of the turn, once the service has seen that its question is no longer open."""
    reply = asked
    async with asyncio.timeout(20):
        while reply.state in ("needs_answer", "working"):
            await asyncio.sleep(0.2)
            reply = await client.reply("amber", asked)
    return reply


def _sends_to_the_computer(sentence: str) -> bool:
    """Whether it says that the answer has to be given in the session itself."""
    return any(
        place in sentence.lower() for place in ("in the session", "at the computer", "on the computer")
    )
