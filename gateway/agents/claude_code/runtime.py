"""Claude Code behind the agent protocol."""

import asyncio
import functools
import glob
import math
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
        return await self.run(functools.partial(self._look, session))

    def _look(self, session: Session) -> Session:
        record = self.registry.of_process(session.process)
        if record is not None:
            return record.session
        # A record that is just being rewritten is no sign that its process ended.
        is_there = self.registry.has_record(session.process)
        return session if is_there and session.is_live else replace(session, status=Status.GONE)

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
        if not session_id.isprintable() or not session_id or "/" in session_id or session_id.startswith("."):
            return None
        pattern = f"{glob.escape(str(self.config_dir / 'projects'))}/*/{glob.escape(session_id)}.jsonl"
        found = [Path(path) for path in glob.glob(pattern)]  # noqa: PTH207 - pathlib's glob cannot escape
        return max(found, key=_modified_at, default=None)

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
        self._quiet = _Quiet()

    async def view(self, since: Mark | None, sent: Mark | None = None) -> View:
        """The transcript now. A replaced place of a listener is looked for by its record id."""
        async with self._lock:
            return await self._runtime.run(functools.partial(self._view, since, sent))

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

    def _view(self, since: Mark | None, sent: Mark | None) -> View:
        reader = self._refreshed()
        if reader is None:
            return View((), None, Position.start_of(self._session_id), self._quiet.seconds(None, 0.0))
        heard_to = self._place(reader, since)
        sent_at = self._sent_at(reader, sent)
        places = [place for place in (heard_to, sent_at) if place is not None]
        last = reader.turns(None)
        return View(
            turns=reader.turns(min(places)) if places else last,
            last=last[-1] if last else None,
            end=Position(self._session_id, reader.end, reader.print_at(reader.end)),
            quiet_s=self._quiet.seconds((reader.generation, reader.size), reader.modified_at),
            queued=reader.queued,
            heard_to=heard_to,
        )

    def _refreshed(self) -> TranscriptReader | None:
        """The reader after a look at the file; None where there is no file now."""
        if self._reader is None or not self._reader.path.exists():
            path = self._runtime.transcript_path(self._session_id)
            if path is None:
                return None
            if self._reader is None or self._reader.path != path:
                self._reader = TranscriptReader(path)
        return self._reader if self._reader.refresh() is not None else None

    def _place(self, reader: TranscriptReader, mark: Mark | None) -> int | None:
        """Where this mark stands in the file; None where there is none or the file holds it nowhere."""
        if mark is None:
            return None
        if mark.position.session_id == self._session_id and _is_at(reader, mark.position):
            return mark.position.offset
        return reader.offset_after(mark.record_id) if mark.record_id else None

    def _sent_at(self, reader: TranscriptReader, sent: Mark | None) -> int | None:
        """Where to look for a message from; the start where its place is lost, since its id is unique."""
        if sent is None:
            return None
        is_here = sent.position.session_id == self._session_id and _is_at(reader, sent.position)
        return sent.position.offset if is_here else 0


def _modified_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return -math.inf


class _Quiet:
    """How long a file has not changed, on a clock that does not jump."""

    def __init__(self) -> None:
        self._seen: tuple[int, int] | None = None
        self._changed_at = self._looked_at = -math.inf

    def seconds(self, seen: tuple[int, int] | None, modified_at: float) -> float:
        """Seconds since the last change; the file's own age counts only for the time nobody looked."""
        now = time.monotonic()
        if seen != self._seen or math.isinf(self._changed_at):
            age_s = max(0.0, time.time() - modified_at) if seen else 0.0
            self._seen, self._changed_at = seen, max(now - age_s, self._looked_at)
        self._looked_at = now
        return now - self._changed_at


def _is_at(reader: TranscriptReader, position: Position) -> bool:
    return position.offset == 0 or reader.print_at(position.offset) == position.print
