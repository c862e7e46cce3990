"""Starts the rehearsal session as a process of its own, and leaves none behind.

The process runs this interpreter and this package. It is there once its registry record names its
socket; both are gone after the `async with`, however that ends.
"""

import asyncio
import json
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import gateway
from gateway.errors import Unavailable

_START_S = 15.0
_POLL_S = 0.02
_STOP_S = 2.0
# A socket's path may be 103 bytes long on macOS; "/cc-socks/<pid>.sock" follows the root.
_ROOT_LIMIT_BYTES = 80
_LOG = "rehearsal.log"


@dataclass(frozen=True, slots=True)
class RehearsalProcess:
    """A running rehearsal session. `config_dir` is what CLAUDE_CONFIG_DIR is to its readers."""

    pid: int
    root: Path
    config_dir: Path
    session_id: str
    name: str


@contextmanager
def private_root() -> Iterator[Path]:
    """A new folder of mode 0700 with a short path; removed with all that is in it."""
    path = Path(tempfile.mkdtemp(prefix="cd-")).resolve()
    if len(os.fsencode(path)) > _ROOT_LIMIT_BYTES:
        path.rmdir()
        path = Path(tempfile.mkdtemp(prefix="cd-", dir="/tmp")).resolve()
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@asynccontextmanager
async def launch(
    root: Path, name: str = "rehearsal", *, time_scale: float = 1.0
) -> AsyncIterator[RehearsalProcess]:
    """Run a rehearsal session under `root`. Unavailable where it does not come up within 15 s."""
    root = _prepared(root)
    process = await _spawn(root, name, time_scale)
    record = root / "claude" / "sessions" / f"{process.pid}.json"
    try:
        session_id = await _published(process, record)
        yield RehearsalProcess(process.pid, root, root / "claude", session_id, name)
    finally:
        await _stop(process)
        _sweep(root, process.pid)


def _prepared(root: Path) -> Path:
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    real = root.resolve()
    if len(os.fsencode(real)) > _ROOT_LIMIT_BYTES:
        raise Unavailable("session_unreachable")
    return real


async def _spawn(root: Path, name: str, time_scale: float) -> asyncio.subprocess.Process:
    command = [sys.executable, "-m", "gateway.agents.rehearsal", f"--root={root}", f"--name={name}"]
    command += [f"--time-scale={time_scale}", f"--parent-pid={os.getpid()}"]
    descriptor = os.open(root / _LOG, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    try:
        return await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=descriptor,
            stderr=descriptor,
            cwd=Path(gateway.__file__).parents[1],
            start_new_session=True,  # Ctrl-C in the terminal is the gateway's to handle
        )
    finally:
        os.close(descriptor)


async def _published(process: asyncio.subprocess.Process, record: Path) -> str:
    try:
        async with asyncio.timeout(_START_S):
            while process.returncode is None:
                if (session_id := _session_id(record)) is not None:
                    return session_id
                await asyncio.sleep(_POLL_S)
    except TimeoutError:
        pass
    raise Unavailable("session_unreachable")


def _session_id(record: Path) -> str | None:
    try:
        fields = json.loads(record.read_bytes())
    except (OSError, ValueError):
        return None
    return str(fields["sessionId"]) if "messagingSocketPath" in fields else None


async def _stop(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(_STOP_S):
            await process.wait()
    except TimeoutError:
        _kill(process)
        await process.wait()
    except asyncio.CancelledError:
        _kill(process)
        raise


def _kill(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()


def _sweep(root: Path, pid: int) -> None:
    """A killed session could not tidy up after itself."""
    sessions = root / "claude" / "sessions"
    for path in (root / "cc-socks" / f"{pid}.sock", *sessions.glob(f"{pid}.*"), *sessions.glob(f".{pid}.*")):
        path.unlink(missing_ok=True)
    (root / _LOG).unlink(missing_ok=True)
