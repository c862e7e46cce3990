"""Claude Code's own list of running sessions: `<config dir>/sessions/<pid>.json`, read only.

A record is live only if its pid and its start time are those of a running process;
killed sessions leave theirs behind, and pids are used again. The session id in a
record changes during the life of the process (`/clear`, `/resume`), so state is
keyed by process and the record is read anew on every look.
"""

import hashlib
import json
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gateway import platform_process
from gateway.agents.claude_code.lines import clean
from gateway.model import Process, Session, Status

RUNTIME = "claude_code"
PEER_PROTOCOL = 1
"""The version of the inbox protocol that this module was written against."""

_RECORD_LIMIT_BYTES = 256 * 1024
_READ_TRIES = 5
_RETRY_S = 0.01
_IN_WRITING_S = 5.0
_LATEST_MS = 1e15
_STATUSES = {status.value: status for status in (Status.IDLE, Status.BUSY, Status.WAITING, Status.SHELL)}


@dataclass(frozen=True, slots=True)
class Record:
    """One registry record whose shape is as expected."""

    session: Session
    socket_path: Path | None
    peer_protocol: int | None


class Registry:
    """Reads the records. Blocking."""

    def __init__(self, config_dir: Path) -> None:
        self.folder = config_dir / "sessions"

    def records(self) -> Iterator[Record]:
        """Live sessions' records; what cannot be read or is not one is left out."""
        try:
            names = sorted(entry.name for entry in os.scandir(self.folder) if entry.name.endswith(".json"))
        except OSError:
            return
        for name in names:
            record = self._read(self.folder / name)
            if record is not None:
                yield record

    def of_process(self, process: Process) -> Record | None:
        """The record of this process now; None once it is gone."""
        record = self._read(self.folder / f"{process.pid}.json")
        return record if record is not None and record.session.process == process else None

    def has_record(self, process: Process) -> bool:
        """The process runs and its record stands there, whether it can be read just now or not."""
        is_there = (self.folder / f"{process.pid}.json").is_file()
        return is_there and platform_process.is_alive(process.pid, process.start)

    def peer_token(self, record: Record) -> str | None:
        """The token its inbox expects; None where there is no key file for this very process."""
        if record.socket_path is None:
            return None
        process = record.session.process
        digest = hashlib.sha256(os.path.realpath(record.socket_path).encode()).hexdigest()
        key = _read_object(self.folder / f"{process.pid}.{digest}.key")
        if key is None or key.get("procStart") != process.start:
            return None
        return clean(key.get("peerToken")) or None

    def _read(self, path: Path) -> Record | None:
        data = _read_object(path)
        if data is None:
            return None
        pid, start, session_id = data.get("pid"), data.get("procStart"), data.get("sessionId")
        if type(pid) is not int or not isinstance(start, str) or not isinstance(session_id, str):
            return None
        if not session_id or not platform_process.is_alive(pid, start):
            return None
        return _record(data, Process(pid, start), session_id)


def _record(data: dict[str, object], process: Process, session_id: str) -> Record:
    directory = clean(data.get("cwd"))
    socket = clean(data.get("messagingSocketPath"))
    socket_path = Path(socket) if socket.startswith("/") and socket.isprintable() else None
    registry_name = clean(data.get("name"))
    protocol = data.get("peerProtocol")
    session = Session(
        runtime=RUNTIME,
        id=session_id,
        name=registry_name or Path(directory).name or session_id[:8],
        directory=directory,
        process=process,
        status=_STATUSES.get(clean(data.get("status")), Status.UNKNOWN),
        waiting_for=clean(data.get("waitingFor")),
        status_age_s=_age_s(data.get("statusUpdatedAt")),
        registry_name=registry_name,
        why_not=why_unreachable(socket_path),
    )
    return Record(session, socket_path, protocol if isinstance(protocol, int) else None)


def _age_s(at_ms: object) -> float:
    if not isinstance(at_ms, int | float) or isinstance(at_ms, bool) or not 0 < at_ms < _LATEST_MS:
        return float("inf")
    return max(0.0, time.time() - at_ms / 1000)


def why_unreachable(socket_path: Path | None) -> str:
    """Why nothing may be sent to this socket; "" where it may.

    The socket and its folder must be ours and closed to others: whoever could put another
    socket in its place would get the words and the peer token.
    """
    if socket_path is None:
        return "no_socket"
    try:
        folder, socket = socket_path.parent.stat(), socket_path.lstat()
    except OSError:
        return "no_socket"
    if not stat.S_ISSOCK(socket.st_mode):
        return "no_socket"
    is_ours = folder.st_uid == os.getuid() and socket.st_uid == os.getuid()
    return "" if is_ours and not folder.st_mode & 0o022 else "not_ours"


def _read_object(path: Path) -> dict[str, object] | None:
    """The JSON object in a small file; None where there is none.

    The CLI rewrites its record in place, so half of one can be seen; a moment later it is whole.
    """
    for _ in range(_READ_TRIES):
        try:
            with path.open("rb") as file:
                written_at = os.fstat(file.fileno()).st_mtime
                data = json.loads(file.read(_RECORD_LIMIT_BYTES))
        except OSError:
            return None
        except (ValueError, RecursionError):
            if abs(time.time() - written_at) > _IN_WRITING_S:
                return None
            time.sleep(_RETRY_S)
            continue
        return data if isinstance(data, dict) else None
    return None
