"""Ordinary turns of the real CLI: the words arrive as they are, the answer is the model's text."""

import asyncio

import pytest

from tests.live.model_standin import ModelStandin
from tests.live.script import Step, bash, say, text
from tests.live.service import MARKER, Client
from tests.live.stage import Stage
from tests.live.terminal import Session

pytestmark = [pytest.mark.live, pytest.mark.asyncio(loop_scope="session")]

VERBATIM = {
    "plain": "Please have a look at the {key}.",
    "quotes": "Say \"{key}\" to 'them' with \\ and $HOME and `date` and <b>&amp;</b> and 100% {{braces}}",
    "emoji": "{key} 👩‍👩‍👧 e\u0301 שלום \u202eabc\u202c and \u2028 a separator",
    "lines": "  First {key},\n\n\tthen a second line \n",
    "slash": "/clear the table, {key}",
    "mention": "@secret.txt and @./secret.txt belong to {key}",
    "marks": "!ls {key}\n#remember this",
    "fence": "--- codriver note 0123456789abcdef ---\n{key}\n--- end of codriver note 0123456789abcdef ---",
}


@pytest.mark.parametrize("kind", VERBATIM)
async def test_words_arrive_unchanged_and_the_answer_is_the_models_text(
    kind: str, model: ModelStandin, client: Client, amber: Session
) -> None:
    key = f"topic{kind}"
    words = VERBATIM[kind].format(key=key)
    answer = f"All lamps are green for the {kind} case."
    model.answer(key, answer)
    (amber.directory / "secret.txt").write_text("canaryinthefile")
    model.canaries.add("canaryinthefile")
    session_id = amber.id

    reply = await client.answer("amber", words)

    assert (reply.status, reply.state, reply.say) == (200, "finished", answer)
    assert model.words(key) == [words]
    assert reply.session_id == session_id == amber.id
    assert model.leaked == set()


async def test_no_words_answers_or_tokens_reach_the_log(
    stage: Stage, model: ModelStandin, client: Client, amber: Session
) -> None:
    model.answer("gypsum", "The secret answer is marmalade.")

    reply = await client.answer("amber", "Tell me about gypsum quietly.")

    assert reply.state == "finished"
    logged = stage.service.logged().lower()
    assert all(word not in logged for word in ("gypsum", "marmalade", client.token.lower()))


async def test_both_sessions_are_listed(client: Client, amber: Session, birch: Session) -> None:
    listed = await client.sessions(format="json")

    assert listed.status == 200
    assert all(str(session.id) in str(dict(listed.body)) for session in (amber, birch))


async def test_tool_work_is_told_as_progress_and_only_the_final_text_is_the_answer(
    model: ModelStandin, client: Client, amber: Session
) -> None:
    gate = asyncio.Event()
    working = Step(blocks=(text("Looking around first."), bash("sleep 1", "Wait a moment")))
    model.script("basalt", working, say("Both checks passed.", gate=gate))

    first = await client.ask("amber", "Check the basalt please.", wait=2)
    second = await client.reply("amber", first, wait=1)
    gate.set()
    last = (await client.until_settled("amber", second))[-1]

    assert [reply.state for reply in (first, second, last)] == ["working", "working", "finished"]
    assert MARKER in first.say
    assert MARKER in second.say
    assert first.say != second.say or first.say == f"{MARKER}."
    assert last.say == "Both checks passed."


async def test_connection_cut_once_is_not_heard(model: ModelStandin, client: Client, amber: Session) -> None:
    cut = say("The whole answer arrived after all.", is_cut=True, fault_times=1)
    script = model.script("pyrite", cut)

    reply = await client.answer("amber", "Read the pyrite out.")

    assert script.requests == [0, 0]
    assert (reply.state, reply.say) == ("finished", "The whole answer arrived after all.")
    assert model.words("pyrite") == ["Read the pyrite out."]


async def test_slowly_streamed_answer_is_heard_whole(
    model: ModelStandin, client: Client, amber: Session
) -> None:
    whole = "This one takes its time. " * 6
    model.script("slate", say(whole.strip(), chunk_delay_s=0.2))

    reply = await client.answer("amber", "Take the slate slowly.", wait=1)

    assert (reply.state, reply.say) == ("finished", whole.strip())


async def test_ten_quick_turns_have_ten_own_answers(
    model: ModelStandin, client: Client, amber: Session
) -> None:
    numbers = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    heard = []
    for number in numbers:
        model.answer(f"quick{number}", f"This is the answer called {number}.")
        reply = await client.answer("amber", f"Now quick{number}.")
        heard.append((reply.state, reply.say))

    assert heard == [("finished", f"This is the answer called {number}.") for number in numbers]
    assert [model.words(f"quick{number}") for number in numbers] == [[f"Now quick{n}."] for n in numbers]
