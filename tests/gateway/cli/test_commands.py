"""The command line as a user meets it: output, exit codes, no traceback."""

import argparse
import asyncio
import io
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from gateway.cli.main import main, parser
from tests.gateway.conftest import TOKEN, Running
from tests.gateway.fake_session import FakeSession, answer_with, text, turn_duration, user

Told = tuple[int, str, str]


def call(environ: dict[str, str], *argv: str) -> Told:
    """Run one command in this thread: exit code, output, errors."""
    out, err = io.StringIO(), io.StringIO()
    return main(argv, environ, out, err), out.getvalue(), err.getvalue()


async def command(environ: dict[str, str], *argv: str) -> Told:
    """The same beside a running event loop."""
    return await asyncio.to_thread(call, environ, *argv)


def names() -> list[str]:
    actions = [a for a in parser()._actions if isinstance(a, argparse._SubParsersAction)]
    return [name for action in actions for name in action.choices]


@pytest.mark.parametrize("name", names())
def test_every_command_has_help(
    name: str, environ: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(environ, name, "--help")[0] == 0
    assert f"codriver {name}" in capsys.readouterr().out


@pytest.mark.parametrize("argv", [[], ["nonsense"], ["ask"], ["serve", "--port", "x"], ["say"]])
def test_bad_usage_ends_with_two(argv: list[str], environ: dict[str, str]) -> None:
    assert call(environ, *argv)[0] == 2


def test_bad_settings_are_told_all_at_once(environ: dict[str, str]) -> None:
    code, _, err = call({**environ, "CODRIVER_PORT": "x", "CODRIVER_SPEECH_MAX_WORDS": "7"}, "sessions")
    assert code == 1
    assert "CODRIVER_PORT" in err
    assert "CODRIVER_SPEECH_MAX_WORDS" in err


def test_serve_refuses_to_start_without_a_token(environ: dict[str, str]) -> None:
    del environ["CODRIVER_TOKEN"]
    code, out, err = call(environ, "serve")
    assert (code, out) == (1, "")
    assert "CODRIVER_TOKEN" in err


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "gateway.example"])
def test_no_auth_is_refused_off_loopback(host: str, environ: dict[str, str]) -> None:
    code, _, err = call(environ, "serve", "--no-auth", "--host", host)
    assert code == 1
    assert "loopback" in err


