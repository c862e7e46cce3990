"""Turns that fail: said as failures, never read out as answers, and the next turn works."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from tests.live.model_standin import ModelStandin
from tests.live.script import Step, bash, fail, say, text
from tests.live.service import Client
from tests.live.stage import Stage
from tests.live.terminal import Session

pytestmark = [pytest.mark.live, pytest.mark.asyncio(loop_scope="session")]

FAILURES = {
    "overloaded": fail(529, "overloaded_error"),
    "unauthorised": fail(401, "authentication_error"),
    "invalid": fail(400, "invalid_request_error", message="tools.0: this is not valid"),
}


@pytest.mark.parametrize("kind", FAILURES)
async def test_turn_that_ends_in_an_api_error_is_an_error_and_the_next_one_works(
    kind: str, model: ModelStandin, client: Client, amber: Session
) -> None:
    model.script(f"fails{kind}", FAILURES[kind])
    model.answer(f"after{kind}", "Well again.")

    failed = await client.answer("amber", f"Now fails{kind}.")
    after = await client.answer("amber", f"Now after{kind}.")

    assert (failed.status, failed.state, failed.body["question"]) == (200, "error", None)
    assert not any(leak in failed.say for leak in ("API Error", "127.0.0.1", "not valid", "stand-in"))
    assert (after.state, after.say) == ("finished", "Well again.")


async def test_turn_interrupted_at_the_computer_is_an_error(
    stage: Stage, model: ModelStandin, client: Client, amber: Session
) -> None:
    trap = model.script("trap", say("Never said.", gate=asyncio.Event()))
    model.answer("free", "Free again.")

    ask = asyncio.create_task(client.answer("amber", "Into the trap.", wait=20))
    await trap.asked()
    await asyncio.sleep(0.3)  # a person needs longer, and the screen has to show the turn first
    await stage.terminal.press(amber, "Escape")
    stopped = await ask
    after = await client.answer("amber", "Be free.")

    assert (stopped.status, stopped.state) == (200, "error")
    assert (after.state, after.say) == ("finished", "Free again.")


async def test_session_killed_in_its_turn_is_told_and_its_last_answer_stays_readable(
    stage: Stage, model: ModelStandin, client: Client, passing: Callable[..., Awaitable[Session]]
) -> None:
    cedar = await passing("cedar")
    model.answer("resin", "The resin is fine.")
    running = Step(blocks=(text("Sawing."), bash("sleep 2", "Saw")))
    timber = model.script("timber", running, say("Never said."))

    heard = await client.answer("cedar", "How is the resin?")
    ask = asyncio.create_task(client.answer("cedar", "Now the timber.", wait=20))
    await timber.asked()
    await asyncio.sleep(1)  # into the command
    stage.terminal.kill(cedar)
    ended = await ask
    refused = await client.ask("cedar", "Are you there?")
    readable = await client.reply("cedar", heard)

    assert (heard.state, heard.say) == ("finished", "The resin is fine.")
    assert (ended.status, ended.state) == (200, "error")
    assert (refused.status, refused.state) == (404, "error")
    assert refused.body["code"]
    assert readable.status == 200
    assert "The resin is fine." in readable.say
