"""How long a request waits, and from when."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from tests.gateway.conftest import Client
from tests.gateway.fake_session import FakeSession, answer_with


async def test_a_slow_upload_does_not_use_up_the_wait(client: Client, session: FakeSession) -> None:
    def later(fake: FakeSession, content: str, frame: dict[str, Any]) -> None:
        asyncio.get_running_loop().call_later(0.4, answer_with("Done."), fake, content, frame)

    async def slowly() -> AsyncIterator[bytes]:
        yield b"run the "
        await asyncio.sleep(1.2)
        yield b"tests"

    session.mind = later
    headers = {"Content-Type": "text/plain"}
    url = f"{client.url}/voice/ask?wait=1"
    async with client.http.post(url, data=slowly(), headers=headers) as response:
        assert await response.text() == "Done."
