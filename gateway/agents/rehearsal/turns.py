"""The turn machine: what waits, what runs, and what a message does to a turn that runs.

As observed with CLI 2.1.332. All that waits when a turn begins shares it and its answer. While the
model speaks, a message waits; one sent `now` cuts the model short and begins a new turn with all
that waits. While a tool runs, the default priority is absorbed: it goes to the model with the tool's
result and has no turn of its own; `later` waits; `now` lets the tool end and then takes over. A form
or a permission lets everything wait, except `now`, which withdraws it.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from gateway.agents.rehearsal.frames import Priority
from gateway.agents.rehearsal.journal import Journal
from gateway.agents.rehearsal.message import Incoming
from gateway.agents.rehearsal.notices import IdleNotices
from gateway.agents.rehearsal.record import Record, Status, WaitingFor
from gateway.agents.rehearsal.scenes import (
    ApiError,
    FinalText,
    Form,
    Permission,
    Scene,
    Text,
    ToolUse,
    Wait,
    echo,
    scene_of_turn,
)

# Between a message's arrival and the turn it begins; what comes within shares the turn.
_PICK_UP_S = 0.01


class _End(StrEnum):
    """How a turn ended."""

    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Stage:
    """Where a turn is seen: the registry record, the transcript, the subscribers."""

    record: Record
    journal: Journal
    notices: IdleNotices
    directory: str


class Turns:
    """Plays one turn after the other. `time_scale` stretches what the scenes take, nothing else."""

    def __init__(self, stage: Stage, time_scale: float = 1.0) -> None:
        self._stage = stage
        self._time_scale = time_scale
        self._queue: list[Incoming] = []
        self._arrived = asyncio.Event()
        self._now = asyncio.Event()
        self._absorbed: list[str] = []
        self._answer: str | None = None

    def accept(self, message: Incoming) -> None:
        """Let a message wait for its turn."""
        self._stage.journal.enqueued(message.frame.content)
        self._queue.append(message)
        self._arrived.set()
        if message.frame.priority is Priority.NOW:
            self._now.set()

    async def run(self) -> None:
        """Play turns until cancelled."""
        while True:
            await self._arrived.wait()
            await asyncio.sleep(_PICK_UP_S)
            batch, self._queue = self._queue, []
            self._arrived.clear()
            self._now.clear()
            if batch:  # what had arrived may have been absorbed since
                await self._turn(batch)

    async def _turn(self, batch: Sequence[Incoming]) -> None:
        stage = self._stage
        began_s = time.monotonic()
        for _ in batch:
            stage.journal.dequeued()
        stage.record.set_status(Status.BUSY)
        stage.notices.busy()
        stage.journal.began()
        for message in batch:
            stage.journal.user(message)
        self._absorbed, self._answer = [], None
        scene = scene_of_turn([message.words for message in batch], stage.directory)
        if await self._play(scene) is _End.DONE:
            stage.journal.turn_duration(int((time.monotonic() - began_s) * 1000))
        stage.record.set_status(Status.IDLE)
        stage.journal.names()
        stage.notices.idle(self._answer)

    async def _play(self, scene: Scene) -> _End:
        said: list[str] = []
        for step in scene.steps:
            end: _End | None = None
            match step:
                case Wait():
                    end = await self._wait(step)
                case Text(text):
                    said.append(text)
                case ToolUse():
                    end = await self._use(said, step)
                    said = []
                case Form():
                    end = await self._park(said, step, WaitingFor.INPUT)
                case Permission():
                    end = await self._park(said, step, WaitingFor.PERMISSION)
                case ApiError():
                    self._stage.journal.api_error(step)
                    end = _End.FAILED
                case FinalText():
                    end = await self._finish(step)
            if end is not None:
                return end
        raise AssertionError("a scene ends with an answer, an error, a form or a permission")

    async def _wait(self, step: Wait) -> _End | None:
        return _End.STOPPED if await self._is_cut_short(step.seconds) else None

    async def _use(self, said: Sequence[str], step: ToolUse) -> _End | None:
        journal = self._stage.journal
        call = journal.tool_use(said, step.name, step.input)
        await asyncio.sleep(step.run_s * self._time_scale)
        if self._now.is_set():
            journal.tool_result(call, step.result, step.details)
            return _End.STOPPED
        taken = [message for message in self._queue if message.frame.priority is Priority.NEXT]
        self._queue = [message for message in self._queue if message.frame.priority is not Priority.NEXT]
        self._absorbed += [message.words for message in taken]
        journal.absorbed(taken, call, step.result, step.details)
        return None

    async def _park(self, said: Sequence[str], step: Form | Permission, why: WaitingFor) -> _End:
        journal = self._stage.journal
        call = journal.tool_use(said, step.name, step.input)
        self._stage.record.set_status(Status.WAITING, why)
        journal.flush()  # the question is on disk at the same moment as the status
        if await self._is_cut_short(step.parked_s):
            journal.cancelled(call)
        else:
            journal.dismissed(call)
        return _End.STOPPED

    async def _finish(self, step: FinalText) -> _End:
        text = "\n\n".join([step.text, *map(echo, self._absorbed)])
        began_s = time.monotonic()
        if step.stream_s and await self._is_cut_short(step.stream_s):
            share = (time.monotonic() - began_s) / (step.stream_s * self._time_scale)
            self._say(text[: int(len(text) * min(share, 1.0))], None, isAbortedMidStream=True)
            return _End.STOPPED
        self._say(text, "end_turn")
        self._answer = text
        return _End.DONE

    def _say(self, text: str, stop_reason: str | None, **marks: bool) -> None:
        if text or stop_reason:
            self._stage.journal.assistant([{"type": "text", "text": text}], stop_reason, **marks)

    async def _is_cut_short(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds * self._time_scale):
                await self._now.wait()
        except TimeoutError:
            return False
        return True
