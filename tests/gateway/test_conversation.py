"""Asking and hearing over HTTP, with a fake session that has a real record, socket and transcript."""

from tests.gateway.conftest import Client, Running
from tests.gateway.fake_session import FakeSession, answer_with, text, turn_duration, user


async def test_words_arrive_word_for_word_and_the_answer_comes_back(client: Client, session: FakeSession) -> None:
    words = "rename it to ‘core’ — today\n  /clear @file \U0001f697"
    reply = await client.ask(words)
    assert reply["say"] == "Done."
    assert reply["state"] == "finished"
    assert reply["delivery"] == "answered"
    [content] = session.messages
    assert content.startswith(words + "\n\n--- codriver note ")


async def test_an_answer_is_heard_once_and_then_nothing_is_new(client: Client, session: FakeSession) -> None:
    session.write(user("run the tests"), text("Tests pass."), turn_duration())
    assert (await client.reply())["say"] == "Tests pass."
    assert (await client.reply())["say"] == "Nothing new."


async def test_a_cursor_survives_a_restart(running: Running, session: FakeSession) -> None:
    client = await running.start()
    session.write(user("run the tests"), text("Tests pass."), turn_duration())
    assert (await client.reply())["say"] == "Tests pass."
    client = await running.restart()
    assert (await client.reply())["say"] == "Nothing new."
    session.mind = answer_with("All green.")
    assert (await client.ask("and now"))["say"] == "All green."
