"""Look after look at a session until there is something to say, with a scripted agent and no waiting."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from gateway.agents.protocol import Mark, Position, View
from gateway.agents.turns import Ending, LastRecord, Prompt, PromptKind, Text, ToolUse, Turn
from gateway.listening import Listener
from gateway.looking import HELD_S, LOST_S, UNSEEN_S, Found, Wanted
from gateway.model import Outcome, Process, Session, State, Status
from gateway.phrases import Phrases
from gateway.speech import Speech
from gateway.store import Claim, Delivery, Store
from gateway.waiting_line import WaitingLine

SESSION = Session("x", "s-1", "demo", "/w", Process(77, "5"), Status.IDLE)
NONCE, OURS = "ab" * 8, "m-1"


class Clock:
    now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def wall(self) -> float:
        return 1e9 + self.now


def place(offset: int, session_id: str = "s-1") -> Mark:
    return Mark(Position(session_id, offset, ""), "")


def turn(
    start: int, answer: str = "", *, ours: bool = False, ending: Ending | None = Ending.DONE, tool: str = ""
) -> Turn:
    prompt = Prompt(PromptKind.PEER, start, "", OURS if ours else "", frozenset({NONCE} if ours else ()))
    texts = (Text(start + 1, start + 5, answer, "u", "m", "end_turn"),) if answer else ()
    tools = (ToolUse("t", tool, {}),) if tool else ()
    last = LastRecord.TEXT if answer else LastRecord.PROMPT
    return Turn(start, start + 10, (prompt,), texts, 0, tools, last, ending)


def view(*turns: Turn, queued: bool = False, quiet_s: float = 9.0, heard_to: int | None = 0) -> View:
    end = turns[-1].end if turns else 0
    return View(
        turns,
        turns[-1] if turns else None,
        Position("s-1", end, ""),
        quiet_s,
        frozenset({NONCE} if queued else ()),
        heard_to,
    )


@dataclass
class Scripted:
    """An agent whose looks were written down beforehand; time passes between them."""

    clock: Clock
    views: list[View]
    step_s: float = 0.5
    session: Session = SESSION
    reports: dict[str, Outcome] = field(default_factory=dict)
    name = "x"

    def follow(self, session: Session) -> "Scripted":
        return self

    async def view(self, since: Mark | None, sent: Mark | None = None) -> View:
        return self.views[0]

    async def position(self, offset: int) -> Position:
        return Position("s-1", offset, "print")

    @asynccontextmanager
    async def changes(self) -> AsyncIterator["Scripted"]:
        yield self

    async def wait(self, timeout_s: float) -> None:
        self.clock.now += self.step_s
        if len(self.views) > 1:
            self.views.pop(0)

    async def look(self, session: Session) -> Session:
        return self.session

    def receipt(self, message_id: str) -> Outcome | None:
        return self.reports.get(message_id)


class Scene:
    """A listener with its store, and a delivery of ours."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self.store, self.clock, self.line = store, clock, WaitingLine()
        self.listener = Listener(store, Speech(Phrases.load("en"), 60), clock, self.line)

    async def delivery(self, outcome: Outcome = Outcome.ACCEPTED) -> Delivery:
        claim = Claim("car", "r", SESSION, OURS, NONCE, "go", place(0), 0.0)
        delivery, _ = await self.store.claim(claim)
        await self.store.record(delivery.id, outcome)
        return replace(delivery, outcome=outcome)

    async def hear(
        self, agent: Scripted, wait_s: float, delivery: Delivery | None = None, **more: object
    ) -> tuple[Found, list[str]]:
        wanted = Wanted(
            agent.session, place(0), delivery, self.clock.now + wait_s, is_ask=delivery is not None
        )
        told: list[str] = []
        async for found in self.listener.listen(agent, replace(wanted, **more)):  # type: ignore[arg-type, type-var]
            if isinstance(found, str):
                told.append(found)
                continue
            return found, told
        raise AssertionError("listening ended without a finding")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def scene(tmp_path: Path, clock: Clock) -> AsyncIterator[Scene]:
    store = Store(tmp_path, clock)
    yield Scene(store, clock)
    store.close()


