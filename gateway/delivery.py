"""Delivers a message at most once: claim it in the ledger, write it to the inbox, record what was seen.

A crash between claim and record leaves the outcome `unknown`, which is said as such
and never sent again by itself. The work belongs to this object, not to the request:
a client that hangs up does not tear a message in half.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from gateway import notes
from gateway.agents.protocol import Agent, Message, Sent
from gateway.errors import Unavailable
from gateway.listening import Listener
from gateway.model import Outcome
from gateway.store import Claim, Delivery, Heard, Store
from gateway.waiting_line import WaitingLine


class Courier:
    """Sends messages and keeps the ledger."""

    def __init__(self, store: Store, listener: Listener, line: WaitingLine) -> None:
        self._store = store
        self._listener = listener
        self._line = line
        self._sending: dict[int, asyncio.Task[Outcome]] = {}
        self._delivering: set[asyncio.Task[Delivery]] = set()

    async def deliver(self, agent: Agent, claim: Claim, note_lines: Sequence[str]) -> Delivery:
        """Deliver once; the delivery that this claim became, or that it joins.

        Raises Conflict for an id that was used for something else, Unavailable where nothing
        could be sent (then it was not, and can be asked again).
        """
        task = asyncio.create_task(self._deliver(agent, claim, note_lines), name="deliver")
        self._delivering.add(task)
        task.add_done_callback(self._delivering.discard)
        return await asyncio.shield(task)

    async def _deliver(self, agent: Agent, claim: Claim, note_lines: Sequence[str]) -> Delivery:
        delivery, is_new = await self._store.claim(claim)
        if is_new:
            content = notes.compose(claim.words, claim.nonce, note_lines)
            message = Message(claim.message_id, content, claim.nonce)
            ahead = await self._store.unsettled(delivery)
            if ahead:
                self._line.held.add(delivery.id)
            sending = asyncio.create_task(self._send_after(ahead, agent, delivery, message), name="send")
            self._sending[delivery.id] = sending
            sending.add_done_callback(lambda _: self._sending.pop(delivery.id, None))
            outcome = delivery.outcome if ahead else await sending
        elif delivery.id in self._sending and delivery.id not in self._line.held:
            outcome = await asyncio.shield(self._sending[delivery.id])
        else:
            outcome = delivery.outcome
        if outcome is Outcome.FAILED:
            # This request tells it; only what fails after its turn came is still to be told.
            await self._store.heard(Heard(claim.client, delivery_ids=(delivery.id,)))
            raise Unavailable("session_unreachable", {"name": claim.session.name})
        return replace(delivery, outcome=outcome)

    async def _send_after(
        self, ahead: Sequence[Delivery], agent: Agent, delivery: Delivery, message: Message
    ) -> Outcome:
        """Send once nothing more will come of what is ahead, so that the message gets a turn of its own."""
        try:
            for earlier in ahead:
                await self._listener.until_over(agent, earlier)
                await self._store.settle(earlier.id)
            outcome = await self._send(agent, delivery, message)
            if ahead:
                self._line.let_go(delivery.id, outcome)
            return outcome
        except asyncio.CancelledError:
            if delivery.id in self._line.held:
                await asyncio.shield(self._store.record(delivery.id, Outcome.FAILED))
            raise
        finally:
            self._line.held.discard(delivery.id)

    async def _send(self, agent: Agent, delivery: Delivery, message: Message) -> Outcome:
        sent = await agent.send(delivery.session, message)
        outcome = {
            Sent.NOT_WRITTEN: Outcome.FAILED,
            Sent.WRITTEN: Outcome.ACCEPTED,
            Sent.BROKEN: Outcome.UNKNOWN,
        }[sent]
        await self._store.record(delivery.id, outcome)
        return outcome

    async def close(self) -> None:
        """Let messages that are on their way arrive; those held back are not sent any more."""
        for delivery_id, sending in list(self._sending.items()):
            if delivery_id in self._line.held:
                sending.cancel()
        await asyncio.gather(*self._delivering, *self._sending.values(), return_exceptions=True)
