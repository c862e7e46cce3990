"""Real CLI sessions in a private tmux server: start, type, read the status, end.

A session counts as started when the registry shows its socket and its process
descends from the pane it was started in.
"""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.live.home import API_KEY, IsolatedHome

START_LIMIT_S = 30.0
POLL_S = 0.05
ALLOWED_TOOLS = "Bash,Read"  # all others ask for permission, which one scenario needs


class TmuxMissing(Exception):
    """tmux is not installed."""


class SessionFailed(Exception):
    """A session did not come up, or did not reach the awaited status."""


@dataclass(frozen=True, slots=True)
class Session:
    """One running CLI: its tmux name (also its display name), its process and its directory."""

    name: str
    pid: int
    directory: Path
    home: IsolatedHome

    @property
    def record(self) -> dict[str, Any] | None:
        return self.home.record(self.pid)

    @property
    def id(self) -> str | None:
        record = self.record
        return None if record is None else str(record["sessionId"])

    @property
    def status(self) -> str | None:
        """idle, busy, waiting or shell; None once it is gone."""
        record = self.record
        return None if record is None else record.get("status")

    async def until(self, *statuses: str | None, limit_s: float = 20.0) -> None:
        """Wait until the registry shows one of `statuses`."""
        try:
            async with asyncio.timeout(limit_s):
                while self.status not in statuses:
                    await asyncio.sleep(POLL_S)
        except TimeoutError as late:
            raise SessionFailed(f"{self.name} is {self.status}, not {statuses}") from late


@dataclass(slots=True)
class Terminal:
    """The tmux server; `environment` is what every session gets on top of the basics."""

    binary: Path
    home: IsolatedHome
    environment: Mapping[str, str]
    sessions: dict[str, Session] = field(default_factory=dict)
    killed: set[int] = field(default_factory=set)

    async def start(self, name: str, **settings: str) -> Session:
        """Start a session called `name` in the project of that name, with these CLI settings."""
        folder = self.home.project(name)
        shell = ["env", "-i", *(f"{key}={value}" for key, value in self._variables().items())]
        command = [*shell, str(self.binary), "-n", name, "--permission-mode", "default"]
        command += ["--allowedTools", ALLOWED_TOOLS, "--settings", json.dumps(settings)]
        size = ["-x", "140", "-y", "45"]
        await self._tmux("new-session", "-d", "-s", name, *size, "-c", str(folder), *command)
        pane = int(await self._tmux("list-panes", "-t", f"={name}", "-F", "#{pane_pid}"))
        try:
            async with asyncio.timeout(START_LIMIT_S):
                while (pid := self._listening_below(pane)) is None:
                    await asyncio.sleep(POLL_S)
        except TimeoutError as late:
            raise SessionFailed(f"{name} did not register within {START_LIMIT_S:.0f} s") from late
        session = Session(name, pid, folder, self.home)
        self.sessions[name] = session
        await session.until("idle")
        return session

    async def press(self, session: Session, *keys: str) -> None:
        """Press keys by tmux's names: Escape, Enter, Down…"""
        await self._tmux("send-keys", "-t", f"={session.name}:", *keys)

    async def type_line(self, session: Session, line: str) -> None:
        """Type a line as the user and press Enter."""
        await self._tmux("send-keys", "-t", f"={session.name}:", "-l", line)
        await asyncio.sleep(0.3)  # Enter in one burst with the text would be taken for a pasted newline
        await self.press(session, "Enter")

    async def screen(self, session: Session) -> str:
        return await self._tmux("capture-pane", "-p", "-t", f"={session.name}:")

    def kill(self, session: Session) -> None:
        """End a session the hard way: SIGKILL leaves its record, key and socket behind."""
        self.killed.add(session.pid)
        os.kill(session.pid, signal.SIGKILL)

    async def close(self, session: Session) -> None:
        """End a session as closing its window does, and wait until its record is gone."""
        self.sessions.pop(session.name, None)
        await self._tmux("kill-session", "-t", f"={session.name}", may_fail=True)
        if session.pid not in self.killed:
            await session.until(None)

    async def end(self) -> list[str]:
        """Close everything; returns what was left although it should not be, normally nothing."""
        await self._tmux("kill-server", may_fail=True)
        left = [f"process {pid}" for pid in await asyncio.to_thread(self.home.end_processes)]
        records = [record["pid"] for record in self.home.records()]
        return left + [f"record of {pid}" for pid in records if pid not in self.killed]

    def _variables(self) -> dict[str, str]:
        return {
            "HOME": str(self.home.home),
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "XDG_RUNTIME_DIR": str(self.home.runtime),
            "ANTHROPIC_API_KEY": API_KEY,
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            **self.environment,
        }

    def _listening_below(self, pane: int) -> int | None:
        for record in self.home.records():
            pid = record["pid"]
            if record.get("messagingSocketPath") and pid not in self.killed and _descends(pid, pane):
                return int(pid)
        return None

    async def _tmux(self, *arguments: str, may_fail: bool = False) -> str:
        program = shutil.which("tmux")
        if program is None:
            raise TmuxMissing("tmux is not installed")
        # The socket lies in the isolated home, so the server is private and leaves no file behind.
        command = [program, "-S", str(self.home.runtime / "tmux"), "-f", os.devnull, *arguments]
        environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "xterm-256color"}
        process = await asyncio.create_subprocess_exec(
            *command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        out, problem = await process.communicate()
        if process.returncode and not may_fail:
            raise SessionFailed(f"tmux {arguments[0]}: {problem.decode().strip()}")
        return out.decode()


def _descends(pid: int, ancestor: int) -> bool:
    while pid > 1:
        if pid == ancestor:
            return True
        pid = _parent(pid)
    return False


def _parent(pid: int) -> int:
    """The parent process, or 0 when `pid` is gone."""
    if sys.platform == "linux":
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            return 0
        return int(stat[stat.rfind(")") + 2 :].split()[1])
    done = subprocess.run(["ps", "-o", "ppid=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return int(done.stdout.strip() or 0)
