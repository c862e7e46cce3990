"""One look at a session: what there is to say now, and what became of the wanted message. Pure.

The answer belongs to the turn in which the transcript took our message in; what an earlier
turn said is not it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gateway.agents.protocol import Mark, Position, View
from gateway.agents.turns import Ending, PromptKind, Turn
from gateway.model import Outcome, Question, QuestionKind, Session, State, Status
from gateway.progress import describe
from gateway.speech import Said, Speech
from gateway.store import Delivery
from gateway.verdict import QUIET_S, Situation, has_ended, waiting_for

UNSEEN_S = 3.0
"""After this long without a trace of a message in the session it is probably lost (CLI 2.1.332)."""

LOST_S = 10.0
"""After this long without a trace, in a session that rests, that is said."""

HELD_S = 310.0
"""A session lets go of a held message after exactly 300 s (CLI 2.1.332); its report of that can be missed."""

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
    """What one look found. `said` None: the session still works, `progress` says at what.

    `mark` is behind what is told, None where nothing is; `here` is where the client stands in this
    transcript: at its mark, without one behind everything that is over. `is_over`: nothing more
    will come of the wanted message. `is_next`: nothing that was not heard stands before what is
    told, so that the client's mark may move there.
    """

    session: Session
    said: Said | None
    progress: str
    mark: Mark | None
    here: Mark
    outcome: Outcome | None
    heard_ids: tuple[int, ...] = ()
    is_over: bool = False
    is_next: bool = True


@dataclass(frozen=True, slots=True)
class Look:
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
        if self.wanted.delivery is not None and self.wanted.delivery.outcome is Outcome.FAILED:
            return self.not_sent()
        own = self._own_turn()
        outcome = self._outcome(own, receipt, age_s)
        ready = self._ready(own)
        if ready:
            return self._tell(ready, own, outcome)
        last = self._last()
        waiting = waiting_for(last)
        if waiting is not None:
            return self._found(self.speech.of_waiting(waiting, last.turn), outcome)
        if self.wanted.delivery is not None and own is None:
            return self._not_taken(outcome, age_s)
        if self._works(last):
            return self._found(None, outcome, describe(last, self.speech.phrases))
        return self._nothing(outcome)

    def judge_held(self) -> Found:
        """Our message waits here for an earlier one: what that one waits for is worth telling."""
        if not self.wanted.is_ask and (ready := self._ready(None)):
            return self._tell(ready, None, None)
        last = self._last()
        waiting = waiting_for(last)
        if waiting is not None:
            return self._found(self.speech.of_waiting(waiting, last.turn), None)
        return self._found(None, None, self.speech.say("working_queued") + ".")

    def not_sent(self) -> Found:
        """Nothing of our message left us: the session could not be reached."""
        return self._given_up(self.speech.say("session_unreachable", name=self.session.name), Outcome.FAILED)

    def _last(self) -> Situation:
        return Situation(self.session, self.view.last, self.view.quiet_s)

    def _works(self, last: Situation) -> bool:
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
        if self._is_queued() or self.view.quiet_s < QUIET_S or any(turn.prompts for turn in self.view.turns):
            return None
        # A transcript that shows no prompts at all: what begins after sending can only be ours.
        sent_at = delivery.mark.position.offset
        return next((turn for turn in self.view.turns if turn.start >= sent_at), None)

    def _outcome(self, own: Turn | None, receipt: Outcome | None, age_s: float) -> Outcome | None:
        delivery = self.wanted.delivery
        if delivery is None:
            return None
        if delivery.outcome.is_final:
            return delivery.outcome
        if own is not None:
            if self._is_over(own) and own.answer(self._joined_at(own)):
                return Outcome.ANSWERED
            return Outcome.JOINED_RUNNING_TURN if self._is_absorbed(own) else Outcome.PICKED_UP
        if receipt is None and delivery.outcome is Outcome.HELD and age_s >= HELD_S:
            return Outcome.EXPIRED
        if receipt is not None:
            return receipt
        is_waiting = delivery.outcome in (Outcome.UNKNOWN, Outcome.HELD) and self._is_queued()
        return Outcome.ACCEPTED if is_waiting else delivery.outcome

    def _is_over(self, turn: Turn) -> bool:
        is_last = self.view.last is not None and turn.start == self.view.last.start
        return not is_last or has_ended(self._last())

    def _unheard(self, own: Turn | None) -> Sequence[Turn]:
        """The turns in which there may be something that this client has not heard, oldest first.

        A client that never listened, or whose place the transcript does not hold any more, begins
        with the wanted turn, else with the last one.
        """
        if self.view.heard_to is not None:
            return self.view.turns
        first = own or self.view.last
        return [turn for turn in self.view.turns if first is None or turn.start >= first.start]

    def _heard_to(self) -> int:
        return self.view.heard_to or 0

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
        ready: list[Turn] = []
        for turn in self._unheard(own):
            if turn is not own:
                ready += [turn] if self._is_over(turn) and self._is_news(turn) else []
            elif not is_over:
                return ready
            elif self.wanted.is_ask or turn.end > self._heard_to():
                return [*ready, turn]
        return ready

    def _is_news(self, turn: Turn) -> bool:
        after = self._heard_to()
        if turn.answer(after):
            return True
        has_failed = turn.ending in (Ending.API_ERROR, Ending.INTERRUPTED)
        has_died = turn.ending is None and self.session.status is Status.GONE
        return turn.end > after and (has_failed or has_died)

    def _tell(self, ready: Sequence[Turn], own: Turn | None, outcome: Outcome | None) -> Found:
        main = ready[-1]
        own = main if main is own else None
        said = self.speech.of_turn(main, self.session, self._told_from(main, own))
        notes: list[str] = []
        if own is not None and self._is_absorbed(own):
            notes.append(self.speech.say("joined_running"))
        elif own is not None and len(own.prompts) > 1:
            notes.append(self.speech.say("shared_answer"))
        before = [self.speech.of_turn(turn, self.session, self._heard_to()) for turn in ready[:-1]]
        if self.wanted.is_ask:
            notes = ([self.speech.earlier(before)] if before else []) + notes
            said = replace(said, sentences=(*notes, *said.sentences))
        else:
            told = [sentence for earlier in before for sentence in earlier.sentences]
            said = replace(said, sentences=(*told, *notes, *said.sentences))
        found = self._found(said, outcome, told=ready)
        return replace(found, is_over=own is not None, is_next=self._is_next(main))

    def _is_next(self, main: Turn) -> bool:
        if not self.wanted.is_exact or self.view.heard_to is None:
            return True
        skipped = any(self._is_news(turn) for turn in self.view.turns if turn.start < main.start)
        return main.end > self.view.heard_to and not skipped

    def _told_from(self, turn: Turn, own: Turn | None) -> int:
        """The offset in this turn from which on it is told; an answer of our own is told whole."""
        joined_at = self._joined_at(turn) if own is not None else 0
        heard_to = self._heard_to()
        is_told_again = self.wanted.is_exact or (own is not None and not turn.answer(heard_to))
        return joined_at if is_told_again else max(joined_at, heard_to)

    def _joined_at(self, own: Turn) -> int:
        """Where our message came into a turn that was running already; 0 where it began the turn."""
        delivery = self.wanted.delivery
        prompt = own.took(delivery.message_id, delivery.nonce) if delivery else None
        return prompt.offset if prompt is not None and prompt.kind is PromptKind.ABSORBED else 0

    def _is_absorbed(self, own: Turn) -> bool:
        return self._joined_at(own) > 0

    def _not_taken(self, outcome: Outcome | None, age_s: float) -> Found:
        """Our message is in no turn yet: it waits, it was turned down, or nobody saw it."""
        if outcome in _NOT_TAKEN:
            return self._given_up(self.speech.say(_NOT_TAKEN[outcome]), outcome)
        if outcome is Outcome.HELD:
            text = self.speech.say("held")
            asked = Question(QuestionKind.PERMISSION, text)
            return self._found(Said(State.NEEDS_ANSWER, (text,), asked), outcome)
        if self.session.status is Status.GONE:
            return self._given_up(self.speech.say("ended", name=self.session.name), outcome)
        if outcome is Outcome.ACCEPTED and self._is_queued():
            return self._found(None, outcome, self.speech.say("working_queued") + ".")
        if age_s < UNSEEN_S:
            return self._found(None, outcome)
        if outcome in (Outcome.PICKED_UP, Outcome.JOINED_RUNNING_TURN):
            # It was seen in a transcript that is not there any more.
            return self._nothing(outcome)
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
        wanted = self.wanted.delivery
        return replace(found, heard_ids=(wanted.id,) if wanted else (), is_over=True)

    def _found(
        self, said: Said | None, outcome: Outcome | None, progress: str = "", told: Sequence[Turn] = ()
    ) -> Found:
        mark = self._mark(told[-1].end, told[-1].record_id) if told else None
        return Found(self.session, said, progress, mark, self._here(), outcome, self._heard_ids(told))

    def _mark(self, offset: int, record_id: str) -> Mark:
        return Mark(Position(self.session.id, offset, ""), record_id)

    def _here(self) -> Mark:
        last = self.view.last
        if self.view.heard_to is not None:
            return self._mark(self.view.heard_to, "")
        if last is not None and not has_ended(self._last()):
            return self._mark(last.start, "")
        return self._mark(self.view.end.offset, last.record_id if last else "")

    def _heard_ids(self, told: Sequence[Turn]) -> tuple[int, ...]:
        """Our waiting messages whose turns are told now, or were before."""
        wanted = self.wanted.delivery
        heard_to = self.view.heard_to or 0
        before = [turn for turn in self.view.turns if turn.end <= heard_to and self._is_over(turn)]
        own = self._own_turn() if told else None
        return tuple(
            delivery.id
            for delivery in {d.id: d for d in (*self.wanted.waiting, *([wanted] if wanted else []))}.values()
            if any(turn.took(delivery.message_id, delivery.nonce) for turn in (*told, *before))
            or (delivery is wanted and own is not None and any(turn is own for turn in told))
        )
