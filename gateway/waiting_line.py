"""Which messages are held back here, because an earlier one of ours is not settled in the same session.

The CLI takes everything that waits into one turn with one answer, so a message that is to
get an answer of its own must not wait there (observed on 2.1.332). Held messages live in
memory only: a kill leaves them unsent, and their outcome `unknown` in the ledger.
"""

from collections import OrderedDict
from dataclasses import dataclass, field

from gateway.model import Outcome

_KEPT = 256


@dataclass(slots=True)
class WaitingLine:
    """Ids of deliveries that are held back, and what became of those whose turn came."""

    held: set[int] = field(default_factory=set)
    sent: OrderedDict[int, Outcome] = field(default_factory=OrderedDict)

    def let_go(self, delivery_id: int, outcome: Outcome) -> None:
        """Its turn came: this became of it."""
        self.sent[delivery_id] = outcome
        while len(self.sent) > _KEPT:
            self.sent.popitem(last=False)
