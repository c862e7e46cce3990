"""Which messages the inbox lets in: no repeat of a sender's last one, and not too many at once.

Rules of CLI 2.1.332, observed: content identical to the sender's previous message is dropped for
30 s after the last accepted one, and dropped copies do not extend that; a burst of 30 passes, then
one per 2 s. Receipts for drops are throttled: the first goes out at once, what is dropped within
the next 5 s shares one receipt at their end. Times are monotonic seconds, given by the caller.
"""

from dataclasses import dataclass, field
from enum import StrEnum

REPEAT_WINDOW_S = 30.0
RECEIPT_INTERVAL_S = 5.0
_BURST = 30
_REFILL_PER_S = 0.5
_SENDERS_LIMIT = 256


class Drop(StrEnum):
    """Why a message was not let in."""

    DUPLICATE = "duplicate"
    RATE_LIMITED = "rate-limited"


@dataclass(slots=True)
class _Sender:
    content: str | None = None
    accepted_s: float = 0.0
    allowance: float = float(_BURST)
    seen_s: float = 0.0


@dataclass(slots=True)
class Admission:
    """Remembers each sender's last message and pace. Senders without an address share one place."""

    _senders: dict[str | None, _Sender] = field(default_factory=dict)

    def judge(self, sender: str | None, content: str, now_s: float) -> Drop | None:
        """None lets the message in, and remembers it as the sender's last one."""
        known = self._known(sender, now_s)
        known.allowance = min(_BURST, known.allowance + (now_s - known.seen_s) * _REFILL_PER_S)
        known.seen_s = now_s
        if content == known.content and now_s - known.accepted_s < REPEAT_WINDOW_S:
            return Drop.DUPLICATE
        if known.allowance < 1:
            return Drop.RATE_LIMITED
        known.allowance -= 1
        known.content, known.accepted_s = content, now_s
        return None

    def _known(self, sender: str | None, now_s: float) -> _Sender:
        if sender not in self._senders and len(self._senders) >= _SENDERS_LIMIT:
            self._senders.pop(min(self._senders, key=lambda name: self._senders[name].seen_s))
        return self._senders.setdefault(sender, _Sender(seen_s=now_s))
