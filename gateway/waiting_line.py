"""Which messages are held back here, because an earlier one of ours is not settled in the same session.

The CLI takes everything that waits into one turn with one answer, so a message that is to
get an answer of its own must not wait there (observed on 2.1.332). Held messages live in
memory only: a restart leaves them unsent, and their outcome `unknown` in the ledger.
"""

from dataclasses import dataclass, field


@dataclass(slots=True)
class WaitingLine:
    """Ids of deliveries that are held back, and of those that could not be sent when their turn came."""

    held: set[int] = field(default_factory=set)
    failed: set[int] = field(default_factory=set)
