"""From a transcript that has settled to the reply that leaves the gateway.

A waiting ask, a last line that is a `turn_duration` or an API error, and the moment the
reply arrives at a client on loopback; against a poller that looks every 750 ms, which is
what the comparable bridge does, on the same writes.
"""

import asyncio
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import aiohttp

from gateway.service import HttpGateway, Voice, open_service
from gateway.settings import load
from tests.bench.report import Figure, percentile
from tests.gateway.fake_session import FakeSession, Line, silent, text, turn_duration

ROUNDS = 40
POLL_S = 0.75
BAR_MS = 25.0


async def measure() -> list[Figure]:
    """Both endings."""
    with tempfile.TemporaryDirectory(prefix="cd-", dir="/tmp") as folder:
        root = Path(folder)
        environ = {"HOME": folder, "CODRIVER_TOKEN": "bench", "CODRIVER_PORT": "0"}
        session = await FakeSession(root / ".claude", root).start()
        session.mind = silent
        service = await open_service(load(None, environ), voice=Voice(None, None))
        gateway = HttpGateway(service)
        url = f"http://127.0.0.1:{await gateway.start()}/voice/ask"
        async with aiohttp.ClientSession(headers={"Authorization": "Bearer bench"}) as http:
            done = await _endings(http, url, session, lambda: [text("Done."), turn_duration()])
            failed = await _endings(http, url, session, lambda: [_failure()])
        await gateway.stop()
        await session.stop()
    return [_figure("turn_duration → reply", done), _figure("API error → reply", failed)]


async def _endings(
    http: aiohttp.ClientSession, url: str, session: FakeSession, ending: Callable[[], list[Line]]
) -> list[tuple[float, float]]:
    """Seconds from the last line to the reply, and what a poller would have taken for the same line."""
    found = []
    for i in range(ROUNDS):
        session.set(status="busy")
        asking = asyncio.create_task(_ask(http, url, f"round {i} {random.random()}"))
        began = time.monotonic()
        await asyncio.sleep(0.4 + random.random() * 0.3)
        session.set(status="idle")
        session.write(*ending())
        settled = time.monotonic()
        done = await asking
        polled_s = POLL_S - ((settled - began) % POLL_S)
        found.append((done - settled, polled_s))
        await asyncio.sleep(1.7)
    return found


async def _ask(http: aiohttp.ClientSession, url: str, message: str) -> float:
    async with http.post(url, json={"message": message, "wait": 20}) as response:
        await response.read()
        return time.monotonic()


def _failure() -> Line:
    line = text("API Error: 529 overloaded", stop_reason="stop_sequence")
    return line | {"isApiErrorMessage": True, "error": "server_error"}


def _figure(name: str, found: list[tuple[float, float]]) -> Figure:
    took = [seconds * 1000 for seconds, _ in found]
    polled = [seconds * 1000 for _, seconds in found]
    p50, p95, by_poll = percentile(took, 0.5), percentile(took, 0.95), percentile(polled, 0.5)
    return Figure(
        name=name,
        measured=f"p50 {p50:.1f} ms, p95 {p95:.1f} ms; a 750 ms poll: {by_poll:.0f} ms",
        bar=f"p50 under {BAR_MS:.0f} ms",
        is_met=p50 < BAR_MS,
        values={"p50_ms": p50, "p95_ms": p95, "poll_p50_ms": by_poll},
    )