async def test_it_ends_with_the_first_look_that_has_something_to_say(scene: Scene, clock: Clock) -> None:
    agent = Scripted(
        clock, [view(), view(turn(0, ending=None, tool="Bash")), view(turn(0, "Done.", ours=True))]
    )
    found, _ = await scene.hear(agent, 8, await scene.delivery())
    assert found.said is not None and found.said.sentences == ("Done.",)
    assert (
        found.outcome is Outcome.ANSWERED and found.mark is not None and found.mark.position.print == "print"
    )
    assert clock.now < 1003


async def test_it_ends_at_the_deadline_with_nothing_to_say(scene: Scene, clock: Clock) -> None:
    agent = Scripted(
        clock, [view(turn(0, ending=None, ours=True))], session=replace(SESSION, status=Status.BUSY)
    )
    found, _ = await scene.hear(agent, 3, await scene.delivery())
    assert found.said is None and found.outcome is Outcome.PICKED_UP
    assert 1003 <= clock.now < 1004


async def test_progress_is_told_once_for_each_change(scene: Scene, clock: Clock) -> None:
    one, two = turn(0, ending=None, ours=True, tool="Bash"), turn(0, ending=None, ours=True, tool="Read")
    agent = Scripted(
        clock, [view(one), view(one), view(one), view(two)], session=replace(SESSION, status=Status.BUSY)
    )
    _, told = await scene.hear(agent, 4, await scene.delivery())
    assert len(told) == 2 and told[0] != told[1]


async def test_a_message_without_a_trace_is_unconfirmed_and_then_given_up(scene: Scene, clock: Clock) -> None:
    delivery = await scene.delivery()
    found, told = await scene.hear(Scripted(clock, [view()]), LOST_S + 5, delivery)
    assert found.said is not None and found.said.state is State.ERROR and found.outcome is Outcome.UNKNOWN
    assert any("has not picked it up" in one for one in told)
    assert LOST_S <= clock.now - 1000 < LOST_S + 1 and found.heard_ids == (delivery.id,)


@pytest.mark.parametrize("status", [Status.BUSY, Status.UNKNOWN])
async def test_a_session_that_does_not_rest_is_given_all_the_time(
    scene: Scene, clock: Clock, status: Status
) -> None:
    agent = Scripted(clock, [view()], session=replace(SESSION, status=status))
    found, told = await scene.hear(agent, 60, await scene.delivery())
    assert found.said is None and told


async def test_a_queued_message_is_never_given_up(scene: Scene, clock: Clock) -> None:
    found, _ = await scene.hear(Scripted(clock, [view(queued=True)]), 60, await scene.delivery())
    assert found.said is None and found.outcome is Outcome.ACCEPTED and "first" in found.progress


async def test_a_message_once_picked_up_is_not_called_unknown_because_its_transcript_went_away(
    scene: Scene, clock: Clock
) -> None:
    found, _ = await scene.hear(
        Scripted(clock, [view(heard_to=None)]), 60, await scene.delivery(Outcome.PICKED_UP)
    )
    assert (
        found.said is not None and found.said.state is State.FINISHED and found.outcome is Outcome.PICKED_UP
    )
    assert clock.now - 1000 >= UNSEEN_S


async def test_a_held_message_whose_end_was_not_reported_expires(scene: Scene, clock: Clock) -> None:
    agent = Scripted(clock, [view()], step_s=30.0)
    delivery = await scene.delivery(Outcome.HELD)
    found, _ = await scene.hear(agent, 0, delivery)
    assert found.said is not None and found.said.state is State.NEEDS_ANSWER
    clock.now += HELD_S
    found, _ = await scene.hear(agent, 0, delivery)
    assert found.outcome is Outcome.EXPIRED and found.said is not None and found.said.state is State.ERROR


