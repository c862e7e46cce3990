"""The rehearsal as a process: it appears whole, and leaves nothing behind however it ends."""

import asyncio
import os
import signal
import stat
import sys
from pathlib import Path

import pytest

import gateway
from gateway.agents.rehearsal.process import launch, private_root
from gateway.errors import Unavailable
from gateway.platform_process import is_alive, proc_start


def _mode(path):
    return stat.S_IMODE(path.stat().st_mode)


async def test_record_names_this_very_process(driver):
    record = driver.record()
    assert record["pid"] == driver.process.pid
    assert record["procStart"] == proc_start(driver.process.pid)
    assert record["sessionId"] == driver.process.session_id
    assert (record["name"], record["status"], record["kind"]) == ("rehearsal", "idle", "interactive")
    assert Path(record["cwd"]) == driver.process.root / "work"


async def test_only_the_owner_can_read_or_send(driver):
    assert _mode(driver.key_path) == _mode(driver.socket_path) == 0o600
    assert _mode(driver.socket_path.parent) == _mode(driver.record_path.parent) == 0o700
    await driver.send("hello")
    await driver.settled()
    (transcript,) = driver.process.config_dir.glob("projects/*/*.jsonl")
    assert _mode(transcript) == 0o600
    assert _mode(transcript.parent) == 0o700


async def test_no_transcript_before_the_first_message(driver):
    assert list(driver.process.config_dir.glob("projects/*/*")) == []


async def test_ending_takes_record_key_and_socket_away(tmp_path_factory):
    root = tmp_path_factory.mktemp("r")
    async with launch(root) as process:
        start = proc_start(process.pid)
    assert not is_alive(process.pid, start)
    assert list((root / "claude" / "sessions").iterdir()) == []
    assert list((root / "cc-socks").iterdir()) == []


async def test_sigterm_alone_tidies_up(driver):
    paths = (driver.record_path, driver.key_path, driver.socket_path)
    os.kill(driver.process.pid, signal.SIGTERM)
    await driver.until(lambda: not any(path.exists() for path in paths))


async def test_killed_session_leaves_its_record_until_the_launcher_sweeps(tmp_path_factory, rehearse):
    root = tmp_path_factory.mktemp("r")
    async with launch(root) as process:
        record = root / "claude" / "sessions" / f"{process.pid}.json"
        socket = root / "cc-socks" / f"{process.pid}.sock"
        start = proc_start(process.pid)
        os.kill(process.pid, signal.SIGKILL)
        async with asyncio.timeout(10):
            while is_alive(process.pid, start):
                await asyncio.sleep(0.01)
        assert record.exists()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_unix_connection(str(socket))
    assert not record.exists()
    assert not socket.exists()


async def test_ends_when_its_parent_is_killed(tmp_path_factory):
    root = tmp_path_factory.mktemp("r")
    script = (
        "import asyncio, sys\nfrom pathlib import Path\n"
        "from gateway.agents.rehearsal.process import launch\n"
        "async def main():\n"
        "    async with launch(Path(sys.argv[1])) as process:\n"
        "        print(process.pid, flush=True)\n"
        "        await asyncio.sleep(60)\n"
        "asyncio.run(main())\n"
    )
    parent = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-c", script, str(root)),
        stdout=asyncio.subprocess.PIPE,
        cwd=Path(gateway.__file__).parents[1],
    )
    pid = int(await parent.stdout.readline())
    start = proc_start(pid)
    assert is_alive(pid, start)
    parent.kill()
    await parent.communicate()
    async with asyncio.timeout(10):
        while is_alive(pid, start):
            await asyncio.sleep(0.02)
    assert list((root / "claude" / "sessions").iterdir()) == []


async def test_root_with_a_path_too_long_for_a_socket_is_refused(tmp_path):
    with pytest.raises(Unavailable):
        async with launch(tmp_path / ("x" * 100)):
            pass


async def test_session_that_cannot_start_is_reported(tmp_path_factory):
    root = tmp_path_factory.mktemp("r")
    (root / "claude").write_text("in the way")
    with pytest.raises(Unavailable):
        async with launch(root):
            pass


def test_private_root_is_the_owners_and_goes_away():
    with private_root() as root:
        assert _mode(root) == 0o700
        (root / "claude").mkdir()
        (root / "claude" / "x").write_text("x")
    assert not root.exists()


@pytest.mark.parametrize("arguments", [[], ["--root", "x", "--time-scale", "0"], ["--root", "x", "--what"]])
async def test_bad_usage_is_exit_2(arguments, tmp_path):
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "gateway.agents.rehearsal", *arguments),
        stderr=asyncio.subprocess.PIPE,
        cwd=Path(gateway.__file__).parents[1],
    )
    _, said = await process.communicate()
    assert process.returncode == 2
    assert b"Traceback" not in said
