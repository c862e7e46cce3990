"""What the stand-in for the model is told to answer, and what it got to see.

Content blocks are the model API's own JSON objects.
"""

import asyncio
import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

# What a peer's message looks like to the model (observed, CLI 2.1.332), with or without an envelope.
_DELIVERED = re.compile(
    r"Another Claude session sent a message:\n(?:<cross-session-message [^\n]*>\n)?"
    r"(?P<words>.*?)\n\n--- codriver note (?P<nonce>[0-9a-f]+) ---",
    re.DOTALL,
)
_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Failure:
    """An HTTP error instead of an answer; `kind` is the API's error type."""

    status: int
    kind: str
    message: str = "the stand-in was told to fail"
    retry_after_s: int | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One model answer: content blocks as the API names them, and how they come.

    `gate` holds the answer back until the test sets it; `delay_s` waits before the
    first byte; `chunk_delay_s` streams text slowly; `is_cut` drops the connection in the
    middle of the last block. `fault_times`: only so many requests meet the failure or
    the cut, later ones get the blocks.
    """

    blocks: tuple[Json, ...] = ()
    stop_reason: str | None = None
    gate: asyncio.Event | None = None
    delay_s: float = 0.0
    chunk_delay_s: float = 0.0
    failure: Failure | None = None
    is_cut: bool = False
    fault_times: int | None = None

    @property
    def stop(self) -> str:
        uses_tool = any(block["type"] == "tool_use" for block in self.blocks)
        return self.stop_reason or ("tool_use" if uses_tool else "end_turn")


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def tool(name: str, **arguments: Any) -> Json:
    return {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex[:20]}", "name": name, "input": arguments}


def bash(command: str, description: str) -> Json:
    return tool("Bash", command=command, description=description)


def say(words: str, **how: Any) -> Step:
    """A step that answers with one text."""
    return Step(blocks=(text(words),), **how)


def fail(status: int, kind: str, message: str = "the stand-in was told to fail") -> Step:
    """A step that fails for as often as it is asked."""
    return Step(failure=Failure(status=status, kind=kind, message=message))


@dataclass(frozen=True, slots=True)
class Delivery:
    """A driver's words as the model saw them, and the nonce of the note behind them."""

    words: str
    nonce: str


@dataclass(slots=True)
class Script:
    """The steps of one keyword, and which of them were asked for."""

    steps: Sequence[Step]
    requests: list[int] = field(default_factory=list)

    async def asked(self, index: int = 0, limit_s: float = 20.0) -> None:
        """Wait until the model was asked for step `index`: from then on that turn is running."""
        async with asyncio.timeout(limit_s):
            while index not in self.requests:
                await asyncio.sleep(0.02)


def texts(message: Json) -> list[str]:
    """The text blocks of a message, without tool results."""
    content = message["content"]
    if isinstance(content, str):
        return [content]
    return [block["text"] for block in content if block["type"] == "text"]


def deliveries(messages: Sequence[Json]) -> list[Delivery]:
    """The driver's messages in one request, oldest first."""
    blocks = [block for message in messages if message["role"] == "user" for block in texts(message)]
    return [
        Delivery(found["words"], found["nonce"]) for block in blocks for found in _DELIVERED.finditer(block)
    ]


def asking(block: str) -> str:
    """What a person asks in a text block: the driver's words, else what was typed at the computer."""
    spoken = [found["words"] for found in _DELIVERED.finditer(block)]
    return "\n".join(spoken) if spoken else _REMINDER.sub("", block)
