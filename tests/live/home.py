"""A home directory of its own for the CLI and the service, and nothing of it left afterwards.

The CLI's transcripts hold its system prompt: the directory is always removed, and
nothing in this suite prints a transcript.
"""

import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.live.cli import VERSION

API_KEY = "sk-ant-fake-key"
SOCKET_LIMIT_BYTES = 104  # sun_path: 108 on Linux, 104 on macOS
_LONGEST_SOCKET = "cc-socks/4194304.sock"


@dataclass(frozen=True, slots=True)
class IsolatedHome:
    """`root` holds everything: HOME, the runtime directory, the projects and the service's state."""

    root: Path

    @classmethod
    def create(cls, projects: Sequence[str]) -> "IsolatedHome":
        """Make the directories, with `projects` (plain names) trusted by the CLI."""
        made = cls(Path(tempfile.mkdtemp(prefix="live-")).resolve())
        room = len(os.fsencode(made.runtime / _LONGEST_SOCKET))
        if room >= SOCKET_LIMIT_BYTES:
            made.remove()
            raise RuntimeError(f"The temporary directory's path is too long for a socket ({room} bytes).")
        for folder in (made.home, made.runtime, made.claude, made.state):
            folder.mkdir(mode=0o700)
        for project in projects:
            made.project(project).mkdir(parents=True)
        settings = made.home / ".claude.json"
        settings.touch(mode=0o600)
        settings.write_text(json.dumps(_onboarded([made.project(name) for name in projects])), "utf-8")
        return made

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def claude(self) -> Path:
        return self.home / ".claude"

    @property
    def runtime(self) -> Path:
        return self.root / "run"

    @property
    def state(self) -> Path:
        return self.root / "state"

    def project(self, name: str) -> Path:
        return self.root / "projects" / name

    def records(self) -> Iterator[dict[str, Any]]:
        """The CLI's registry as it is now; a record being written is left out."""
        for path in sorted((self.claude / "sessions").glob("*.json")):
            try:
                yield json.loads(path.read_text(encoding="utf-8"))
            except (OSError, ValueError):
                continue

    def record(self, pid: int) -> dict[str, Any] | None:
        """The registry record of one process, or None."""
        return next((one for one in self.records() if one.get("pid") == pid), None)

    def processes(self) -> list[int]:
        """Processes whose environment names this home: the suite's own and whatever these started."""
        if sys.platform != "linux":
            return []
        mark = b"HOME=" + os.fsencode(self.home)
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                is_ours = mark in (entry / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if is_ours and not _is_zombie(entry):
                found.append(int(entry.name))
        return found

    def end_processes(self, patience_s: float = 5.0) -> list[int]:
        """Wait for our processes to end, then kill those that did not; returns the killed."""
        deadline = time.monotonic() + patience_s
        while (left := self.processes()) and time.monotonic() < deadline:
            time.sleep(0.05)
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        return left

    def remove(self) -> None:
        """Delete everything; a file that a dying process still writes gets a second look."""
        for _ in range(20):
            shutil.rmtree(self.root, ignore_errors=True)
            if not self.root.exists():
                return
            time.sleep(0.1)
        raise RuntimeError("The isolated home could not be removed.")


def _is_zombie(entry: Path) -> bool:
    try:
        stat = (entry / "stat").read_text()
    except OSError:
        return True
    return stat[stat.rfind(")") + 2 :].startswith("Z")


def _onboarded(trusted: Sequence[Path]) -> dict[str, Any]:
    """The CLI's own settings as they are after its first-run questions."""
    return {
        "hasCompletedOnboarding": True,
        "lastOnboardingVersion": VERSION,
        "lastReleaseNotesSeen": VERSION,
        "numStartups": 3,
        "hasSeenAutoDefaultNotice": True,
        "customApiKeyResponses": {"approved": [API_KEY], "rejected": []},
        "projects": {str(folder): {"hasTrustDialogAccepted": True} for folder in trusted},
    }
