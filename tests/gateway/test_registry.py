"""The registry is somebody else's: what is damaged, stale or not ours in it harms no neighbour."""

import asyncio
import hashlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.agents.claude_code import ClaudeCode
from gateway.agents.claude_code.registry import Registry, why_unreachable
from gateway.model import Session, Status
from gateway.platform_process import proc_start


@pytest.fixture
def config_dir(tmp_path: Path) -> Path:
    (tmp_path / "sessions").mkdir()
    return tmp_path


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    yield process
    process.kill()
    process.wait()


def record(pid: int | None = None, **fields: Any) -> dict[str, Any]:
    pid = pid or os.getpid()
    return {
        "pid": pid,
        "procStart": proc_start(pid),
        "sessionId": "s-1",
        "name": "demo",
        "cwd": "/w/demo",
    } | fields


def write(config_dir: Path, data: dict[str, Any], name: str = "") -> Path:
    path = config_dir / "sessions" / (name or f"{data['pid']}.json")
    path.write_text(json.dumps(data))
    return path


def listed(config_dir: Path) -> list[Session]:
    return [one.session for one in Registry(config_dir).records()]


def test_a_live_record_is_a_session(config_dir: Path) -> None:
    write(config_dir, record(status="waiting", waitingFor="input needed"))
    [session] = listed(config_dir)
    assert (session.id, session.name, session.directory) == ("s-1", "demo", "/w/demo")
    assert session.status is Status.WAITING and session.waiting_for == "input needed"


def test_no_registry_is_no_sessions(tmp_path: Path) -> None:
    assert listed(tmp_path / "missing") == []


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b"{",
        b'{"pid": 1',
        b"\xff\xfe",
        b"null",
        b"[]",
        b'{"pid":true,"procStart":"1","sessionId":"x"}',
        b'{"pid":"77","procStart":"1","sessionId":"x"}',
        b'{"pid":77,"procStart":1,"sessionId":"x"}',
        b'{"pid":77,"procStart":"1","sessionId":null}',
        b'{"pid":77,"procStart":"1"}',
        b"[" * 100_000,
    ],
)
def test_a_damaged_record_hides_no_other(config_dir: Path, damaged: bytes) -> None:
    bad = config_dir / "sessions" / "1.json"
    bad.write_bytes(damaged)
    os.utime(bad, (0, 0))
    write(config_dir, record())
    assert [session.name for session in listed(config_dir)] == ["demo"]


@pytest.mark.parametrize(
    "fields",
    [
        {"name": 7, "cwd": ["x"], "status": {}, "waitingFor": None, "statusUpdatedAt": "now"},
        {"statusUpdatedAt": 10**400, "peerProtocol": "one", "messagingSocketPath": 5},
        {"statusUpdatedAt": True, "messagingSocketPath": "relative.sock"},
        {"messagingSocketPath": "/tmp/\x00nul.sock", "name": "\ud800"},
        {"status": "brand-new-status", "statusUpdatedAt": -1},
    ],
)
def test_fields_of_another_type_are_left_out(config_dir: Path, fields: dict[str, Any]) -> None:
    write(config_dir, record(**fields))
    [session] = listed(config_dir)
    assert session.id == "s-1" and session.why_not == "no_socket"
    assert session.name.encode()


def test_a_record_of_another_start_is_not_live(config_dir: Path) -> None:
    write(config_dir, record(procStart="1"))
    assert listed(config_dir) == []


def test_a_killed_sessions_record_is_not_live_also_while_it_is_a_zombie(
    config_dir: Path, child: subprocess.Popen[bytes]
) -> None:
    write(config_dir, record(child.pid))
    assert len(listed(config_dir)) == 1
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert listed(config_dir) == []


def test_hundreds_of_stale_records_cost_little(config_dir: Path) -> None:
    for i in range(400):
        write(config_dir, record(procStart="1"), f"{4_000_000 + i}.json")
    write(config_dir, record())
    began = time.perf_counter()
    assert len(listed(config_dir)) == 1
    assert time.perf_counter() - began < 2


def test_a_record_that_is_being_rewritten_is_read_whole_a_moment_later(config_dir: Path) -> None:
    path = write(config_dir, record())
    whole = path.read_bytes()
    path.write_bytes(whole[:30])
    later = threading.Timer(0.02, path.write_bytes, [whole])
    later.start()
    assert [session.id for session in listed(config_dir)] == ["s-1"]
    later.join()


async def test_a_half_written_record_is_no_sign_that_the_session_ended(config_dir: Path) -> None:
    path = write(config_dir, record(status="busy"))
    agent = ClaudeCode(config_dir)
    [session] = await agent.list()
    path.write_bytes(b'{"pid":')
    assert (await agent.look(session)).status is Status.BUSY
    path.unlink()
    assert (await agent.look(session)).status is Status.GONE
    await agent.close()


