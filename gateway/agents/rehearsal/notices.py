"""What a session reports to its peers: dropped messages, and that it is idle.

A drop is reported at once, further ones within 5 s together at their end. An idle notice goes out
0.7 s after the session turned idle, once for each subscription, and says in one line how the turn
ended if the subscriber is registered. Both as observed with CLI 2.1.332.
"""

import asyncio
from dataclasses import dataclass, field

from gateway.agents.rehearsal.admission import RECEIPT_INTERVAL_S, Drop
from gateway.agents.rehearsal.frames import NotifyWhenIdle
from gateway.agents.rehearsal.peers import Peer, Peers
from gateway.agents.rehearsal.record import now_ms
from gateway.agents.rehearsal.scenes import Json

_IDLE_NOTICE_S = 0.7
_DETAIL_CHARS = 100
_SUBSCRIPTIONS_LIMIT = 64
_PENDING_LIMIT = 256
_DROPPED = (
    "The recipient's session dropped your message at its inbox (rate limit, duplicate, relay loop, or "
    "full queue); it was not delivered and will not be."
)


@dataclass(slots=True)
class _Drops:
    kind: Drop
    msg_ids: list[Json] = field(default_factory=list)


class DropReceipts:
    """Reports drops to their senders, throttled."""

    def __init__(self, peers: Peers) -> None:
        self._peers = peers
        self._pending: dict[Peer, _Drops] = {}

    def dropped(self, peer: Peer, msg_id: str | None, kind: Drop) -> bool:
        """Report this drop; True if at once, False if with later ones."""
        if peer not in self._pending:
            self._open(peer, kind)
            self._report(peer, kind, msg_id, [])
            return True
        pending = self._pending[peer]
        pending.kind = kind
        if msg_id is not None and len(pending.msg_ids) < _PENDING_LIMIT:
            pending.msg_ids.append(msg_id)
        return False

    def _open(self, peer: Peer, kind: Drop) -> None:
        self._pending[peer] = _Drops(kind)
        asyncio.get_running_loop().call_later(RECEIPT_INTERVAL_S, self._close, peer)

    def _close(self, peer: Peer) -> None:
        pending = self._pending.pop(peer)
        if pending.msg_ids:
            self._open(peer, pending.kind)
            self._report(peer, pending.kind, pending.msg_ids[-1], pending.msg_ids)

    def _report(self, peer: Peer, kind: Drop, msg_id: Json, msg_ids: list[Json]) -> None:
        fields: dict[str, Json] = {
            "action": "peer_message_status",
            "status": "dropped",
            "reason": _DROPPED,
            "drop_reason": kind,
            "dropped_msg_ids": msg_ids,
        }
        if msg_id is not None:
            fields["orig_msg_id"] = msg_id
        self._peers.tell(peer, fields)


class IdleNotices:
    """Keeps subscriptions and tells each once when the session is idle, or has ended."""

    def __init__(self, peers: Peers) -> None:
        self._peers = peers
        self._subscribers: dict[str, Peer] = {}
        self._is_idle = True
        self._finished_ms = now_ms()
        self._answer: str | None = None
        self._timer: asyncio.TimerHandle | None = None

    def subscribe(self, request: NotifyWhenIdle, pid: int | None) -> None:
        """Remember this subscription; where the session is idle already, tell it shortly."""
        if len(self._subscribers) < _SUBSCRIPTIONS_LIMIT:
            self._subscribers[request.msg_id] = Peer(request.sender, pid)
            self._schedule()

    def busy(self) -> None:
        """The session works, or waits on a form: nobody is told before it is idle again."""
        self._is_idle = False
        self._cancel()

    def idle(self, answer: str | None) -> None:
        """The session is idle; `answer` is what it said last, None after an error or an interruption."""
        self._is_idle, self._answer, self._finished_ms = True, answer, now_ms()
        self._schedule()

    def exited(self) -> None:
        """The session ends: tell everyone who still waits."""
        self._cancel()
        self._notify("exited")

    def _schedule(self) -> None:
        self._cancel()
        if self._is_idle and self._subscribers:
            self._timer = asyncio.get_running_loop().call_later(_IDLE_NOTICE_S, self._notify, "idle")

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _notify(self, state: str) -> None:
        subscribers, self._subscribers = self._subscribers, {}
        for msg_id, peer in subscribers.items():
            fields: dict[str, Json] = {
                "action": "peer_idle_notice",
                "orig_msg_id": msg_id,
                "state": state,
                "finished_at": self._finished_ms,
                "from_mode": "prompting",
            }
            if self._answer and self._peers.is_registered(peer):
                fields["detail"] = detail_of(self._answer)
            self._peers.tell(peer, fields)


def detail_of(answer: str) -> str:
    """One line about an answer: the question it ends with, else its first line, at most 100 characters."""
    lines = [line.strip() for line in answer.splitlines() if line.strip()]
    line = lines[-1] if lines[-1:] and lines[-1].endswith("?") else "".join(lines[:1])
    return line if len(line) <= _DETAIL_CHARS else line[: _DETAIL_CHARS - 1] + "…"
