"""Claude Code behind the agent protocol."""

import asyncio
import functools
import glob
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from gateway.agents.claude_code import inbox
from gateway.agents.claude_code.reader import TranscriptReader
from gateway.agents.claude_code.receipts import Receipts
from gateway.agents.claude_code.registry import RUNTIME, Registry
from gateway.agents.pacing import Pacing
from gateway.agents.protocol import Capabilities, Mark, Message, Position, Sent, View
from gateway.agents.watch import Changes, Watches
from gateway.model import Outcome, Session, Status

T = TypeVar("T")

_READERS_KEPT = 64


class ClaudeCode:
    """Lists, reaches and follows the sessions of one Claude Code configuration directory."""

    name = RUNTIME
    capabilities = Capabilities(interrupts=True, gives_receipts=True)

    def __init__(self, config_dir: Path, threads: int = 4) -> None:
        self.config_dir = config_dir
        self.registry = Registry(config_dir)
        self._receipts = Receipts()
        self._pacing = Pacing()
        self._watches = Watches()
        self._followers: OrderedDict[str, ClaudeFollower] = OrderedDict()
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="transcripts")

    async def list(self) -> Sequence[Session]:
        """All live sessions by their records, those that cannot be reached too."""
        return await self.run(lambda: [record.session for record in self.registry.records()])

    async def look(self, session: Session) -> Session:
        """The same session now, by its process."""
        record = await self.run(functools.partial(self.registry.of_process, session.process))
        return replace(session, status=Status.GONE) if record is None else record.session

    async def send(self, session: Session, message: Message) -> Sent:
        """Put one message into the inbox, once; paced, since the inbox drops what comes too fast."""
        record = await self.run(functools.partial(self.registry.of_process, session.process))
        if record is None or record.socket_path is None or record.session.why_not:
            return Sent.NOT_WRITTEN
        if record.session.id != session.id:
            # The conversation in that process was changed since the name was resolved.
            return Sent.NOT_WRITTEN
        await self._pacing.turn(session.process.key)
        address = inbox.Address(
            socket_path=record.socket_path,
            peer_token=await self.run(functools.partial(self.registry.peer_token, record)),
            reply_to=await self._receipts.listen_in(record.socket_path.parent),
        )
        self._receipts.expect(message.id, session.process.pid)
        return await inbox.send(message, address)

    def receipt(self, message_id: str) -> Outcome | None:
        """What the session reported about this message."""
        return self._receipts.outcome(message_id)

    def follow(self, session: Session) -> "ClaudeFollower":
        """The follower of this session's transcript; shared by all who follow it."""
        follower = self._followers.get(session.id)
        if follower is None:
            follower = self._followers[session.id] = ClaudeFollower(self, session.id)
            while len(self._followers) > _READERS_KEPT:
                self._followers.popitem(last=False)
        self._followers.move_to_end(session.id)
        return follower

    async def close(self) -> None:
        """Let go of sockets, watches and threads."""
        await self._watches.close()
        await self._receipts.close()
        self._executor.shutdown(wait=False, cancel_futures=True)

    async def run(self, work: Callable[[], T]) -> T:
        """Run blocking file work in this runtime's own bounded threads."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)

    def transcript_path(self, session_id: str) -> Path | None:
        """Where the transcript stands, whatever its folder is called; None before the first line."""
        if not session_id or "/" in session_id or session_id.startswith("."):
            return None
        pattern = f"{glob.escape(str(self.config_dir / 'projects'))}/*/{glob.escape(session_id)}.jsonl"
        found = sorted(glob.glob(pattern))  # noqa: PTH207 - pathlib's glob cannot escape
        return Path(found[0]) if found else None

    def watch_folders(self, transcript: Path | None) -> tuple[Path, ...]:
        """The folders in which this session's changes show."""
        projects = self.config_dir / "projects"
        return (self.registry.folder, projects if transcript is None else transcript.parent)

    @property
    def watches(self) -> Watches:
        """The shared file-system watches."""
        return self._watches


class ClaudeFollower:
    """Follows one session id's transcript; reads are one at a time."""

    def __init__(self, runtime: ClaudeCode, session_id: str) -> None:
        self._runtime = runtime
        self._session_id = session_id
        self._reader: TranscriptReader | None = None
        self._lock = asyncio.Lock()
        self._seen: tuple[int, int] | None = None
        self._changed_at = 0.0

    async def view(self, since: Mark | None) -> View:
        """The transcript now. An unknown or replaced place is looked for by record id, else begun anew."""
        async with self._lock:
            return await self._runtime.run(functools.partial(self._view, since))

    async def position(self, offset: int) -> Position:
        """The position at this offset of the transcript as it is now."""
        reader = self._reader
        if reader is None or offset == 0:
            return Position.start_of(self._session_id)
        mark = await self._runtime.run(functools.partial(reader.print_at, offset))
        return Position(self._session_id, offset, mark)

    def changes(self) -> AbstractAsyncContextManager[Changes]:
        """Changes in the folders where this session's record and transcript stand."""
        return self._runtime.watches.changes(self._folders)

    def _folders(self) -> tuple[Path, ...]:
        return self._runtime.watch_folders(self._reader.path if self._reader else None)

    def _view(self, since: Mark | None) -> View:
        if self._reader is None or not self._reader.path.exists():
            path = self._runtime.transcript_path(self._session_id)
            if path is None:
                return View((), Position.start_of(self._session_id), self._quiet(None))
            if self._reader is None or self._reader.path != path:
                self._reader = TranscriptReader(path)
        reader = self._reader
        quiet_s = self._quiet(reader.refresh())
        after, is_restarted = self._place(reader, since)
        return View(
            turns=reader.turns(after),
            end=Position(self._session_id, reader.end, reader.print_at(reader.end)),
            quiet_s=quiet_s,
            queued=reader.queued,
            after=after or 0,
            restarted=is_restarted,
        )

    def _place(self, reader: TranscriptReader, since: Mark | None) -> tuple[int | None, bool]:
        """Where to begin in this file, and whether `since` is of another one."""
        if since is None:
            return None, False
        position = since.position
        if position.session_id == self._session_id and _is_at(reader, position):
            return position.offset, False
        found = reader.offset_after(since.record_id) if since.record_id else None
        return found, found is None

    def _quiet(self, modified_at: float | None) -> float:
        """Seconds since the last line: by our own clock, or by the file's age where that is longer."""
        now = time.monotonic()
        seen = (self._reader.generation, self._reader.end) if self._reader and modified_at else None
        if seen != self._seen:
            self._seen, self._changed_at = seen, now
        age = 0.0 if modified_at is None else time.time() - modified_at
        return max(now - self._changed_at, age)


def _is_at(reader: TranscriptReader, position: Position) -> bool:
    return position.offset == 0 or reader.print_at(position.offset) == position.print
