"""Listens to one session until there is something to say, or the wait is over.

What there is to say is decided from the transcript: the answer belongs to the turn
in which the transcript took our message in, and what an earlier turn said is not it.
"""

import math
from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from gateway.agents.protocol import Agent, Mark, Position, View
from gateway.agents.turns import Ending, PromptKind, Turn
from gateway.clock import Clock
from gateway.model import Outcome, Question, QuestionKind, Session, State, Status
from gateway.progress import describe
from gateway.speech import Said, Speech
from gateway.store import Delivery, Store
from gateway.verdict import QUIET_S, Situation, has_ended, waiting_for
from gateway.waiting_line import WaitingLine

UNSEEN_S = 3.0
"""After this long without a trace of a message in the session it is probably lost (CLI 2.1.332)."""

LOST_S = 10.0
"""After this long without a trace, in a session that rests, that is said."""

_AGES_KEPT = 1024
_NOT_TAKEN = {
    Outcome.DENIED: "denied",
    Outcome.EXPIRED: "expired",
    Outcome.REFUSED: "refused",
    Outcome.DROPPED: "dropped",
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is listened for.

    `mark` is where the client stopped listening (None: it never listened, so only the last
    turn counts). `delivery` is the message whose answer is wanted, `waiting` are this client's
    others; `is_exact` leaves out everything but that answer, and so does `is_fresh` for a
    client that begins to listen with this ask. `deadline` is on the monotonic clock.
    """

    session: Session
    mark: Mark | None
    delivery: Delivery | None
    deadline: float
    waiting: tuple[Delivery, ...] = ()
    is_exact: bool = False
    is_ask: bool = False
    is_fresh: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """What listening ended with. `said` None: the session still works, `progress` says at what."""

    session: Session
    said: Said | None
    progress: str
    mark: Mark | None
    outcome: Outcome | None
    heard_ids: tuple[int, ...] = ()
    is_over: bool = False


class Listener:
    """Follows sessions for the dialog."""

    def __init__(self, store: Store, speech: Speech, clock: Clock, line: WaitingLine) -> None:
        self._store = store
        self._line = line
        self._speech = speech
        self._clock = clock
        self._first_looked: OrderedDict[int, float] = OrderedDict()

    async def listen(self, agent: Agent, wanted: Wanted) -> AsyncIterator[str | Found]:
        """Progress sentences while the session works, then what was found."""
        told = ""
        async with aclosing(self._looks(agent, wanted)) as looks:
            async for found in looks:
                if found.said is not None or self._clock.monotonic() >= wanted.deadline:
                    yield found
                    return
                if found.progress and found.progress != told:
                    told = found.progress
                    yield told

    async def until_over(self, agent: Agent, delivery: Delivery) -> None:
        """Return once nothing more will come of a message: its turn ended, or it was given up."""
        wanted = Wanted(delivery.session, None, delivery, deadline=math.inf, is_exact=True)
        async with aclosing(self._looks(agent, wanted)) as looks:
            async for found in looks:
                if found.is_over:
                    return

    async def _looks(self, agent: Agent, wanted: Wanted) -> AsyncGenerator[Found, None]:
        """One finding after the other, each time that something changed."""
        session = wanted.session
        while True:
            follower = agent.follow(session)
            async with follower.changes() as changes:
                while True:
                    look = _Look(self._speech, wanted, session, await follower.view(_since(wanted, session)))
                    found = await self._judge(agent, look)
                    if found.mark is not None:
                        position = await follower.position(found.mark.position.offset)
                        found = replace(found, mark=replace(found.mark, position=position))
                    yield found
                    left_s = wanted.deadline - self._clock.monotonic()
                    await changes.wait(max(0.0, min(left_s, look.next_look_s())))
                    now = await agent.look(session)
                    if now.id != session.id:
                        session = now
                        break
                    session = now

    async def _judge(self, agent: Agent, look: "_Look") -> Found:
        delivery = look.wanted.delivery
        if delivery is not None and delivery.id in self._line.held:
            return look.judge_held()
        if delivery is not None and delivery.id in self._line.failed:
            return look.not_sent()
        receipt = agent.receipt(delivery.message_id) if delivery else None
        age_s = self._age_s(delivery) if delivery else 0.0
        found = look.judge(receipt, age_s)
        if delivery and found.outcome and found.outcome is not delivery.outcome:
            await self._store.record(delivery.id, found.outcome)
        return found

    def _age_s(self, delivery: Delivery) -> float:
        """How long this message has been listened for, on the clock that does not jump."""
        now = self._clock.monotonic()
        first = self._first_looked.setdefault(delivery.id, now)
        while len(self._first_looked) > _AGES_KEPT:
            self._first_looked.popitem(last=False)
        return now - first


def _since(wanted: Wanted, session: Session) -> Mark | None:
    """From where to look: where the client stopped, or where the message was sent, if that is earlier."""
    if wanted.delivery is None:
        return wanted.mark
    sent = wanted.delivery.mark
    if sent.position.session_id != session.id:
        # The conversation in the process changed after sending: its file is looked through from the start.
        return Mark(Position.start_of(session.id), "")
    mark = wanted.mark
    if mark is None or wanted.is_exact or mark.position.session_id != session.id:
        return sent
    return mark if mark.position.offset < sent.position.offset else sent


@dataclass(frozen=True, slots=True)
class _Look:
    """One look at the session, judged without touching anything."""

    speech: Speech
    wanted: Wanted
    session: Session
    view: View

    def next_look_s(self) -> float:
        """When quiet alone may have settled the turn."""
        left_s = QUIET_S - self.view.quiet_s
        return left_s if left_s > 0 else QUIET_S

    def judge(self, receipt: Outcome | None, age_s: float) -> Found:
        """What is to be said now, and what became of the message."""
        own = self._own_turn()
        outcome = self._outcome(own, receipt)
        last = self._situation(self.view.turns[-1] if self.view.turns else None)
        ready = self._ready(own)
        if ready:
            return self._tell(ready, own, outcome)
        waiting = waiting_for(last)
        if waiting is not None:
            said = self.speech.of_waiting(waiting, last.turn)
            return self._found(said, outcome)
        if self.wanted.delivery is not None and own is None:
            return self._not_taken(outcome, age_s)
        if self._works(last):
            return self._found(None, outcome, describe(last, self.speech.phrases))
        return self._nothing(outcome)

    def judge_held(self) -> Found:
        """Our message waits here for an earlier one: what that one waits for is worth telling."""
        if not self.wanted.is_ask and (ready := self._ready(None)):
            return self._tell(ready, None, None)
        last = self._situation(self.view.turns[-1] if self.view.turns else None)
        waiting = waiting_for(last)
        if waiting is not None:
            return self._found(self.speech.of_waiting(waiting, last.turn), None)
        return self._found(None, None, self.speech.say("working_queued") + ".")

    def not_sent(self) -> Found:
        """Our message was held back here, and when its turn came the session could not be reached."""
        return self._given_up(self.speech.say("session_unreachable", name=self.session.name), Outcome.FAILED)

    def _situation(self, turn: Turn | None) -> Situation:
        return Situation(self.session, turn, self.view.quiet_s)

    def _works(self, last: Situation) -> bool:
        if self.session.status is Status.GONE:
            return last.turn is not None and not has_ended(last)
        if last.turn is not None and not has_ended(last):
            return True
        return self.session.status in (Status.BUSY, Status.WAITING)

    def _own_turn(self) -> Turn | None:
        """The turn that took the wanted message in."""
        delivery = self.wanted.delivery
        if delivery is None:
            return None
        for turn in self.view.turns:
            if turn.took(delivery.message_id, delivery.nonce):
                return turn
        # A transcript that shows no prompts at all: what begins after sending can only be ours.
        sent_at = delivery.mark.position.offset
        return next((turn for turn in self.view.turns if not turn.prompts and turn.start >= sent_at), None)

    def _outcome(self, own: Turn | None, receipt: Outcome | None) -> Outcome | None:
        delivery = self.wanted.delivery
        if delivery is None:
            return None
        if delivery.outcome.is_final:
            return delivery.outcome
        if own is not None:
            prompt = own.took(delivery.message_id, delivery.nonce)
            if self._is_over(own) and own.answer(prompt.offset if prompt else 0):
                return Outcome.ANSWERED
            is_joined = prompt is not None and prompt.kind is PromptKind.ABSORBED
            return Outcome.JOINED_RUNNING_TURN if is_joined else Outcome.PICKED_UP
        if receipt is not None:
            return receipt
        return Outcome.ACCEPTED if delivery.nonce in self.view.queued else delivery.outcome

    def _is_over(self, turn: Turn) -> bool:
        return turn is not self.view.turns[-1] or has_ended(self._situation(turn))

    def _after(self) -> int:
        """The offset up to which this client has heard this transcript."""
        mark = self.wanted.mark
        if mark is None or self.wanted.is_exact or self.view.restarted:
            return 0
        if mark.position.session_id == self.session.id:
            return mark.position.offset
        # A copy of the conversation under a new id: the place was found by its last record.
        return self.view.after if self.wanted.delivery is None else 0

    def _ready(self, own: Turn | None) -> Sequence[Turn]:
        """The turns to tell: those that are over and were not heard, up to the wanted one.

        An answer to an ask waits for its own turn; who asks what is new gets what there is.
        """
        is_over = own is not None and self._is_over(own)
        if self.wanted.is_exact or self.wanted.is_ask:
            if own is None or not is_over:
                return ()
            if self.wanted.is_exact or self.wanted.is_fresh:
                return (own,)
        after = self._after()
        ready: list[Turn] = []
        for turn in self.view.turns:
            if turn is own:
                return [*ready, turn] if is_over else ready
            if self._is_over(turn) and self._is_news(turn, after):
                ready.append(turn)
        return ready

    def _is_news(self, turn: Turn, after: int) -> bool:
        if turn.answer(after):
            return True
        has_failed = turn.ending in (Ending.API_ERROR, Ending.INTERRUPTED)
        has_died = turn.ending is None and self.session.status is Status.GONE
        return turn.end > after and (has_failed or has_died)

    def _tell(self, ready: Sequence[Turn], own: Turn | None, outcome: Outcome | None) -> Found:
        after = self._after()
        main = ready[-1]
        own = main if main is own else None
        said = self.speech.of_turn(main, self.session, self._own_after(main, after))
        notes: list[str] = []
        if own is not None and self._is_absorbed(own):
            notes.append(self.speech.say("joined_running"))
        elif own is not None and len(own.prompts) > 1:
            notes.append(self.speech.say("shared_answer"))
        before = [self.speech.of_turn(turn, self.session, after) for turn in ready if turn is not main]
        if self.wanted.is_ask:
            notes = [self.speech.earlier(earlier) for earlier in before[-1:]] + notes
            said = replace(said, sentences=(*notes, *said.sentences))
        else:
            told = [sentence for earlier in before for sentence in earlier.sentences]
            said = replace(said, sentences=(*told, *notes, *said.sentences))
        return replace(self._found(said, outcome, told=ready), is_over=own is not None)

    def _own_after(self, turn: Turn, after: int) -> int:
        delivery = self.wanted.delivery
        prompt = turn.took(delivery.message_id, delivery.nonce) if delivery else None
        is_joined = prompt is not None and prompt.kind is PromptKind.ABSORBED
        return max(after, prompt.offset) if prompt is not None and is_joined else after

    def _is_absorbed(self, own: Turn) -> bool:
        delivery = self.wanted.delivery
        prompt = own.took(delivery.message_id, delivery.nonce) if delivery else None
        return prompt is not None and prompt.kind is PromptKind.ABSORBED

    def _mark(self, turn: Turn) -> Mark:
        record_id = turn.texts[-1].record_id if turn.texts else ""
        return Mark(Position(self.session.id, turn.end, ""), record_id)

    def _not_taken(self, outcome: Outcome | None, age_s: float) -> Found:
        """Our message is in no turn yet: it waits, it was turned down, or nobody saw it."""
        name = self.session.name
        if outcome in _NOT_TAKEN:
            return self._given_up(self.speech.say(_NOT_TAKEN[outcome]), outcome)
        if outcome is Outcome.HELD:
            text = self.speech.say("held")
            asked = Question(QuestionKind.PERMISSION, text)
            return self._found(Said(State.NEEDS_ANSWER, (text,), asked), outcome)
        if self.session.status is Status.GONE:
            return self._given_up(self.speech.say("ended", name=name), outcome)
        if outcome is Outcome.ACCEPTED and self._is_queued():
            return self._found(None, outcome, self.speech.say("working_queued") + ".")
        if age_s < UNSEEN_S:
            return self._found(None, outcome)
        if age_s >= LOST_S and self.session.status.is_resting:
            return self._given_up(self.speech.say("unknown_delivery"), Outcome.UNKNOWN)
        return self._found(None, outcome, self.speech.say("unconfirmed"))

    def _is_queued(self) -> bool:
        return self.wanted.delivery is not None and self.wanted.delivery.nonce in self.view.queued

    def _nothing(self, outcome: Outcome | None) -> Found:
        return self._found(Said(State.FINISHED, (self.speech.say("nothing_new"),)), outcome)

    def _given_up(self, sentence: str, outcome: Outcome | None) -> Found:
        """Nothing more will come of our message; once that is heard it is not waited for any more."""
        found = self._found(Said(State.ERROR, (sentence,)), outcome)
        return replace(found, heard_ids=self._delivery_ids(), is_over=True)

    def _found(
        self, said: Said | None, outcome: Outcome | None, progress: str = "", told: Sequence[Turn] = ()
    ) -> Found:
        mark = self._mark(told[-1]) if told else None
        return Found(self.session, said, progress, mark, outcome, self._delivery_ids(told))

    def _delivery_ids(self, told: Sequence[Turn] | None = None) -> tuple[int, ...]:
        """Our waiting messages that stand in the told turns; without turns the wanted one."""
        wanted = self.wanted.delivery
        if told is None:
            return () if wanted is None else (wanted.id,)
        mine = [*self.wanted.waiting, *([wanted] if wanted else [])]
        own = self._own_turn()
        return tuple(
            delivery.id
            for delivery in mine
            if any(turn.took(delivery.message_id, delivery.nonce) for turn in told)
            or (delivery is wanted and own is not None and own in told)
        )
