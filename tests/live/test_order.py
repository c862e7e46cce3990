"""Several asks close together: each is sent as often as promised and hears its own answer."""

import asyncio

import pytest

from tests.live.model_standin import ModelStandin
from tests.live.script import Step, bash, say
from tests.live.service import Client
from tests.live.stage import Stage
from tests.live.terminal import Session

pytestmark = [pytest.mark.live, pytest.mark.asyncio(loop_scope="session")]


@pytest.mark.parametrize("join", ["0", "1"])
async def test_same_words_again_after_the_answer_are_a_new_prompt(
    join: str, model: ModelStandin, client: Client, amber: Session
) -> None:
    key = f"again{'on' if join == '1' else 'off'}"
    model.answer(key, "Yes, once more.")

    replies = [await client.answer("amber", f"Go on, {key}.", join=join, id=None) for _ in range(2)]

    assert [(reply.state, reply.say) for reply in replies] == [("finished", "Yes, once more.")] * 2
    assert model.words(key) == [f"Go on, {key}."] * 2
    assert replies[0].message_id != replies[1].message_id


async def test_same_words_at_once_are_delivered_twice_only_when_joining_is_off(
    model: ModelStandin, client: Client, amber: Session
) -> None:
    for key in ("joined", "apart"):
        model.answer(key, f"This was {key}.")

    joined = await asyncio.gather(
        *(client.answer("amber", "Now joined.", wait=20, id=None) for _ in range(2))
    )
    apart = await asyncio.gather(
        *(client.answer("amber", "Now apart.", wait=20, join=0, id=None) for _ in range(2))
    )

    assert [reply.say for reply in joined] == ["This was joined."] * 2
    assert [reply.state for reply in apart] == ["finished"] * 2
    assert (model.words("joined"), model.words("apart")) == (["Now joined."], ["Now apart."] * 2)


async def test_retried_request_with_its_id_is_sent_once(
    model: ModelStandin, client: Client, amber: Session
) -> None:
    model.answer("retried", "Only once.")

    first = await client.answer("amber", "This is retried.", id="retry-7c1")
    again = await client.answer("amber", "This is retried.", id="retry-7c1")
    other = await client.ask("amber", "This is something else.", id="retry-7c1")

    assert (first.state, again.state, other.status) == ("finished", "finished", 409)
    assert model.words("retried") == ["This is retried."]
    assert model.words("something") == []


async def test_asks_while_the_first_runs_get_their_own_answers(
    model: ModelStandin, client: Client, amber: Session
) -> None:
    """Two, because the CLI puts what waits together into one turn, unless the service holds it back."""
    gate = asyncio.Event()
    lead = Step(blocks=(bash("sleep 1", "Wait"),))
    model.script("lead", lead, say("This is about lead.", gate=gate))
    for metal in ("zinc", "tin"):
        model.answer(metal, f"This is about {metal}.")
    words = {"lead": "First the lead.", "zinc": "Then the zinc.", "tin": "At last the tin."}

    asked = [await client.ask("amber", message, wait=1) for message in words.values()]
    gate.set()
    heard = [(await client.until_settled("amber", first))[-1] for first in asked]

    assert [first.state for first in asked] == ["working"] * 3
    assert [reply.say for reply in heard] == [f"This is about {metal}." for metal in words]
    assert [model.words(metal) for metal in words] == [[message] for message in words.values()]


async def test_two_sessions_at_once_never_swap_answers(
    model: ModelStandin, client: Client, amber: Session, birch: Session
) -> None:
    for turn in ("morning", "noon", "night"):
        gates = {name: asyncio.Event() for name in ("amber", "birch")}
        scripts = [
            model.script(f"{turn}{name}", say(f"In the {turn}, {name} speaks.", gate=gate))
            for name, gate in gates.items()
        ]
        slower, faster = (
            asyncio.create_task(client.answer(name, f"It is {turn}{name} now.", wait=20)) for name in gates
        )
        await asyncio.gather(*(script.asked() for script in scripts))
        gates["birch"].set()
        from_birch = await faster
        assert not slower.done()
        gates["amber"].set()
        from_amber = await slower

        assert (from_amber.say, from_amber.session_id) == (f"In the {turn}, amber speaks.", amber.id)
        assert (from_birch.say, from_birch.session_id) == (f"In the {turn}, birch speaks.", birch.id)


async def test_words_typed_at_the_computer_do_not_answer_an_ask(
    stage: Stage, model: ModelStandin, client: Client, amber: Session
) -> None:
    gate = asyncio.Event()
    typed = model.script("typewriter", say("That was for the typewriter.", gate=gate))
    model.answer("cobalt", "That was for the driver.")

    await stage.terminal.type_line(amber, "typewriter please")
    await typed.asked()
    asked = await client.ask("amber", "And the cobalt?", wait=1)
    gate.set()
    reply = (await client.until_settled("amber", asked))[-1]

    assert asked.state == "working"
    assert (reply.state, reply.say) == ("finished", "That was for the driver.")


async def test_a_cleared_conversation_is_followed_to_its_new_id(
    stage: Stage, model: ModelStandin, client: Client, amber: Session
) -> None:
    model.answer("agate", "Agate before.")
    model.answer("onyx", "Onyx after.")
    before = await client.answer("amber", "First agate.")
    old_id = amber.id

    await stage.terminal.type_line(amber, "/clear")
    async with asyncio.timeout(10):
        while amber.id == old_id:
            await asyncio.sleep(0.05)
    after = await client.answer("amber", "Then onyx.")

    assert (before.say, after.say) == ("Agate before.", "Onyx after.")
    assert (before.session_id, after.session_id) == (old_id, amber.id)
    assert model.words("onyx") == ["Then onyx."]