async def test_a_changed_conversation_is_found_by_its_process(config_dir: Path) -> None:
    write(config_dir, record())
    agent = ClaudeCode(config_dir)
    [session] = await agent.list()
    write(config_dir, record(sessionId="s-2"))
    assert (await agent.look(session)).id == "s-2"
    await agent.close()


class TestSockets:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        folder = tmp_path / "s"
        folder.mkdir(mode=0o700)
        return folder

    @pytest.fixture
    def path(self, folder: Path) -> Iterator[Path]:
        path = folder / "1.sock"
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(path))
            yield path

    def test_our_own_closed_folder_is_fine(self, path: Path) -> None:
        assert why_unreachable(path) == ""

    @pytest.mark.parametrize("mode", [0o777, 0o770, 0o722, 0o1777])
    def test_a_folder_that_others_can_write_is_not(self, folder: Path, path: Path, mode: int) -> None:
        folder.chmod(mode)
        assert why_unreachable(path) == "not_ours"

    def test_a_folder_of_another_user_is_not(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        uid = os.getuid()
        monkeypatch.setattr(os, "getuid", lambda: uid + 1)
        assert why_unreachable(path) == "not_ours"

    def test_a_link_to_a_socket_is_none(self, folder: Path, path: Path) -> None:
        link = folder / "link.sock"
        link.symlink_to(path)
        assert why_unreachable(link) == "no_socket"

    def test_a_file_or_nothing_is_no_socket(self, folder: Path) -> None:
        (folder / "file.sock").touch()
        assert why_unreachable(folder / "file.sock") == "no_socket"
        assert why_unreachable(folder / "missing.sock") == "no_socket"
        assert why_unreachable(None) == "no_socket"

    @pytest.mark.parametrize(
        "key",
        [None, b"", b"{", b'{"peerToken":7}', b'{"peerToken":"t","procStart":"other"}', b'{"peerToken":"t"}'],
    )
    def test_without_a_key_of_this_very_process_there_is_no_token(
        self, config_dir: Path, path: Path, key: bytes | None
    ) -> None:
        write(config_dir, record(messagingSocketPath=str(path)))
        registry = Registry(config_dir)
        [found] = registry.records()
        digest = hashlib.sha256(os.path.realpath(path).encode()).hexdigest()
        if key is not None:
            (config_dir / "sessions" / f"{os.getpid()}.{digest}.key").write_bytes(key)
        assert registry.peer_token(found) is None
        good = {"peerToken": "t", "procStart": proc_start(os.getpid())}
        (config_dir / "sessions" / f"{os.getpid()}.{digest}.key").write_text(json.dumps(good))
        assert registry.peer_token(found) == "t"


class TestTranscriptPath:
    def agent(self, config_dir: Path) -> ClaudeCode:
        return ClaudeCode(config_dir)

    async def test_the_folder_may_have_any_name(self, config_dir: Path) -> None:
        path = config_dir / "projects" / "-home-dev-2-proj-v1-na-ve-app [x]" / "s-1.jsonl"
        path.parent.mkdir(parents=True)
        path.touch()
        agent = self.agent(config_dir)
        assert agent.transcript_path("s-1") == path
        await agent.close()

    async def test_the_session_id_decides_never_the_newest_file(self, config_dir: Path) -> None:
        folder = config_dir / "projects" / "-a-b-c"
        folder.mkdir(parents=True)
        (folder / "S1.jsonl").touch()
        (folder / "S2.jsonl").touch()
        os.utime(folder / "S1.jsonl", (0, 0))
        agent = self.agent(config_dir)
        assert agent.transcript_path("S1") == folder / "S1.jsonl"
        await agent.close()

    @pytest.mark.parametrize("session_id", ["", "../s-1", "/etc/x", ".hidden", "*", "[a-z]", "a\0b"])
    async def test_an_id_is_never_a_pattern_or_a_way_out(self, config_dir: Path, session_id: str) -> None:
        folder = config_dir / "projects" / "-w"
        folder.mkdir(parents=True)
        (folder / "s-1.jsonl").touch()
        agent = self.agent(config_dir)
        assert agent.transcript_path(session_id) is None
        await agent.close()

    async def test_without_a_transcript_there_is_nothing_to_see(self, config_dir: Path) -> None:
        write(config_dir, record())
        agent = self.agent(config_dir)
        [session] = await agent.list()
        view = await agent.follow(session).view(None)
        assert view.turns == () and view.last is None and view.end.offset == 0
        await asyncio.sleep(0)
        await agent.close()