async def test_a_text_without_a_prompt_is_no_answer_of_ours_while_prompts_are_shown(
    scene: Scene, clock: Clock
) -> None:
    late = replace(turn(20, "Late."), prompts=())
    found, _ = await scene.hear(Scripted(clock, [view(turn(0, "Old."), late)]), 2, await scene.delivery())
    assert found.said is None


async def test_where_no_prompts_are_shown_at_all_what_follows_the_message_is_its_answer(
    scene: Scene, clock: Clock
) -> None:
    agent = Scripted(clock, [view(replace(turn(20, "Bare."), prompts=()))])
    found, _ = await scene.hear(agent, 2, await scene.delivery())
    assert found.said is not None and found.said.sentences == ("Bare.",)


async def test_what_became_of_a_message_is_written_down_once(
    scene: Scene, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[Outcome] = []
    record = scene.store.record

    async def counted(delivery_id: int, outcome: Outcome) -> None:
        written.append(outcome)
        await record(delivery_id, outcome)

    delivery = await scene.delivery()
    monkeypatch.setattr(scene.store, "record", counted)
    running, over = turn(0, ending=None, ours=True), turn(0, "Done.", ours=True)
    agent = Scripted(clock, [view(running)] * 10 + [view(over)], session=replace(SESSION, status=Status.BUSY))
    await scene.hear(agent, 20, delivery)
    assert written == [Outcome.PICKED_UP, Outcome.ANSWERED]


async def test_a_message_that_is_held_back_here_is_said_to_wait(scene: Scene, clock: Clock) -> None:
    delivery = await scene.delivery(Outcome.UNKNOWN)
    scene.line.held.add(delivery.id)
    found, told = await scene.hear(Scripted(clock, [view(turn(0, "Old."))]), 60, delivery)
    assert found.said is None and found.outcome is None and "first" in told[0]
    scene.line.held.discard(delivery.id)
    scene.line.let_go(delivery.id, Outcome.FAILED)
    found, _ = await scene.hear(Scripted(clock, [view()]), 0, delivery)
    assert found.outcome is Outcome.FAILED and found.said is not None and found.said.state is State.ERROR


@pytest.mark.parametrize(
    ("last", "is_over"),
    [
        (view(turn(0, "Done.", ours=True)), True),
        (view(turn(0, "", ours=True)), True),
        (view(turn(0, "", ours=True, ending=Ending.API_ERROR)), True),
        (view(turn(0, "x", ours=True, ending=Ending.AGENTS_PENDING), quiet_s=0.0), False),
        (view(turn(0, "Old."), queued=True), False),
    ],
)
async def test_when_the_next_message_may_go(scene: Scene, clock: Clock, last: View, is_over: bool) -> None:
    looks = 0
    agent = Scripted(clock, [last])

    async def wait(timeout_s: float) -> None:
        nonlocal looks
        looks += 1
        if looks > 5:
            raise TimeoutError

    agent.wait = wait  # type: ignore[method-assign]
    delivery = await scene.delivery()
    if is_over:
        await scene.listener.until_over(agent, delivery)
    else:
        with pytest.raises(TimeoutError):
            await scene.listener.until_over(agent, delivery)


async def test_an_answer_that_was_told_is_not_told_again_because_its_delivery_is_open(
    scene: Scene, clock: Clock
) -> None:
    delivery = await scene.delivery()
    agent = Scripted(clock, [view(turn(0, "Done.", ours=True), heard_to=10)])
    found, _ = await scene.hear(agent, 0, delivery, is_ask=False, waiting=(delivery,))
    assert found.said is not None and found.said.sentences == ("Nothing new.",)
    assert found.heard_ids == (delivery.id,)
    again, _ = await scene.hear(agent, 0, delivery)
    assert again.said is not None and again.said.sentences == ("Done.",), (
        "who asks again gets the answer again"
    )
