"""What the operating system says about a process: its start, whether it lives, its parents, its sockets.

A pid alone is reused; pid and start time together name one process for good. Linux reads
`/proc/<pid>/stat`; macOS asks `ps`, which is untested. Nothing here raises for a process
that is gone or hidden: it is then unknown (None), not alive, without parents.
"""

import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_PS_TIMEOUT_S = 2.0
_LSTART_WORDS = 5


@dataclass(frozen=True, slots=True)
class _Status:
    """One look at a process. `state` is the first letter that ps shows ("R", "S", "Z", …)."""

    state: str
    parent_pid: int
    start: str


def proc_start(pid: int) -> str | None:
    """The start of this process as Claude Code's registry writes it, or None where there is none.

    Linux: field 22 of `/proc/<pid>/stat`, clock ticks since boot. macOS: `ps -o lstart=`.
    """
    status = _status(pid)
    return status.start if status else None


def is_alive(pid: int, proc_start: str) -> bool:
    """Whether exactly this process still runs. A zombie is dead, so is another one with its pid."""
    status = _status(pid)
    return status is not None and status.start == proc_start and status.state not in "ZXx"


def ancestors(pid: int) -> tuple[int, ...]:
    """The parents of a process, nearest first, without itself; empty where it is unknown."""
    return tuple(_parents(pid))


def peer_pid(connection: socket.socket) -> int | None:
    """The process at the other end of a unix socket; None where the platform does not tell (macOS)."""
    if not sys.platform.startswith("linux"):
        return None
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    pid, _uid, _gid = struct.unpack("3i", credentials)
    return int(pid)


def _parents(pid: int) -> Iterator[int]:
    seen = {pid}
    status = _status(pid)
    while status and status.parent_pid > 0 and status.parent_pid not in seen:
        seen.add(status.parent_pid)
        yield status.parent_pid
        status = _status(status.parent_pid)


def _status(pid: int) -> _Status | None:
    if pid <= 0:
        return None
    return _status_ps(pid) if sys.platform == "darwin" else _status_proc(pid)


def _status_proc(pid: int) -> _Status | None:
    try:
        line = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The command's name stands in parentheses and may itself hold blanks and parentheses.
    fields = line[line.rfind(")") + 2 :].split()
    return _Status(state=fields[0], parent_pid=int(fields[1]), start=fields[19])


def _status_ps(pid: int) -> _Status | None:
    # One -o each: BSD takes everything after the first "=" as that column's header.
    command = ["/bin/ps", "-o", "lstart=", "-o", "stat=", "-o", "ppid=", "-p", str(pid)]
    try:
        done = subprocess.run(  # noqa: S603 - a fixed command and a number
            command, env={"LC_ALL": "C"}, capture_output=True, text=True, timeout=_PS_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    words = done.stdout.split()
    if len(words) != _LSTART_WORDS + 2:
        return None
    return _Status(state=words[-2][0], parent_pid=int(words[-1]), start=" ".join(words[:_LSTART_WORDS]))
