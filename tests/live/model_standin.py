"""A scripted stand-in for the model API, on loopback, in the test's own process.

A test registers a script under a keyword; a request is answered by the script whose
keyword stands last, as a whole word, in the latest user message that has one. Step k
answers the request that has k assistant turns behind that message. (After a failed turn
the CLI sends the next words in one user message with the failed ones: hence "last".)
What the driver's messages looked like to the model is kept, to prove delivery word for word.
"""

import asyncio
import json
import re
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from aiohttp import web

from tests.live.script import Delivery, Failure, Json, Script, Step, asking, deliveries, say, text, texts

BODY_LIMIT_BYTES = 64 << 20
CHUNK_CHARACTERS = 20
UNSCRIPTED = "Nobody wrote a script for this."
EXHAUSTED = "The script is over."


class ModelStandin:
    """The scripts, the door they are served at, and what came in.

    `otherwise` answers a message without a keyword. `canaries` are words the model must
    never see; those it saw are in `leaked`.
    """

    def __init__(self) -> None:
        self.port = 0
        self.otherwise = UNSCRIPTED
        self.delivered: list[Delivery] = []
        self.canaries: set[str] = set()
        self.leaked: set[str] = set()
        self._scripts: dict[str, Script] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def script(self, keyword: str, *steps: Step) -> Script:
        """Register what the model answers to messages with `keyword`; a keyword is used once."""
        if re.fullmatch(r"[a-z]+", keyword) is None or keyword in self._scripts:
            raise ValueError(f"A keyword is one new word in small letters: {keyword!r}")
        self._scripts[keyword] = Script(steps)
        return self._scripts[keyword]

    def answer(self, keyword: str, words: str) -> Script:
        """The short form for a turn that answers at once."""
        return self.script(keyword, say(words))

    @asynccontextmanager
    async def serving(self) -> AsyncIterator["ModelStandin"]:
        application = web.Application(client_max_size=BODY_LIMIT_BYTES)
        application.router.add_post("/v1/messages", self._messages)
        application.router.add_route("*", "/{anything:.*}", _nothing_here)
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        try:
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            self.port = runner.addresses[0][1]
            yield self
        finally:
            await runner.cleanup()

    def words(self, keyword: str) -> list[str]:
        """The driver's words with `keyword` in them, one entry for each message the model got."""
        held = re.compile(rf"\b{keyword}\b", re.IGNORECASE)
        return [delivery.words for delivery in self.delivered if held.search(delivery.words)]

    async def _messages(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        if not body.get("tools"):
            return await _send(request, body, say('{"title":"A title"}'))
        self._keep(body["messages"])
        raw = await request.text()
        self.leaked |= {canary for canary in self.canaries if canary in raw}
        step = self._step(body["messages"])
        if step.gate is not None:
            await step.gate.wait()
        await asyncio.sleep(step.delay_s)
        return _error(step.failure) if step.failure else await _send(request, body, step)

    def _step(self, messages: Sequence[Json]) -> Step:
        found = self._find(messages)
        if found is None:
            return say(self.otherwise)
        script, index = found
        script.requests.append(index)
        if index >= len(script.steps):
            return say(EXHAUSTED)
        step = script.steps[index]
        if step.fault_times is not None and script.requests.count(index) > step.fault_times:
            return replace(step, failure=None, is_cut=False)
        return step

    def _find(self, messages: Sequence[Json]) -> tuple[Script, int] | None:
        """The script that was called for, and the assistant turns since."""
        behind = 0
        for message in reversed(messages):
            if message["role"] == "assistant":
                behind += 1
                continue
            for block in reversed(texts(message)):
                found = [word for word in re.findall(r"\w+", asking(block).lower()) if word in self._scripts]
                if found:
                    return self._scripts[found[-1]], behind
        return None

    def _keep(self, messages: Sequence[Json]) -> None:
        """Requests repeat the conversation: only what was not seen before is new.

        A message that is in the conversation twice counts twice.
        """
        known = Counter(self.delivered)
        for delivery in deliveries(messages):
            if known[delivery] > 0:
                known[delivery] -= 1
            else:
                self.delivered.append(delivery)


async def _nothing_here(request: web.Request) -> web.Response:
    await request.read()
    return web.json_response({"type": "error", "error": {"type": "not_found_error"}}, status=404)


def _error(failure: Failure) -> web.Response:
    headers = {} if failure.retry_after_s is None else {"retry-after": str(failure.retry_after_s)}
    body = {"type": "error", "error": {"type": failure.kind, "message": failure.message}}
    return web.json_response(body, status=failure.status, headers=headers)


async def _send(request: web.Request, body: Json, step: Step) -> web.StreamResponse:
    message = {
        "id": f"msg_{uuid.uuid4().hex[:20]}",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 1},
    }
    if not body.get("stream"):
        return web.json_response(message | {"content": list(step.blocks), "stop_reason": step.stop})
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    async for name, event in _events(message, step):
        line = json.dumps({"type": name} | event)
        await response.write(f"event: {name}\ndata: {line}\n\n".encode())
    if step.is_cut and request.transport is not None:
        request.transport.abort()
    return response


async def _events(message: Json, step: Step) -> AsyncIterator[tuple[str, Json]]:
    yield "message_start", {"message": message}
    for index, block in enumerate(step.blocks):
        at = {"index": index}
        is_last = index == len(step.blocks) - 1
        if block["type"] == "text":
            yield "content_block_start", at | {"content_block": text("")}
            words = block["text"][: len(block["text"]) // 2] if step.is_cut and is_last else block["text"]
            async for piece in _pieces(words, step.chunk_delay_s):
                yield "content_block_delta", at | {"delta": {"type": "text_delta", "text": piece}}
        else:
            yield "content_block_start", at | {"content_block": block | {"input": {}}}
            arguments = json.dumps(block["input"])
            yield (
                "content_block_delta",
                at | {"delta": {"type": "input_json_delta", "partial_json": arguments}},
            )
        if step.is_cut and is_last:
            return
        yield "content_block_stop", at
    yield (
        "message_delta",
        {
            "delta": {"stop_reason": step.stop, "stop_sequence": None},
            "usage": {"output_tokens": 10},
        },
    )
    yield "message_stop", {}


async def _pieces(words: str, delay_s: float) -> AsyncIterator[str]:
    if not delay_s:
        yield words
        return
    for start in range(0, len(words), CHUNK_CHARACTERS):
        yield words[start : start + CHUNK_CHARACTERS]
        await asyncio.sleep(delay_s)
