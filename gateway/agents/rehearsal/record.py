"""The rehearsal's entry in the registry of sessions: its record and its key, as Claude Code writes them.

`sessions/<pid>.json` tells others who and where the session is, `sessions/<pid>.<sha256 of the
socket's real path>.key` (0600) holds the token a sender may prove itself with. Both are replaced
whole, so a reader never sees half of one. Fields as CLI 2.1.332 wrote them, read from its files.
"""

import hashlib
import json
import os
import secrets
import sys
import time
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from gateway.agents.rehearsal.scenes import Json

CLI_VERSION = "2.1.332"


class Status(StrEnum):
    """What a session does, as its record says it."""

    IDLE = "idle"
    BUSY = "busy"
    WAITING = "waiting"


class WaitingFor(StrEnum):
    """Why a session waits."""

    INPUT = "input needed"
    PERMISSION = "permission prompt"


@dataclass(frozen=True, slots=True)
class Identity:
    """What stays the same while the process lives. Paths are real ones, symlinks resolved."""

    pid: int
    proc_start: str
    session_id: str
    config_dir: Path
    cwd: Path
    socket_path: Path
    pid_domain: str | None = None
    peer_token: str = field(default_factory=lambda: secrets.token_hex(16))

    @property
    def record_path(self) -> Path:
        return self.config_dir / "sessions" / f"{self.pid}.json"

    @property
    def key_path(self) -> Path:
        return key_path(self.config_dir, self.pid, self.socket_path)

    @property
    def transcript_path(self) -> Path:
        return self.config_dir / "projects" / slug(str(self.cwd)) / f"{self.session_id}.jsonl"


class Record:
    """The registry record of one session; every change is on disk when the call returns."""

    def __init__(self, identity: Identity, name: str) -> None:
        self._identity = identity
        self._name = name
        self._name_source = "user"
        self._name_since = self._started = now_ms()
        self._status: Status | None = None
        self._waiting_for: WaitingFor | None = None
        self._status_updated: int | None = None
        self._former_names: list[Json] = []

    @property
    def name(self) -> str:
        return self._name

    @property
    def status(self) -> Status | None:
        return self._status

    def publish(self) -> None:
        """Write key and record: from now on the session can be found."""
        identity = self._identity
        key: dict[str, Json] = {"peerToken": identity.peer_token, "procStart": identity.proc_start}
        if identity.pid_domain:
            key["pidDomain"] = identity.pid_domain
        _replace(identity.key_path, key)
        self._write()

    def set_status(self, status: Status, waiting_for: WaitingFor | None = None) -> None:
        if (status, waiting_for) == (self._status, self._waiting_for):
            return
        self._status, self._waiting_for = status, waiting_for
        self._status_updated = now_ms()
        self._write()

    def rename(self, name: str) -> None:
        """Take the name a peer gave."""
        former: Json = {"name": self._name, "until": now_ms(), "sessionId": self._identity.session_id}
        self._former_names.append(former)
        self._name, self._name_source, self._name_since = name, "peer", now_ms()
        self._write()

    def withdraw(self) -> None:
        """Take record and key away."""
        self._identity.record_path.unlink(missing_ok=True)
        self._identity.key_path.unlink(missing_ok=True)

    def _write(self) -> None:
        identity = self._identity
        fields: dict[str, Json] = {
            "pid": identity.pid,
            "sessionId": identity.session_id,
            "cwd": str(identity.cwd),
            "startedAt": self._started,
            "procStart": identity.proc_start,
            "version": CLI_VERSION,
            "peerProtocol": 1,
            "peerFeatures": ["notify_idle"],
            "kind": "interactive",
            "entrypoint": "cli",
            "messagingSocketPath": str(identity.socket_path),
            "name": self._name,
            "nameSource": self._name_source,
            "nameSince": self._name_since,
            "updatedAt": now_ms(),
        }
        optional: dict[str, Json] = {
            "pidDomain": identity.pid_domain,
            "status": self._status,
            "waitingFor": self._waiting_for,
            "statusUpdatedAt": self._status_updated,
            "formerNames": self._former_names or None,
        }
        fields.update({key: value for key, value in optional.items() if value is not None})
        _replace(identity.record_path, fields)


def now_ms() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def key_path(config_dir: Path, pid: int, socket_path: Path) -> Path:
    """Where the key of that process and socket is kept."""
    digest = hashlib.sha256(os.fsencode(socket_path.resolve())).hexdigest()
    return config_dir / "sessions" / f"{pid}.{digest}.key"


def slug(cwd: str) -> str:
    """The project folder's name: each UTF-16 unit outside [A-Za-z0-9] becomes a dash.

    The CLI cuts names over 200 characters and adds a hash nobody has worked out; a private
    root is far shorter, and readers search by session id, so here such a name is only cut.
    """
    units = cwd.encode("utf-16-le", errors="surrogatepass")
    letters = [chr(low | high << 8) for low, high in zip(units[::2], units[1::2], strict=True)]
    return "".join(c if c.isascii() and c.isalnum() else "-" for c in letters)[:200]


def pid_domain() -> str | None:
    """Names the machine and the namespace in which a pid counts; None where that cannot be told."""
    if sys.platform != "linux":
        return None
    try:
        machine = Path("/etc/machine-id").read_text(encoding="ascii").strip()
        namespace = Path("/proc/self/ns/pid").readlink()
    except OSError:
        return None
    return f"linux:{machine}:{namespace}"


def _replace(path: Path, fields: dict[str, Json]) -> None:
    fresh = path.with_name(f".{path.name}.new")
    descriptor = os.open(fresh, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
        json.dump(fields, file, ensure_ascii=False)
    fresh.replace(path)
