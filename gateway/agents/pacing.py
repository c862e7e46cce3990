"""Keeps messages to one session apart, so that none is lost to its inbox's rate limit.

The CLI takes a burst of 30 and then about one message per 2 s, and drops the rest
mostly without a word (observed on 2.1.332). We stay far below: a few at once, then one per 2 s.
"""

import asyncio

from gateway.clock import Clock, SystemClock

BURST = 4
PER_MESSAGE_S = 2.0


class Pacing:
    """A token bucket per session process."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._free_at: dict[str, float] = {}

    def delay_s(self, key: str) -> float:
        """Take the next place for this session and say in how many seconds it comes up."""
        now = self._clock.monotonic()
        floor = now - (BURST - 1) * PER_MESSAGE_S
        due = max(self._free_at.get(key, floor), floor)
        self._free_at[key] = due + PER_MESSAGE_S
        self._free_at = {k: at for k, at in self._free_at.items() if k == key or at > floor}
        return max(0.0, due - now)

    async def turn(self, key: str) -> None:
        """Wait until it is this message's turn."""
        delay_s = self.delay_s(key)
        if delay_s > 0:
            await asyncio.sleep(delay_s)
