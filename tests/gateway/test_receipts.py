"""What a session reports about a message counts only for that message, and only from that session."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from gateway.agents.claude_code.receipts import Receipts
from gateway.model import Outcome

OURS = "6f000000-0000-4000-8000-000000000000"


@pytest.fixture
async def receipts(socket_dir: Path) -> AsyncIterator[Receipts]:
    receipts = Receipts()
    yield receipts
    await receipts.close()


def frame(status: str, **more: Any) -> dict[str, Any]:
    return {"type": "control", "action": "peer_message_status", "status": status, "orig_msg_id": OURS, **more}


async def report(path: Path, *lines: dict[str, Any] | bytes) -> None:
    reader, writer = await asyncio.open_unix_connection(str(path))
    for line in lines:
        writer.write(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n")
    writer.write_eof()
    await reader.read()
    writer.close()


@pytest.mark.parametrize(
    ("status", "more", "outcome"),
    [
        ("held", {"reason": "x"}, Outcome.HELD),
        ("delivered", {}, Outcome.ACCEPTED),
        ("denied", {}, Outcome.DENIED),
        ("expired", {}, Outcome.EXPIRED),
        ("expired", {"status_detail": "refused"}, Outcome.REFUSED),
        ("dropped", {"drop_reason": "duplicate", "dropped_msg_ids": []}, Outcome.DROPPED),
        ("brand-new", {}, None),
        (7, {}, None),
    ],
)
async def test_each_status_is_an_outcome(
    receipts: Receipts, socket_dir: Path, status: str, more: dict[str, Any], outcome: Outcome | None
) -> None:
    path = await receipts.listen_in(socket_dir)
    assert path is not None
    receipts.expect(OURS, os.getpid())
    await report(path, {"type": "auth", "token": "x"}, frame(status, **more))
    assert receipts.outcome(OURS) is outcome


async def test_the_socket_is_private_and_gone_afterwards(socket_dir: Path) -> None:
    receipts = Receipts()
    path = await receipts.listen_in(socket_dir)
    assert path is not None and path.stat().st_mode & 0o777 == 0o600 and path.suffix == ".sock"
    await receipts.close()
    assert list(socket_dir.iterdir()) == []


async def test_a_sessions_own_socket_in_the_same_folder_is_left_alone(
    receipts: Receipts, socket_dir: Path
) -> None:
    theirs = socket_dir / f"{os.getpid()}.sock"
    theirs.touch()
    await receipts.listen_in(socket_dir)
    assert theirs.exists()


async def test_sockets_of_gateways_that_were_killed_are_cleared_and_those_of_live_ones_are_not(
    receipts: Receipts, socket_dir: Path
) -> None:
    dead, live, strange = (socket_dir / f"{name}-cd.sock" for name in ("4999999", "1", "x"))
    for path in (dead, live, strange):
        path.touch()
    await receipts.listen_in(socket_dir)
    assert not dead.exists() and live.exists() and strange.exists()


async def test_a_socket_that_was_cleaned_away_is_made_again(receipts: Receipts, socket_dir: Path) -> None:
    path = await receipts.listen_in(socket_dir)
    assert path is not None
    path.unlink()
    assert await receipts.listen_in(socket_dir) == path and path.is_socket()


async def test_many_who_want_it_at_once_get_one_socket(receipts: Receipts, socket_dir: Path) -> None:
    paths = await asyncio.gather(*(receipts.listen_in(socket_dir) for _ in range(10)))
    assert len(set(paths)) == 1 and len(list(socket_dir.iterdir())) == 1
    receipts.expect(OURS, os.getpid())
    assert paths[0] is not None
    await report(paths[0], frame("denied"))
    assert receipts.outcome(OURS) is Outcome.DENIED


async def test_where_no_socket_can_be_had_nothing_reports(receipts: Receipts, socket_dir: Path) -> None:
    assert await receipts.listen_in(socket_dir / "missing") is None


async def test_probes_garbage_and_other_ids_are_ignored(receipts: Receipts, socket_dir: Path) -> None:
    path = await receipts.listen_in(socket_dir)
    assert path is not None
    receipts.expect(OURS, os.getpid())
    await report(path)
    await report(path, b"{\n", b"null\n", b"[]\n", b"\xff\n", frame("held", orig_msg_id="other"))
    await report(path, frame("held", action="peer_idle_notice"), frame("held", orig_msg_id=7))
    assert receipts.outcome(OURS) is None
    await report(path, b"x" * 200_000)
    await report(path, frame("denied"))
    assert receipts.outcome(OURS) is Outcome.DENIED


async def test_another_process_cannot_report(receipts: Receipts, socket_dir: Path) -> None:
    path = await receipts.listen_in(socket_dir)
    assert path is not None
    receipts.expect(OURS, os.getpid())
    data = json.dumps(frame("denied")).encode() + b"\n"
    script = (
        f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({str(path)!r}); s.sendall({data!r})\n"
        "s.shutdown(socket.SHUT_WR); s.recv(1)"
    )
    other = await asyncio.to_thread(subprocess.Popen, [sys.executable, "-c", script])
    assert await asyncio.to_thread(other.wait) == 0
    assert receipts.outcome(OURS) is None
    receipts.expect(OURS, other.pid)
    await report(path, frame("denied"))
    assert receipts.outcome(OURS) is None, "this process is not the one the message went to"


async def test_what_is_final_stays(receipts: Receipts, socket_dir: Path) -> None:
    path = await receipts.listen_in(socket_dir)
    assert path is not None
    receipts.expect(OURS, os.getpid())
    await report(path, frame("held"), frame("denied"), frame("held"))
    assert receipts.outcome(OURS) is Outcome.DENIED


async def test_only_so_many_messages_are_remembered(receipts: Receipts) -> None:
    receipts.expect(OURS, 1)
    for i in range(600):
        receipts.expect(f"{i}", 1)
    assert receipts.outcome(OURS) is None and len(receipts._expected) <= 512
