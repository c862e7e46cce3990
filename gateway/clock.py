"""Time as a value, so that tests need not wait for it.

Waiting is measured on the monotonic clock only: a wall clock that jumps an hour
must neither end a wait nor stretch it.
"""

import time
from typing import Protocol


class Clock(Protocol):
    """Where the service reads the time."""

    def monotonic(self) -> float:
        """Seconds that only grow."""

    def wall(self) -> float:
        """Seconds since the epoch; may jump."""


class SystemClock:
    """The machine's own clocks."""

    def monotonic(self) -> float:
        return time.monotonic()

    def wall(self) -> float:
        return time.time()
