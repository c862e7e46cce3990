"""Listens to one session until there is something to say, or the wait is over."""

import math
from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import replace

from gateway.agents.protocol import Agent, Follower
from gateway.clock import Clock
from gateway.looking import Found, Look, Wanted
from gateway.model import Outcome
from gateway.speech import Speech
from gateway.store import Delivery, Store
from gateway.waiting_line import WaitingLine

__all__ = ["Found", "Listener", "Wanted"]

_AGES_KEPT = 1024


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
        # What the ledger keeps of a session does not say whether it runs.
        session = await agent.look(delivery.session)
        wanted = Wanted(session, None, delivery, deadline=math.inf, is_exact=True)
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
                    sent = wanted.delivery.mark if wanted.delivery else None
                    look = Look(self._speech, wanted, session, await follower.view(wanted.mark, sent))
                    found = await _placed(follower, self._judge(agent, look))
                    wanted = await self._noted(wanted, found)
                    yield found
                    left_s = wanted.deadline - self._clock.monotonic()
                    await changes.wait(max(0.0, min(left_s, look.next_look_s())))
                    now = await agent.look(session)
                    if now.id != session.id:
                        session = now
                        break
                    session = now

    def _judge(self, agent: Agent, look: Look) -> Found:
        delivery = look.wanted.delivery
        if delivery is not None and delivery.id in self._line.held:
            return look.judge_held()
        if delivery is not None and delivery.id in self._line.sent and delivery.outcome is Outcome.UNKNOWN:
            delivery = replace(delivery, outcome=self._line.sent[delivery.id])
            look = replace(look, wanted=replace(look.wanted, delivery=delivery))
        receipt = agent.receipt(delivery.message_id) if delivery else None
        return look.judge(receipt, self._age_s(delivery) if delivery else 0.0)

    async def _noted(self, wanted: Wanted, found: Found) -> Wanted:
        """Write down what became of the message, once for each change."""
        delivery, outcome = wanted.delivery, found.outcome
        if delivery is None or outcome is None or outcome is delivery.outcome:
            return wanted
        await self._store.record(delivery.id, outcome)
        return replace(wanted, delivery=replace(delivery, outcome=outcome))

    def _age_s(self, delivery: Delivery) -> float:
        """How long this message has been listened for, on the clock that does not jump."""
        now = self._clock.monotonic()
        first = self._first_looked.setdefault(delivery.id, now)
        while len(self._first_looked) > _AGES_KEPT:
            self._first_looked.popitem(last=False)
        return now - first


async def _placed(follower: Follower, found: Found) -> Found:
    """The same with its marks bound to the transcript as it is now."""
    here = replace(found.here, position=await follower.position(found.here.position.offset))
    if found.mark is None:
        return replace(found, here=here)
    mark = replace(found.mark, position=await follower.position(found.mark.position.offset))
    return replace(found, here=here, mark=mark)
