"""The rehearsal session: record, inbox, transcript and turns of one process, put together.

From the outside it is a Claude Code session in a private folder; only the mind is missing. Under
`root`: `claude` is its CLAUDE_CONFIG_DIR, `cc-socks/<pid>.sock` its inbox, `work` its directory.
It ends on SIGTERM, SIGHUP or SIGINT, taking record, key and socket away, and when its parent dies.
"""

import asyncio
import os
import signal
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

from gateway.agents.rehearsal.admission import Admission, Drop
from gateway.agents.rehearsal.frames import NotifyWhenIdle
from gateway.agents.rehearsal.inbox import Inbox
from gateway.agents.rehearsal.journal import Journal
from gateway.agents.rehearsal.message import Incoming
from gateway.agents.rehearsal.notices import DropReceipts, IdleNotices
from gateway.agents.rehearsal.peers import Peer, Peers
from gateway.agents.rehearsal.record import Identity, Record, Status, pid_domain
from gateway.agents.rehearsal.turns import Stage, Turns
from gateway.platform_process import proc_start

_PARENT_POLL_S = 0.2
_NAME_CHARS = 200
_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
_WHY = {
    Drop.DUPLICATE: "identical to the previous message from this sender.",
    Drop.RATE_LIMITED: "too many messages from this sender.",
}


@dataclass(frozen=True, slots=True)
class Options:
    """How a rehearsal is started. `parent_pid` is the process it must not outlive."""

    root: Path
    name: str
    parent_pid: int
    time_scale: float = 1.0


class Session:
    """One rehearsal session in this process. `run` returns when it was told to end."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._identity = prepare(options.root)
        self._record = Record(self._identity, options.name)
        self._journal = Journal(self._identity, options.name)
        self._peers = Peers(self._identity)
        self._receipts = DropReceipts(self._peers)
        self._notices = IdleNotices(self._peers)
        self._admission = Admission()
        stage = Stage(self._record, self._journal, self._notices, str(self._identity.cwd))
        self._turns = Turns(stage, options.time_scale)
        self._signalled = asyncio.Event()
        self._inbox = Inbox(self._identity.socket_path, self._identity.peer_token, self)

    async def run(self) -> None:
        """Be a session until a signal comes or the parent is gone."""
        for number in _SIGNALS:
            asyncio.get_running_loop().add_signal_handler(number, self._signalled.set)
        await self._inbox.open()
        self._record.publish()
        self._record.set_status(Status.IDLE)
        reasons: set[asyncio.Task[None]] = {
            asyncio.create_task(self._told()),
            asyncio.create_task(self._orphaned()),
            asyncio.create_task(self._turns.run()),
        }
        try:
            done, _ = await asyncio.wait(reasons, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            await self._end(reasons)

    def message(self, message: Incoming) -> None:
        sender = message.frame.sender
        drop = self._admission.judge(sender, message.frame.content, time.monotonic())
        if drop is None:
            self._turns.accept(message)
        elif sender is None:
            self._report_drop("an unidentified process", drop)
        elif self._receipts.dropped(Peer(sender, message.peer_pid), message.frame.msg_id, drop):
            self._report_drop(sender, drop)

    def rename(self, name: str) -> None:
        taken = name.split("\n", 1)[0][:_NAME_CHARS].strip()
        if taken:
            self._journal.renamed(taken)
            self._record.rename(taken)

    def notify(self, request: NotifyWhenIdle, pid: int | None) -> None:
        self._journal.informational(
            f"A process claiming the address {request.sender} asked to be told when this session is "
            "next idle",
            "notice",
        )
        self._notices.subscribe(request, pid)

    def _report_drop(self, sender: str, drop: Drop) -> None:
        self._journal.informational(f"Dropped a peer message from {sender}: {_WHY[drop]}", "warning")

    async def _told(self) -> None:
        await self._signalled.wait()

    async def _orphaned(self) -> None:
        # Polled, since a signal on the parent's death is Linux's alone and follows its thread.
        while os.getppid() == self._options.parent_pid:  # noqa: ASYNC110
            await asyncio.sleep(_PARENT_POLL_S)

    async def _end(self, tasks: set[asyncio.Task[None]]) -> None:
        self._inbox.close()
        self._record.withdraw()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._notices.exited()
        self._journal.flush()
        await self._peers.close()


def prepare(root: Path) -> Identity:
    """Make the private folders under `root` and say who the session is."""
    root = root.resolve()
    config_dir, sockets, cwd = root / "claude", root / "cc-socks", root / "work"
    for folder in (config_dir / "sessions", config_dir / "projects", sockets, cwd):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    pid = os.getpid()
    return Identity(
        pid=pid,
        proc_start=proc_start(pid) or "",
        session_id=str(uuid.uuid4()),
        config_dir=config_dir,
        cwd=cwd,
        socket_path=sockets / f"{pid}.sock",
        pid_domain=pid_domain(),
    )
