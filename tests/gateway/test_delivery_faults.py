"""Crashes, broken connections, reports and silence: what is not known of a message is said, never guessed."""

import asyncio
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from gateway import looking
from tests.gateway.conftest import TOKEN, Client, Running
from tests.gateway.fake_session import (
    FakeSession,
    answer_with,
    deaf,
    enqueue,
    peer,
    send_receipt,
    silent,
    text,
    tool_use,
    turn_duration,
    until,
    user,
)


class TestCrashes:
    SCRIPT = """
import asyncio, os, signal, sys
from gateway.agents.protocol import Mark, Position, Sent
from gateway.service import Voice, open_service
from gateway.settings import load
from gateway.utterance import Utterance

async def main():
    service = await open_service(load(None, dict(os.environ)), voice=Voice(None, None))
    agent = service.agents[0]
    send = agent.send
    async def killed(session, message):
        if sys.argv[1] == "after":
            await send(session, message)
        os.kill(os.getpid(), signal.SIGKILL)
    agent.send = killed
    now = service.clock.monotonic()
    async for _ in service.dialog.converse(Utterance("default", 1.0, now, words="go", request_id="r-1")):
        pass

asyncio.run(main())
"""

    async def crash(self, running: Running, when: str) -> None:
        root = str(Path(__file__).parents[2])
        allowed = {"CODRIVER_ALLOW_SELF": "1"}  # the session is this process, the parent of the child
        environ = running.environ | allowed | {"PYTHONPATH": root, "PATH": os.environ["PATH"]}
        child = await asyncio.create_subprocess_exec(sys.executable, "-c", self.SCRIPT, when, env=environ)
        assert await child.wait() == -signal.SIGKILL

    @pytest.mark.parametrize("when", ["before", "after"])
    async def test_a_kill_between_claim_and_record_never_sends_twice_and_is_called_unknown(
        self, running: Running, session: FakeSession, when: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(looking, "LOST_S", 1.0)
        session.mind = deaf
        await self.crash(running, when)
        sent = len(session.messages)
        assert sent == (1 if when == "after" else 0)
        client = await running.start()
        reply = await client.ask("go", id="r-1", wait=0)
        assert reply["delivery"] == "unknown" and reply["state"] == "working"
        reply = await client.reply(wait=5)
        assert reply["state"] == "error" and "do not know whether your message arrived" in reply["say"]
        assert len(session.messages) == sent
        assert (await client.reply(wait=0))["say"] == "Nothing new."

    async def test_what_arrived_all_the_same_is_found(self, running: Running, session: FakeSession) -> None:
        session.mind = answer_with("Done.")
        await self.crash(running, "after")
        client = await running.start()
        assert (await client.ask("go", id="r-1"))["say"] == "Done."
        assert len(session.messages) == 1

    async def test_a_connection_that_broke_after_the_first_byte_is_unknown(
        self, client: Client, session: FakeSession
    ) -> None:
        assert session._server is not None
        session._server.close()
        session.socket_path.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as broken:
            broken.bind(str(session.socket_path))
            broken.listen()
            broken.setblocking(False)
            asking = asyncio.create_task(client.ask("x" * 60_000, wait=0, id="r-1"))
            taken, _ = await asyncio.get_running_loop().sock_accept(broken)
            await asyncio.get_running_loop().sock_recv(taken, 1)
            taken.close()
            reply = await asking
        assert reply["delivery"] == "unknown" and reply["state"] == "working"


class TestReceipts:
    @pytest.mark.parametrize(
        ("status", "more", "outcome", "says"),
        [
            ("denied", {}, "denied", "turned down"),
            ("expired", {}, "expired", "Nobody approved"),
            ("expired", {"status_detail": "refused"}, "refused", "takes no messages"),
            ("dropped", {"drop_reason": "duplicate"}, "dropped", "dropped"),
        ],
    )
    async def test_what_the_session_reports_is_said(
        self, client: Client, session: FakeSession, status: str, more: dict[str, str], outcome: str, says: str
    ) -> None:
        session.mind = deaf
        asking = asyncio.create_task(client.ask("go", wait=8))
        await send_receipt(session, status, **more)
        reply = await asking
        assert (reply["state"], reply["delivery"]) == ("error", outcome)
        assert says in reply["say"]
        assert (await client.reply(wait=0))["say"] == "Nothing new."

    async def test_a_held_message_is_needs_answer_until_it_is_approved(
        self, client: Client, session: FakeSession
    ) -> None:
        session.mind = deaf
        asking = asyncio.create_task(client.ask("go", wait=8))
        await send_receipt(session, "held")
        reply = await asking
        assert (reply["state"], reply["delivery"], reply["question"]["kind"]) == (
            "needs_answer",
            "held",
            "permission",
        )
        await send_receipt(session, "delivered")
        frame = next(frame for frame in session.frames if frame["type"] == "user")
        session.write(peer(frame), text("Done."), turn_duration())
        assert (await client.reply())["say"] == "Done."

    async def test_a_report_in_another_name_changes_nothing(
        self, client: Client, session: FakeSession
    ) -> None:
        session.mind = deaf
        asking = asyncio.create_task(client.ask("go", wait=1))
        await send_receipt(session, "denied", orig_msg_id="6f000000-0000-4000-8000-000000000000")
        assert (await asking)["delivery"] == "accepted"


class TestTraces:
    async def test_a_message_without_a_trace_is_unconfirmed_then_unknown(
        self, client: Client, session: FakeSession, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(looking, "UNSEEN_S", 0.8)
        monkeypatch.setattr(looking, "LOST_S", 2.0)
        session.mind = deaf
        first = await client.ask("go", wait=0.2)
        assert (first["state"], first["delivery"]) == ("working", "accepted")
        second = await client.reply(wait=1)
        assert second["state"] == "working" and "has not picked it up" in second["say"]
        third = await client.reply(wait=10)
        assert (third["state"], third["delivery"]) == ("error", "unknown")
        assert len(session.messages) == 1

    async def test_a_busy_session_is_given_all_the_time(
        self, client: Client, session: FakeSession, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(looking, "LOST_S", 0.5)
        monkeypatch.setattr(looking, "UNSEEN_S", 0.2)
        session.set(status="busy")
        session.mind = deaf
        assert (await client.ask("go", wait=1.5))["state"] == "working"

    async def test_a_queued_message_is_accepted_and_said_to_wait(
        self, client: Client, session: FakeSession
    ) -> None:
        def mind(fake: FakeSession, content: str, frame: dict[str, Any]) -> None:
            fake.write(enqueue(content))

        session.write(user("typed there"), tool_use("t", "Bash"))
        session.set(status="busy")
        session.mind = mind
        reply = await client.ask("go", wait=1)
        assert (reply["state"], reply["delivery"]) == ("working", "accepted")
        assert "comes first" in reply["say"] or "next" in reply["say"]

    async def test_a_client_that_hangs_up_does_not_stop_the_message(
        self, client: Client, session: FakeSession
    ) -> None:
        session.mind = silent
        _reader, writer = await asyncio.open_connection("127.0.0.1", int(client.url.rpartition(":")[2]))
        body = b"go"
        writer.write(
            f"POST /voice/ask?wait=20 HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        await writer.drain()
        writer.transport.abort()
        await until(lambda: len(session.messages) == 1)
        session.set(status="idle")
        session.write(text("Done."), turn_duration())
        assert (await client.reply())["say"] == "Done."

    async def test_nothing_that_was_not_asked_for_is_sent(self, client: Client, session: FakeSession) -> None:
        async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {TOKEN}"}) as http:
            for path in ("reply", "sessions", "ping"):
                async with http.get(f"{client.url}/voice/{path}?wait=0") as response:
                    await response.read()
        assert session.frames == []
