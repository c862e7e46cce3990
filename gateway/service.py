"""Puts the service together: settings in, a dialog and a door out."""

import asyncio
import importlib.util
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from aiohttp import web

from gateway.agents.claude_code import ClaudeCode
from gateway.agents.protocol import Agent
from gateway.clock import Clock, SystemClock
from gateway.cursors import Cursors
from gateway.dialog import Dialog, Parts
from gateway.doors.access import Access
from gateway.doors.http import Doorway, HttpDoor
from gateway.doors.protocol import CarefulServer, ConnectionLimits
from gateway.doors.voice import VoicePaths
from gateway.doors.writing import Writer
from gateway.hearing import Hearing
from gateway.phrases import Phrases
from gateway.sessions import Sessions
from gateway.settings.settings import Settings
from gateway.speech import Speech
from gateway.spoken_commands import SpokenCommands
from gateway.store import Store
from gateway.talking import Talking
from voice.containers import Decoder, Limits
from voice.ears import Ears
from voice.errors import VoiceError
from voice.mouth import Mouth
from voice.piper import Piper
from voice.speech_gate import SpeechGate
from voice.whisper import Whisper, WhisperSettings

log = logging.getLogger("codriver")

_FORGET_EVERY_S = 6 * 3600.0


@dataclass(slots=True)
class Voice:
    """The speech engines, and why they are not ready yet ("" once they are)."""

    ears: Ears | None
    mouth: Mouth | None
    hearing_problem: str = ""
    speaking_problem: str = ""

    async def load(self) -> None:
        """Load both engines; what cannot be loaded is said and left out."""
        self.hearing_problem = await _load(self.ears, "hearing")
        self.speaking_problem = await _load(self.mouth, "speaking")

    async def close(self) -> None:
        """Stop their threads and processes."""
        for engine in (self.ears, self.mouth):
            if engine is not None:
                await engine.close()


async def _load(engine: Ears | Mouth | None, what: str) -> str:
    if engine is None:
        return f"{what}: the speech engines are not installed"
    try:
        await engine.load()
    except VoiceError as error:
        log.warning("%s is not available: %s", what, error.code)
        return f"{what}: {error.code}"
    return ""


def make_voice(settings: Settings) -> Voice:
    """The engines that the settings name and this installation has, not loaded yet."""
    stt, tts = settings.stt, settings.tts
    ears = mouth = None
    if _has("faster_whisper") and _has("av"):
        limits = Limits(bytes=settings.server.body_limit_bytes, seconds=stt.audio_seconds)
        whisper = WhisperSettings(
            model=stt.model,
            language=stt.language,
            workers=stt.workers,
            threads_per_worker=stt.threads,
            beam_size=stt.beam_size,
        )
        ears = Ears(Decoder(limits), Whisper(whisper), SpeechGate(), stt.workers, stt.queue)
    if _has("piper") and _has("av"):
        mouth = Mouth(Piper(tts.model, tts.length_scale), queue_limit=tts.queue)
    return Voice(ears, mouth, "hearing: still loading", "speaking: still loading")


def _has(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


@dataclass(slots=True)
class Service:
    """A running service without a door: what the command line uses in-process."""

    settings: Settings
    phrases: Phrases
    clock: Clock
    store: Store
    agents: Sequence[Agent]
    sessions: Sessions
    dialog: Dialog
    voice: Voice
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def begin(self) -> None:
        """Load the engines and keep the house clean, in the background."""
        self._tasks.append(asyncio.create_task(self.voice.load(), name="load-voice"))
        self._tasks.append(asyncio.create_task(self._forget(), name="forget"))

    async def reasons(self) -> list[str]:
        """Why the service is not ready; empty when it is."""
        found = [problem for problem in (self.voice.hearing_problem, self.voice.speaking_problem) if problem]
        try:
            await self.sessions.live()
        except OSError:
            found.append("sessions: the registry cannot be read")
        return found

    async def close(self) -> None:
        """Let messages on their way arrive, then let go of everything."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.dialog.close()
        for agent in self.agents:
            await agent.close()
        await self.voice.close()
        self.store.close()

    async def _forget(self) -> None:
        while True:
            await self.store.forget(self.settings.state.keep_days)
            await asyncio.sleep(_FORGET_EVERY_S)


async def open_service(
    settings: Settings, agents: Sequence[Agent] | None = None, voice: Voice | None = None
) -> Service:
    """Everything but a door. Raises StateUnusableError where the state directory cannot be used."""
    clock = SystemClock()
    phrases = Phrases.load(settings.speech.language)
    store = Store(settings.state_dir, clock)
    runtimes = [ClaudeCode(settings.claude_config_dir)] if agents is None else list(agents)
    sessions = Sessions(runtimes, store, settings.sessions)
    voice = voice or make_voice(settings)
    dialog = Dialog(
        Parts(
            settings=settings,
            store=store,
            sessions=sessions,
            hearing=Hearing(voice.ears, settings),
            speech=Speech(phrases, settings.speech.max_words),
            commands=SpokenCommands.load(settings.speech.language),
            cursors=Cursors(await store.cursor_key()),
            clock=clock,
        )
    )
    return Service(settings, phrases, clock, store, runtimes, sessions, dialog, voice)


class HttpGateway:
    """The service behind its HTTP door."""

    def __init__(
        self, service: Service, *, no_auth: bool = False, limits: ConnectionLimits | None = None
    ) -> None:
        self.service = service
        settings = service.settings
        access = Access(settings, service.clock, no_auth=no_auth)
        writer = Writer(service.dialog, Talking(service.voice.mouth), access)
        voice = VoicePaths(settings, service.phrases, service.dialog, service.sessions, writer)
        door = HttpDoor(
            Doorway(settings, service.phrases, service.clock, access, voice, writer, service.reasons)
        )
        limits = limits or ConnectionLimits(settings.server.max_connections)
        server = CarefulServer(door.handle, service.phrases, limits)
        self._runner = web.ServerRunner(server, shutdown_timeout=5.0)

    async def start(self) -> int:
        """Listen; the port, which the system chose where the settings say 0. Raises OSError."""
        await self._runner.setup()
        server = self.service.settings.server
        site = web.TCPSite(self._runner, server.host, server.port)
        await site.start()
        port: int = self._runner.addresses[0][1]
        return port

    async def stop(self) -> None:
        """Finish replies that are being written, then close everything."""
        with suppress(asyncio.CancelledError):
            await self._runner.cleanup()
        await self.service.close()
