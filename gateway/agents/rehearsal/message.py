"""A message that the inbox let in, and what is known of where it came from."""

from dataclasses import dataclass
from datetime import UTC, datetime

from gateway.agents.rehearsal.frames import UserFrame, unwrap
from gateway.agents.rehearsal.scenes import Json
from gateway.notes import split


@dataclass(frozen=True, slots=True)
class Incoming:
    """The frame, the process that sent it (None: not known), and when: epoch ms and a line's stamp.

    `is_verified` says that the sender proved it can read the session's key.
    """

    frame: UserFrame
    peer_pid: int | None
    peer_start: str | None
    is_verified: bool
    sent_ms: int
    queued_at: str

    @property
    def words(self) -> str:
        """What the driver said: without the CLI's envelope and without the relay note."""
        wrapped = unwrap(self.frame.content)
        return split(wrapped.body if wrapped else self.frame.content)[0]

    def origin(self) -> dict[str, Json]:
        """Where it came from, as user and attachment lines say it."""
        fields: dict[str, Json] = {
            "kind": "peer",
            "from": self.frame.sender or "unknown",
            "verifiedPeerPid": self.peer_pid,
            "verifiedPeerProcStart": self.peer_start,
            "msg_id": self.frame.msg_id,
        }
        if wrapped := unwrap(self.frame.content):
            fields.update({"name": wrapped.name, "fromMode": wrapped.mode, "body": wrapped.body})
        if self.is_verified:
            fields["verifiedLocal"] = True
        return {key: value for key, value in fields.items() if value is not None}


def timestamp() -> str:
    """Now, as the CLI stamps a line: UTC, milliseconds, Z."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"