def test_a_taken_port_is_a_sentence(environ: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, _, err = call(environ, "serve", "--port", str(taken.getsockname()[1]))
    assert code == 1
    assert "Cannot listen" in err
    assert "Traceback" not in err


def test_a_linked_database_is_refused(environ: dict[str, str], tmp_path: Path) -> None:
    victim = tmp_path / "victim.txt"
    victim.write_text("keep me")
    state = tmp_path / "state"
    state.mkdir()
    (state / "codriver.sqlite3").symlink_to(victim)
    code, _, err = call({**environ, "CODRIVER_STATE_DIR": str(state)}, "ask", "hello")
    assert code == 1
    assert "symbolic link" in err
    assert victim.read_text() == "keep me"


async def test_words_are_asked_in_this_process_where_no_gateway_runs(
    environ: dict[str, str], session: FakeSession
) -> None:
    environ["CODRIVER_PORT"] = "1"
    code, out, err = await command(environ, "ask", "run", "the tests")
    assert (code, out, err) == (0, "Done.\n", "")
    assert session.messages[0].startswith("run the tests\n\n")
    assert await command(environ, "reply", "--wait", "0") == (0, "Nothing new.\n", "")


async def test_words_are_asked_through_the_running_gateway(
    environ: dict[str, str], session: FakeSession, running: Running
) -> None:
    await running.start()
    environ["CODRIVER_URL"] = f"http://127.0.0.1:{running.port}/"
    code, out, _ = await command(environ, "ask", "--json", "-s", "demo", "more")
    reply = json.loads(out)
    assert code == 0
    assert reply["say"] == "Done."
    assert session.messages[0].startswith("more\n\n"), "spoken commands are off in a shell"


async def test_an_unknown_session_ends_with_one_and_a_sentence(
    environ: dict[str, str], session: FakeSession
) -> None:
    environ["CODRIVER_PORT"] = "1"
    code, out, err = await command(environ, "ask", "-s", "nowhere", "hello")
    assert (code, out) == (1, "")
    assert "demo" in err
    assert session.messages == []


async def test_a_working_session_is_no_failure(environ: dict[str, str], session: FakeSession) -> None:
    environ["CODRIVER_PORT"] = "1"
    session.mind = answer_with(ends=False)
    session.set(status="busy")
    code, out, _ = await command(environ, "ask", "--wait", "0", "go on")
    assert code == 0
    assert out.startswith("Still working")


async def test_several_sessions_are_asked_at_once(
    environ: dict[str, str], session: FakeSession, home: Path, socket_dir: Path
) -> None:
    environ["CODRIVER_PORT"] = "1"
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    other = FakeSession(home / ".claude", socket_dir, "other", pid=sleeper.pid)
    try:
        await other.start()
        other.mind = answer_with("From the other one.")
        code, out, _ = await command(environ, "ask", "-s", "demo", "-s", "other", "hello")
    finally:
        await other.stop()
        sleeper.kill()
        sleeper.wait()
    assert code == 0
    assert sorted(out.splitlines()) == ["demo: Done.", "other: From the other one."]


async def test_sessions_are_listed_and_with_all_those_that_cannot_be_driven(
    environ: dict[str, str], session: FakeSession
) -> None:
    environ["CODRIVER_PORT"] = "1"
    assert "demo" in (await command(environ, "sessions"))[1]
    session.set(messagingSocketPath=None)
    assert "demo" not in (await command(environ, "sessions"))[1]
    rows: list[dict[str, Any]] = json.loads((await command(environ, "sessions", "--all", "--json"))[1])
    assert [(row["name"], row["can_be_driven"]) for row in rows] == [("demo", False)]
    assert rows[0]["why_not"]


async def test_an_unreachable_gateway_is_a_sentence(environ: dict[str, str]) -> None:
    environ["CODRIVER_URL"] = "http://127.0.0.1:1"
    code, _, err = await command(environ, "ask", "hello")
    assert code == 1
    assert "codriver serve" in err


def test_serve_answers_and_stops_on_a_signal(environ: dict[str, str]) -> None:
    command_line = [sys.executable, "-m", "gateway", "serve", "--port", "0"]
    clean = {"PATH": os.environ["PATH"], **environ}
    del clean["CODRIVER_PORT"]
    with subprocess.Popen(
        command_line, env=clean, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as served:
        assert served.stdout is not None
        url = served.stdout.readline().split()[-1]
        with urllib.request.urlopen(f"{url}/healthz", timeout=10) as response:
            assert response.read() == b"ok\n"
        began = time.monotonic()
        served.send_signal(signal.SIGTERM)
        _, err = served.communicate(timeout=30)
        assert served.returncode == 0
        assert time.monotonic() - began < 20
        assert "Traceback" not in err
        assert TOKEN not in err


async def test_doctor_says_what_to_do(environ: dict[str, str], session: FakeSession, home: Path) -> None:
    code, out, _ = await command(environ, "doctor", "--json")
    findings = {finding["check"]: finding for finding in json.loads(out)}
    assert findings["token"]["level"] == "ok"
    assert "socket answers" in findings["session"]["found"]
    assert findings["registry"]["level"] == "ok"
    assert session.frames == [], "doctor delivers nothing"
    del environ["CODRIVER_TOKEN"]
    state = home / ".local" / "state" / "codriver"
    state.mkdir(parents=True, exist_ok=True)
    state.chmod(0o755)
    session.set(peerProtocol=2)
    code, out, _ = await command(environ, "doctor")
    assert code == 1
    assert "no token is set" in out
    assert "chmod 700" in out
    assert "protocol 2" in out


async def test_reply_tells_what_is_new(environ: dict[str, str], session: FakeSession) -> None:
    environ["CODRIVER_PORT"] = "1"
    session.write(user("run the tests"), text("Tests pass."), turn_duration())
    assert (await command(environ, "reply"))[1] == "Tests pass.\n"


@pytest.mark.models
def test_what_is_said_can_be_transcribed(environ: dict[str, str], tmp_path: Path) -> None:
    for name in ("words.wav", "words.mp3", "words.m4a", "words.ogg"):
        assert call(environ, "say", "-o", str(tmp_path / name), "Please run the tests.")[0] == 0
    code, out, _ = call(
        environ, "transcribe", "--json", *(str(path) for path in sorted(tmp_path.glob("words.*")))
    )
    assert code == 0
    # The voice says it a little differently each time, and the small model may miss an "s".
    heard = [set(row["text"].lower().strip(" .").split()) for row in json.loads(out)]
    assert len(heard) == 4
    assert all({"please", "run", "the"} <= words for words in heard), heard


@pytest.mark.models
def test_what_is_no_recording_is_a_sentence(environ: dict[str, str], tmp_path: Path) -> None:
    page = tmp_path / "page.m4a"
    page.write_text("<html>502 Bad Gateway</html>")
    code, out, err = call(environ, "transcribe", str(page), str(tmp_path / "missing.wav"))
    assert (code, out) == (1, "")
    assert "could not read that recording" in err
    assert "cannot be read" in err


@pytest.mark.models
def test_the_demo_makes_one_spoken_round_trip(environ: dict[str, str], tmp_path: Path) -> None:
    clean = {"PATH": os.environ["PATH"], "HOME": environ["HOME"]}
    command_line = [sys.executable, "-m", "gateway", "demo", "--once", "--say", "Please take the slow road."]
    done = subprocess.run(
        command_line, env=clean, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "word for word" in done.stdout
    assert "The slow road is behind us." in done.stdout
    assert (tmp_path / "demo-reply.mp3").stat().st_size > 1000
    assert list(Path(environ["HOME"]).iterdir()) == [], "nothing of the user's is touched"
